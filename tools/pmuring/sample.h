/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of a record that perf_event_attr.sample_type decides on: where
 * they are in a sample, and in the sample_id behind every other record.
 */
#ifndef PMURING_TOOL_SAMPLE_H
#define PMURING_TOOL_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct sample - the fixed fields; those that the record lacks are 0
 * @present: PERF_SAMPLE_* bits of the fields that were found
 */
struct sample {
	uint64_t present;
	uint64_t id;
	uint64_t ip;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint64_t stream_id;
	uint32_t cpu;
	uint64_t period;
};

/**
 * struct sample_rest - the fields whose size the record itself tells
 * @counts: READ: the values of the event, or of each in its group
 * @nr_counts: how many
 * @count_step: from one value to the next; the ID is behind the value
 * @chain: CALLCHAIN: addresses and PERF_CONTEXT_* marks
 * @nr_chain: how many
 */
struct sample_rest {
	const uint64_t *counts;
	size_t nr_counts;
	size_t count_step;
	const uint64_t *chain;
	size_t nr_chain;
};

bool sample_parse(const struct perf_event_header *rec, uint64_t sample_type,
		  struct sample *sample);
bool sample_rest_parse(const struct perf_event_header *rec,
		       const struct perf_event_attr *attr, struct sample_rest *rest);
bool sample_id_parse(const struct perf_event_header *rec, uint64_t sample_type,
		     struct sample *sample);
size_t sample_id_size(uint64_t sample_type);
void sample_id_write(void *at, uint64_t sample_type, const struct sample *sample);

static inline unsigned int sample_mode(const struct perf_event_header *rec)
{
	return rec->misc & PERF_RECORD_MISC_CPUMODE_MASK;
}

#endif
