// SPDX-License-Identifier: GPL-2.0
/*
 * The events of a perf.data file: attributes, IDs and names. Called by
 * perfdata_read.c when a file is opened, and by report. A file may come from
 * anywhere, so no offset or size in it is used before it was checked.
 */
#include <stdlib.h>
#include <string.h>

#include "perfdata_read.h"
#include "util.h"

/* a perf_event_attr has not been smaller since its first version */
#define ATTR_SIZE_MIN	PERF_ATTR_SIZE_VER0

static int read_event(struct perfdata_in *in, const unsigned char *at, size_t attr_size,
		      struct file_event *event)
{
	size_t known = attr_size < sizeof(event->attr) ? attr_size : sizeof(event->attr);
	struct file_section ids;

	memcpy(&event->attr, at, known);
	memcpy(&ids, at + attr_size, sizeof(ids));
	if (!perfdata_holds(in, &ids))
		return perfdata_damaged(in, "the IDs of an event are behind the end of the file");
	event->ids = ids.offset;
	event->nr_ids = ids.size / sizeof(uint64_t);
	event->name = xasprintf("event %u/0x%llx", event->attr.type,
				(unsigned long long)event->attr.config);
	return 0;
}

/**
 * perfdata_read_events - the events of a file
 * @in: with its header checked; gets them
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_read_events(struct perfdata_in *in)
{
	const struct file_header *header = &in->header;
	size_t size = header->attr_size;

	if (size < ATTR_SIZE_MIN + sizeof(struct file_section) || size > header->attrs.size)
		return perfdata_damaged(in, "the attributes have an impossible size");
	in->nr_events = header->attrs.size / size;
	in->events = xalloc(in->nr_events * sizeof(*in->events));
	for (size_t i = 0; i < in->nr_events; i++)
		if (read_event(in, in->base + header->attrs.offset + i * size,
			       size - sizeof(struct file_section), &in->events[i]))
			return -1;
	return 0;
}

/**
 * perfdata_feature - a feature section
 * @in: open
 * @feature: which
 * @size: its bytes
 *
 * Return: its first byte, or NULL when the file has none
 */
const unsigned char *perfdata_feature(const struct perfdata_in *in, enum feature feature,
				      size_t *size)
{
	struct file_section section;
	uint64_t at = in->header.data.offset + in->header.data.size;

	if (!(in->header.features[feature / 64] >> feature % 64 & 1))
		return NULL;
	/* the table has one entry per bit that is set */
	for (int bit = 0; bit < (int)feature; bit++)
		if (in->header.features[bit / 64] >> bit % 64 & 1)
			at += sizeof(section);
	if (at > in->size || in->size - at < sizeof(section))
		return NULL;
	memcpy(&section, in->base + at, sizeof(section));
	if (!perfdata_holds(in, &section))
		return NULL;
	*size = section.size;
	return in->base + section.offset;
}

/* takes @len bytes off the front of a section */
static bool take(const unsigned char **at, size_t *left, void *to, size_t len)
{
	if (*left < len)
		return false;
	if (to)
		memcpy(to, *at, len);
	*at += len;
	*left -= len;
	return true;
}

static bool read_name(const unsigned char **at, size_t *left, struct file_event *event)
{
	uint32_t nr_ids, len;
	const unsigned char *name;

	if (!take(at, left, &nr_ids, sizeof(nr_ids)) || !take(at, left, &len, sizeof(len)))
		return false;
	name = *at;
	if (!take(at, left, NULL, len))
		return false;
	free(event->name);
	event->name = xasprintf("%.*s", (int)strnlen((const char *)name, len), name);
	return take(at, left, NULL, nr_ids * sizeof(uint64_t));
}

/**
 * perfdata_read_names - how the user called the events, if the file tells
 * @in: with its events
 */
void perfdata_read_names(struct perfdata_in *in)
{
	size_t left;
	const unsigned char *at = perfdata_feature(in, FEATURE_EVENT_DESC, &left);
	uint32_t nr, attr_size;

	if (!at || !take(&at, &left, &nr, sizeof(nr)) ||
	    !take(&at, &left, &attr_size, sizeof(attr_size)) || nr != in->nr_events)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (!take(&at, &left, NULL, attr_size) || !read_name(&at, &left, &in->events[i]))
			return;
}

/**
 * perfdata_find_id - whose ID it is
 * @in: open
 * @id: from a sample
 * @event: index of the event
 * @index: which of its IDs, may be NULL
 *
 * Return: whether an event has it
 */
bool perfdata_find_id(const struct perfdata_in *in, uint64_t id, size_t *event, size_t *index)
{
	for (size_t e = 0; e < in->nr_events; e++) {
		const unsigned char *ids = in->base + in->events[e].ids;

		for (size_t i = 0; i < in->events[e].nr_ids; i++) {
			uint64_t have;

			memcpy(&have, ids + i * sizeof(have), sizeof(have));
			if (have == id) {
				*event = e;
				if (index)
					*index = i;
				return true;
			}
		}
	}
	return false;
}
