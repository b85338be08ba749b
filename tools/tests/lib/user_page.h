/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user page as a reader sees it, by the recipe in <linux/perf_event.h>.
 */
#ifndef PMURING_TESTS_USER_PAGE_H
#define PMURING_TESTS_USER_PAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* number of fixed counter 0 for RDPMC */
#define RDPMC_FIXED	(1U << 30)

/* instructions from one look at the page to the next but one, at most */
#define USER_PAGE_LOOK	2000

/**
 * struct reading - count and times, all of one moment
 * @index: 0: the event is on no counter
 * @count: events
 * @enabled: ns, brought up to now if the page has a clock
 * @running: ns, likewise
 * @clock: TIME of a record that was written now, or 0
 */
struct reading {
	uint32_t index;
	uint64_t count;
	uint64_t enabled;
	uint64_t running;
	uint64_t clock;
};

uint64_t rdpmc(uint32_t counter);
bool rdpmc_faults(uint32_t counter);
struct reading read_user_page(const volatile struct perf_event_mmap_page *page);

volatile struct perf_event_mmap_page *user_page_map(int fd);
void user_page_unmap(volatile struct perf_event_mmap_page *page);
bool user_page_agrees(volatile struct perf_event_mmap_page *page, int fd);

#endif
