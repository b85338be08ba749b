// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the records of a ring, counts them by type and prints the result.
 * Called by the cases.
 */
#include <string.h>

#include "parity.h"

static const char *const type_names[] = {
	[PERF_RECORD_MMAP] = "MMAP", [PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM", [PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE", [PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK", [PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE", [PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_AUX] = "AUX", [PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_RECORD_SWITCH] = "SWITCH", [PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERF_RECORD_NAMESPACES] = "NAMESPACES",
};

static void add(struct tally *tally, const struct perf_event_header *rec)
{
	uint64_t fields[2];
	unsigned int type = rec->type;

	if (type >= RECORD_TYPES)
		give_up("record of type %u, size %u", type, rec->size);
	if (!tally->number[type]++) {
		tally->order[strlen((char *)tally->order)] = type;
		tally->same_size[type] = true;
	} else if (tally->size[type] != rec->size) {
		tally->same_size[type] = false;
	}
	tally->size[type] = rec->size;
	tally->misc[type] = rec->misc;
	if (type == PERF_RECORD_LOST) {
		memcpy(fields, rec + 1, sizeof(fields));
		tally->lost += fields[1];
	}
}

/**
 * drain - take all records out of a ring
 * @ring: mapped
 * @tally: filled in
 * @fn: called for each record, or NULL
 * @data: for @fn
 */
void drain(struct ring *ring, struct tally *tally, record_fn fn, void *data)
{
	const struct perf_event_header *rec;
	int more;

	memset(tally, 0, sizeof(*tally));
	while ((more = ring_next(ring, &rec)) > 0) {
		add(tally, rec);
		if (fn)
			fn(rec, data);
	}
	if (more < 0)
		give_up("broken record in the ring");
	ring_release(ring);
}

/**
 * say_samples - say how many samples and of which size
 * @tally: of a ring
 */
void say_samples(const struct tally *tally)
{
	unsigned int type = PERF_RECORD_SAMPLE;

	say("samples=%u size=%u%s misc=%#x", tally->number[type], tally->size[type],
	    tally->same_size[type] || !tally->number[type] ? "" : "..", tally->misc[type]);
	if (tally->number[PERF_RECORD_LOST])
		say("lost=%llu", (unsigned long long)tally->lost);
}

/**
 * say_records - say which types of records there were
 * @tally: of a ring
 */
void say_records(const struct tally *tally)
{
	for (const unsigned char *type = tally->order; *type; type++) {
		if (*type < ARRAY_SIZE(type_names) && type_names[*type])
			say("%s", type_names[*type]);
		else
			say("type%u", *type);
	}
	if (!tally->order[0])
		say("no-records");
}

/**
 * tally_number - drain a ring
 * @ring: mapped
 * @type: PERF_RECORD_*
 *
 * Return: how many records of @type there were
 */
unsigned int tally_number(struct ring *ring, unsigned int type)
{
	struct tally tally;

	drain(ring, &tally, NULL, NULL);
	return tally.number[type];
}
