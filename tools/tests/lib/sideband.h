/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sideband records as text, so that those of two doors can be compared.
 */
#ifndef PMURING_TESTS_SIDEBAND_H
#define PMURING_TESTS_SIDEBAND_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int (*open_fn)(const struct perf_event_attr *attr, pid_t pid, int cpu);

#define STORY_MAX	400

/**
 * struct story - what an event told
 * @line: a record each, but READ
 * @lines: how many
 * @copies: records by an inherited copy of the event
 * @reads: records of what a copy had counted when its task ended
 * @faults: trailers that were wrong, times that ran backward
 */
struct story {
	char *line[STORY_MAX];
	size_t lines;
	unsigned int copies;
	unsigned int reads;
	unsigned int faults;
};

void story_tell(struct story *story, open_fn open, const struct perf_event_attr *attr,
		bool cpu_wide, int cpu);
bool story_has(const struct story *story, const char *text);
void story_free(struct story *story);

#endif
