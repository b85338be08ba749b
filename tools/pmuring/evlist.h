/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The open events of one run: each event of the command line on each (task,
 * CPU) pair of the target.
 */
#ifndef PMURING_TOOL_EVLIST_H
#define PMURING_TOOL_EVLIST_H

#include "events.h"
#include "ring_reader.h"
#include "target.h"

/**
 * struct counter - one open event
 * @event: index into the event list
 * @slot: the task or CPU that it watches
 * @fd: its file descriptor
 * @id: what PERF_SAMPLE_IDENTIFIER says in its samples
 */
struct counter {
	size_t event;
	struct target_slot slot;
	int fd;
	uint64_t id;
};

/**
 * struct shared_ring - a ring and whose records are in it
 * @ring: the ring
 * @slot: of the event that it belongs to; others send their records there
 * @fd: of that event
 */
struct shared_ring {
	struct ring ring;
	struct target_slot slot;
	int fd;
};

/**
 * struct evlist - all of them
 * @events: what was asked for
 * @counters: what is open
 * @nr: how many
 * @pages: data pages of each ring; 0: no rings
 * @rings: when sampling
 * @nr_rings: how many
 * @all_rings: how many there will be
 * @user_told: the user knows that the kernel may not be watched
 */
struct evlist {
	struct event_list *events;
	struct counter *counters;
	size_t nr;
	size_t pages;
	struct shared_ring *rings;
	size_t nr_rings;
	size_t all_rings;
	bool user_told;
};

/**
 * struct reading - what read() of an event fd says
 * @value: the count
 * @enabled: ns that it was enabled
 * @running: ns that it was on a counter
 * @id: its ID
 * @lost: samples lost
 */
struct reading {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
	uint64_t id;
	uint64_t lost;
};

#define READING_FORMAT	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | \
			 PERF_FORMAT_ID | PERF_FORMAT_LOST)

int evlist_open(struct evlist *evlist, struct event_list *events,
		const struct target_slots *slots, size_t pages);
int evlist_enable(struct evlist *evlist);
void evlist_disable(struct evlist *evlist);
int evlist_read(const struct evlist *evlist, const struct counter *counter,
		struct reading *reading);
void evlist_close(struct evlist *evlist);

/* evlist_map.c */
int evlist_map(struct evlist *evlist, const struct counter *counter, size_t pages);

#endif
