// SPDX-License-Identifier: GPL-2.0
/*
 * Samples and sample_ids, taken apart and put together. Called by record for
 * what comes out of a ring and by report for what comes out of a file; the
 * latter is not to be trusted, so every field is checked against the record.
 */
#include <string.h>

#include "sample.h"

/* the fields of a sample up to PERIOD, in the order of the ABI */
static const uint64_t sample_order[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
};

/* and those of a sample_id */
static const uint64_t sample_id_order[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
};

#define ORDER_LEN(order)	(sizeof(order) / sizeof((order)[0]))

static void set_field(struct sample *sample, uint64_t field, const char *at)
{
	uint64_t value;
	uint32_t half[2];

	memcpy(&value, at, sizeof(value));
	memcpy(half, at, sizeof(half));
	sample->present |= field;
	switch (field) {
	case PERF_SAMPLE_IDENTIFIER:
	case PERF_SAMPLE_ID:
		sample->id = value;
		break;
	case PERF_SAMPLE_IP:
		sample->ip = value;
		break;
	case PERF_SAMPLE_TID:
		sample->pid = half[0];
		sample->tid = half[1];
		break;
	case PERF_SAMPLE_TIME:
		sample->time = value;
		break;
	case PERF_SAMPLE_STREAM_ID:
		sample->stream_id = value;
		break;
	case PERF_SAMPLE_CPU:
		sample->cpu = half[0];
		break;
	case PERF_SAMPLE_PERIOD:
		sample->period = value;
		break;
	}
}

static bool parse(const char *at, size_t room, const uint64_t *order, size_t nr,
		  uint64_t sample_type, struct sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	for (size_t i = 0; i < nr; i++) {
		if (!(sample_type & order[i]))
			continue;
		if (room < sizeof(uint64_t))
			return false;
		set_field(sample, order[i], at);
		at += sizeof(uint64_t);
		room -= sizeof(uint64_t);
	}
	return true;
}

/**
 * sample_parse - the fixed fields of a PERF_RECORD_SAMPLE
 * @rec: the record; header.size bytes of it can be read
 * @sample_type: of its event
 * @sample: filled in
 *
 * Return: false when the record is too short
 */
bool sample_parse(const struct perf_event_header *rec, uint64_t sample_type,
		  struct sample *sample)
{
	return parse((const char *)(rec + 1), rec->size - sizeof(*rec), sample_order,
		     ORDER_LEN(sample_order), sample_type, sample);
}

struct cursor {
	const uint64_t *at;
	size_t left;
};

/* @nr words, or NULL if there are not as many */
static const uint64_t *take(struct cursor *cursor, uint64_t nr)
{
	const uint64_t *at = cursor->at;

	if (nr > cursor->left)
		return NULL;
	cursor->at += nr;
	cursor->left -= nr;
	return at;
}

static size_t bits(uint64_t mask)
{
	return __builtin_popcountll(mask);
}

static bool take_group(struct cursor *cursor, uint64_t format, struct sample_rest *rest)
{
	const uint64_t *nr = take(cursor, 1);
	size_t times = bits(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
				      PERF_FORMAT_TOTAL_TIME_RUNNING));
	size_t step = 1 + bits(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));

	if (!nr || !take(cursor, times) || *nr > cursor->left / step)
		return false;
	rest->counts = take(cursor, *nr * step);
	rest->nr_counts = format & PERF_FORMAT_ID ? *nr : 0;
	rest->count_step = step;
	return true;
}

static bool take_read(struct cursor *cursor, uint64_t format, struct sample_rest *rest)
{
	if (format & PERF_FORMAT_GROUP)
		return take_group(cursor, format, rest);
	/* of a single event: its period tells the same */
	return take(cursor, 1 + bits(format & ~PERF_FORMAT_GROUP));
}

static bool take_chain(struct cursor *cursor, struct sample_rest *rest)
{
	const uint64_t *nr = take(cursor, 1);

	if (!nr || *nr > cursor->left)
		return false;
	rest->nr_chain = *nr;
	rest->chain = take(cursor, *nr);
	return true;
}

/**
 * sample_rest_parse - the fields behind the fixed ones
 * @rec: a PERF_RECORD_SAMPLE, aligned to 8 bytes; header.size bytes of it can be read
 * @attr: of its event
 * @rest: filled in; points into @rec
 *
 * Return: false when the record is too short
 */
bool sample_rest_parse(const struct perf_event_header *rec,
		       const struct perf_event_attr *attr, struct sample_rest *rest)
{
	struct cursor cursor = {
		.at = (const uint64_t *)(rec + 1),
		.left = (rec->size - sizeof(*rec)) / sizeof(uint64_t),
	};

	memset(rest, 0, sizeof(*rest));
	for (size_t i = 0; i < ORDER_LEN(sample_order); i++)
		if (attr->sample_type & sample_order[i] && !take(&cursor, 1))
			return false;
	if (attr->sample_type & PERF_SAMPLE_READ && !take_read(&cursor, attr->read_format, rest))
		return false;
	return !(attr->sample_type & PERF_SAMPLE_CALLCHAIN) || take_chain(&cursor, rest);
}

/**
 * sample_id_size - bytes of a sample_id
 * @sample_type: of its event, which has sample_id_all
 */
size_t sample_id_size(uint64_t sample_type)
{
	size_t size = 0;

	for (size_t i = 0; i < ORDER_LEN(sample_id_order); i++)
		if (sample_type & sample_id_order[i])
			size += sizeof(uint64_t);
	return size;
}

/**
 * sample_id_parse - the sample_id at the end of any record but a sample
 * @rec: the record; header.size bytes of it can be read
 * @sample_type: of its event, which has sample_id_all
 * @sample: filled in
 *
 * Return: false when the record is too short
 */
bool sample_id_parse(const struct perf_event_header *rec, uint64_t sample_type,
		     struct sample *sample)
{
	size_t size = sample_id_size(sample_type);

	if (rec->size < sizeof(*rec) + size)
		return false;
	return parse((const char *)rec + rec->size - size, size, sample_id_order,
		     ORDER_LEN(sample_id_order), sample_type, sample);
}

static uint64_t get_field(const struct sample *sample, uint64_t field)
{
	switch (field) {
	case PERF_SAMPLE_TID:
		return sample->pid | (uint64_t)sample->tid << 32;
	case PERF_SAMPLE_TIME:
		return sample->time;
	case PERF_SAMPLE_STREAM_ID:
		return sample->stream_id;
	case PERF_SAMPLE_CPU:
		return sample->cpu;
	default:
		return sample->id;
	}
}

/**
 * sample_id_write - the other way round, for records of our own
 * @at: room for sample_id_size()
 * @sample_type: of the event
 * @sample: what to write
 */
void sample_id_write(void *at, uint64_t sample_type, const struct sample *sample)
{
	char *to = at;

	for (size_t i = 0; i < ORDER_LEN(sample_id_order); i++) {
		uint64_t value = get_field(sample, sample_id_order[i]);

		if (!(sample_type & sample_id_order[i]))
			continue;
		memcpy(to, &value, sizeof(value));
		to += sizeof(value);
	}
}
