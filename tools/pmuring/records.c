// SPDX-License-Identifier: GPL-2.0
/*
 * Builds the records that the tool adds to those of the kernel, with the same
 * sample_id at their end. Called while recording, from one thread.
 */
#include <string.h>

#include "records.h"

/*
 * Room for a record of @fixed bytes, a NUL-terminated name and the sample_id.
 * The caller fills in the fixed part behind the header.
 */
static void *put_record(struct record_sink *sink, uint32_t type, uint16_t misc,
			size_t fixed, const char *name, const struct sample *when)
{
	size_t id_size = sample_id_size(sink->sample_type);
	size_t name_room = name ? (strlen(name) + 8) / 8 * 8 : 0;
	size_t size = fixed + name_room + id_size;
	struct perf_event_header *header = buf_extend(&sink->out, size);

	header->type = type;
	header->misc = misc;
	header->size = size;
	if (name)
		memcpy((char *)header + fixed, name, strlen(name));
	sample_id_write((char *)header + fixed + name_room, sink->sample_type, when);
	return header;
}

/**
 * put_comm - a thread's name
 * @sink: where to
 * @when: pid, tid, and the time from which the name holds
 * @comm: the name
 */
void put_comm(struct record_sink *sink, const struct sample *when, const char *comm)
{
	struct record_comm *rec = put_record(sink, PERF_RECORD_COMM, 0, sizeof(*rec),
					     comm, when);

	rec->pid = when->pid;
	rec->tid = when->tid;
}

static void fill_mmap(struct record_mmap *rec, uint32_t pid, uint32_t tid,
		      const struct mapping *map)
{
	rec->pid = pid;
	rec->tid = tid;
	rec->addr = map->start;
	rec->len = map->end - map->start;
	rec->pgoff = map->pgoff;
}

/**
 * put_kernel_mmap - where the kernel or a module is
 * @sink: where to
 * @map: start, end, pgoff and name count
 */
void put_kernel_mmap(struct record_sink *sink, const struct mapping *map)
{
	const struct sample when = { 0 };
	struct record_mmap *rec = put_record(sink, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL,
					     sizeof(*rec), map->name, &when);

	/* perf's mark of the kernel: pid -1, tid 0 */
	fill_mmap(rec, -1, 0, map);
}

/**
 * put_mmap2 - a mapping of a process
 * @sink: where to
 * @when: pid, tid, and the time from which it is there
 * @map: the mapping
 */
void put_mmap2(struct record_sink *sink, const struct sample *when, const struct mapping *map)
{
	struct record_mmap2 *rec;

	/* header.size has 16 bits; no path of the kernel is longer than this */
	if (strlen(map->name) > 4096)
		return;
	rec = put_record(sink, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(*rec),
			 map->name, when);
	fill_mmap(&rec->map, when->pid, when->tid, map);
	rec->maj = map->maj;
	rec->min = map->min;
	rec->ino = map->ino;
	rec->prot = map->prot;
	rec->flags = map->flags;
}

/**
 * put_lost_samples - the samples that an event lost in total
 * @sink: where to
 * @when: id of the event, time of the end
 * @lost: how many
 */
void put_lost_samples(struct record_sink *sink, const struct sample *when, uint64_t lost)
{
	struct record_lost_samples *rec = put_record(sink, PERF_RECORD_LOST_SAMPLES, 0,
						     sizeof(*rec), NULL, when);

	rec->lost = lost;
}

/** put_finished_round - what comes later in the file is younger, but for one round */
void put_finished_round(struct record_sink *sink)
{
	struct perf_event_header *rec = buf_extend(&sink->out, sizeof(*rec));

	rec->type = RECORD_FINISHED_ROUND;
	rec->size = sizeof(*rec);
}
