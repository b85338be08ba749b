/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for software events: pages to fault on, and the same event opened with
 * pmuring and with the kernel's own perf, so that their counts can be compared.
 */
#ifndef PMURING_TESTS_SOFTWARE_H
#define PMURING_TESTS_SOFTWARE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct both {
	int ours;
	int perf;
};

struct perf_event_attr software(uint64_t config);

struct both both_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
void both_switch(const struct both *both, unsigned long request);
void both_are(const struct both *both, uint64_t want, const char *what);
void both_agree(const struct both *both, const char *what);
void both_close(const struct both *both);

char *untouched_pages(size_t number);

bool whole_file(const char *path, char *text, size_t size);

#endif
