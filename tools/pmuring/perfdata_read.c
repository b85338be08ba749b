// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a perf.data file. Called by report. A file may come from anywhere,
 * so no offset or size in it is used before it was checked against the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata_read.h"
#include "util.h"

/* records of perf's tools that change how the file is to be read */
#define RECORD_AUXTRACE		71
#define RECORD_COMPRESSED	81

/**
 * struct record_ref - where a record is
 * @time: from its sample_id, or that of its predecessor
 * @offset: in the file
 */
struct record_ref {
	uint64_t time;
	uint64_t offset;
};

/**
 * perfdata_damaged - say that a file cannot be used
 * @in: the file
 * @what: is wrong with it
 *
 * Return: -1
 */
int perfdata_damaged(const struct perfdata_in *in, const char *what)
{
	return fail("%s is damaged: %s; record it again", in->path, what);
}

/** perfdata_holds - whether a section is inside the file */
bool perfdata_holds(const struct perfdata_in *in, const struct file_section *section)
{
	return section->offset <= in->size && section->size <= in->size - section->offset;
}

static int map_file(struct perfdata_in *in)
{
	int fd = open(in->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *base;

	if (fd < 0)
		return fail("cannot open %s: %s%s", in->path, strerror(errno),
			    errno == ENOENT ? "; pmuring record writes it, -i names another" : "");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail("%s is not a regular file: save the pipe to a file first", in->path);
	}
	if (st.st_size < (off_t)sizeof(in->header)) {
		close(fd);
		return fail("%s is too short to be a perf.data file", in->path);
	}
	base = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return fail("cannot read %s: %s", in->path, strerror(errno));
	in->base = base;
	in->size = st.st_size;
	return 0;
}

static int check_header(struct perfdata_in *in)
{
	struct file_header *header = &in->header;

	memcpy(header, in->base, sizeof(*header));
	if (!memcmp(header->magic, "2ELIFREP", 8))
		return fail("%s has the other byte order: report on a machine like the one recorded", in->path);
	if (memcmp(header->magic, PERFDATA_MAGIC, 8))
		return fail("%s is not a perf.data file", in->path);
	if (header->size != sizeof(*header))
		return fail("%s was written to a pipe: use perf report", in->path);
	if (!perfdata_holds(in, &header->attrs) || !perfdata_holds(in, &header->data))
		return perfdata_damaged(in, "a section ends behind the end of the file");
	if (!header->data.size) {
		in->cut_short = 1;
		header->data.size = in->size - header->data.offset;
	}
	return 0;
}

/* IDENTIFIER is at the same place whatever else the event asked for */
static uint64_t identifier_of(const struct perf_event_header *rec)
{
	size_t at = rec->type == PERF_RECORD_SAMPLE ? sizeof(*rec) :
						      rec->size - sizeof(uint64_t);
	uint64_t id = 0;

	if (rec->size >= sizeof(*rec) + sizeof(id))
		memcpy(&id, (const char *)rec + at, sizeof(id));
	return id;
}

/*
 * Whose record it is, and its fields. Without IDENTIFIER all events have to
 * have the same sample_type, so the first one can say where the ID is.
 */
static bool parse_record(const struct perfdata_in *in, struct record *rec)
{
	const struct perf_event_attr *attr = &in->events[0].attr;
	bool is_sample = rec->header->type == PERF_RECORD_SAMPLE;

	rec->event = 0;
	memset(&rec->sample, 0, sizeof(rec->sample));
	if (!is_sample && (!attr->sample_id_all || rec->header->type >= RECORD_USER_FIRST))
		return true;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER &&
	    perfdata_find_id(in, identifier_of(rec->header), &rec->event, NULL))
		attr = &in->events[rec->event].attr;
	if (!(is_sample ? sample_parse : sample_id_parse)(rec->header, attr->sample_type,
							  &rec->sample))
		return false;
	if (rec->sample.present & PERF_SAMPLE_ID)
		perfdata_find_id(in, rec->sample.id, &rec->event, NULL);
	return true;
}

/* @copy: 64 KiB, aligned, because nothing in a foreign file need be */
static bool load_record(const struct perfdata_in *in, uint64_t offset, uint64_t end,
			struct record *rec, void *copy)
{
	struct perf_event_header header;

	if (end - offset < sizeof(header))
		return false;
	memcpy(&header, in->base + offset, sizeof(header));
	if (header.size < sizeof(header) || header.size > end - offset)
		return false;
	memcpy(copy, in->base + offset, header.size);
	rec->header = copy;
	return parse_record(in, rec);
}

static int compare_refs(const void *a, const void *b)
{
	const struct record_ref *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* an AUXTRACE record is followed by as many bytes as it says */
static uint64_t extra_bytes(const struct perf_event_header *header, uint64_t left)
{
	uint64_t extra = 0;

	if (header->type == RECORD_AUXTRACE && header->size >= sizeof(*header) + sizeof(extra))
		memcpy(&extra, header + 1, sizeof(extra));
	return extra < left ? extra : left;
}

static int index_records(struct perfdata_in *in, void *copy)
{
	uint64_t at = in->header.data.offset, end = at + in->header.data.size, time = 0;
	size_t room = 0;

	while (at < end) {
		struct record rec;

		if (!load_record(in, at, end, &rec, copy)) {
			if (in->cut_short)
				return 0;
			return perfdata_damaged(in, "a record ends behind the end of the data");
		}
		if (rec.header->type == RECORD_COMPRESSED)
			return fail("%s is compressed: record without -z, or use perf report",
				    in->path);
		if (rec.sample.present & PERF_SAMPLE_TIME)
			time = rec.sample.time;
		if (in->nr_refs == room) {
			room = room ? room * 2 : 1024;
			in->refs = xrealloc_array(in->refs, room, sizeof(*in->refs));
		}
		in->refs[in->nr_refs++] = (struct record_ref){ time, at };
		at += rec.header->size;
		at += extra_bytes(rec.header, end - at);
	}
	return 0;
}

/**
 * perfdata_open - open a file and check it
 * @in: filled in; close it also after an error
 * @path: the file
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_open(struct perfdata_in *in, const char *path)
{
	void *copy;
	int ret;

	memset(in, 0, sizeof(*in));
	in->path = path;
	if (map_file(in) || check_header(in) || perfdata_read_events(in))
		return -1;
	if (in->cut_short)
		warn("%s: the recording was cut short, continuing with what is there", path);
	else
		perfdata_read_names(in);
	copy = xalloc(1 << 16);
	ret = index_records(in, copy);
	free(copy);
	if (in->nr_refs)
		qsort(in->refs, in->nr_refs, sizeof(*in->refs), compare_refs);
	return ret;
}

/**
 * perfdata_for_each - hand out all records in the order of time
 * @in: open
 * @fn: called with each; a return value other than 0 ends it
 * @ctx: for @fn
 *
 * Return: what @fn returned last
 */
int perfdata_for_each(struct perfdata_in *in, record_fn fn, void *ctx)
{
	uint64_t end = in->header.data.offset + in->header.data.size;
	void *copy = xalloc(1 << 16);
	int ret = 0;

	for (size_t i = 0; i < in->nr_refs && !ret; i++) {
		struct record rec;

		if (load_record(in, in->refs[i].offset, end, &rec, copy))
			ret = fn(ctx, &rec);
	}
	free(copy);
	return ret;
}

/** perfdata_close - give everything back */
void perfdata_close(struct perfdata_in *in)
{
	for (size_t i = 0; i < in->nr_events; i++)
		free(in->events[i].name);
	free(in->events);
	free(in->refs);
	if (in->base)
		munmap((void *)in->base, in->size);
}
