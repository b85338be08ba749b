/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Short forms for what nearly every test does with an event: describe it, open
 * it, read it, and walk the records of its ring.
 */
#ifndef PMURING_TESTS_EVENTS_H
#define PMURING_TESTS_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_reader.h"

/* PERF_FORMAT_LOST; not in every installed header */
#define FORMAT_LOST	(1U << 4)

/* value and times, as read with PERF_FORMAT_TOTAL_TIME_* */
struct count {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

/**
 * struct record - one record of a ring, whole
 * @header: its header
 * @field: what follows, in words of eight bytes
 */
struct record {
	struct perf_event_header header;
	uint64_t field[];
};

/* what a ring gave: how many records of which kind */
struct tally {
	uint64_t samples;
	uint64_t lost;
	uint64_t lost_records;
	uint64_t throttles;
	uint64_t unthrottles;
	uint64_t others;
	bool broken;
};

typedef void (*record_fn)(const struct record *rec, void *data);

struct perf_event_attr hardware(uint64_t config);
struct perf_event_attr raw(uint64_t config);
struct perf_event_attr sampling(uint64_t config, uint64_t period, uint64_t sample_type);

int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu);
int open_self(const struct perf_event_attr *attr);
void switch_event(int fd, unsigned long request);
uint64_t read_value(int fd);
struct count read_count(int fd);
uint64_t event_id(int fd);

void map_ring(struct ring *ring, int fd, size_t data_pages);
struct tally drain(struct ring *ring, record_fn fn, void *data);

#endif
