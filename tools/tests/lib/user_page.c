// SPDX-License-Identifier: GPL-2.0
/*
 * See user_page.h. Called by the tests, one thread.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include "events.h"
#include "tap.h"
#include "user_page.h"

#define USER_PAGE_SIZE	4096UL

/**
 * rdpmc - read a counter
 * @counter: its number
 *
 * Return: its value
 */
uint64_t rdpmc(uint32_t counter)
{
	return _rdpmc(counter);
}

static sigjmp_buf fault;

static void on_fault(int signal)
{
	siglongjmp(fault, signal);
}

/**
 * rdpmc_faults - whether RDPMC faults in this process
 * @counter: number of one that exists
 *
 * Return: whether RDPMC ends in SIGSEGV
 */
bool rdpmc_faults(uint32_t counter)
{
	struct sigaction action = { .sa_handler = on_fault }, old;
	volatile bool faults = false;

	sigaction(SIGSEGV, &action, &old);
	if (sigsetjmp(fault, 1))
		faults = true;
	else
		rdpmc(counter);
	sigaction(SIGSEGV, &old, NULL);
	return faults;
}

static uint64_t tsc_to_ns(uint64_t tsc, uint32_t mult, uint16_t shift)
{
	uint64_t whole = tsc >> shift, rest = tsc & ((1ULL << shift) - 1);

	return whole * mult + (rest * mult >> shift);
}

static int64_t extended(uint64_t value, uint16_t width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

/**
 * read_user_page - read count and times from the user page
 * @page: of an event that is mapped by this process
 *
 * Return: count and times
 */
struct reading read_user_page(const volatile struct perf_event_mmap_page *page)
{
	struct reading r;
	uint64_t passed;
	uint32_t lock;

	do {
		lock = page->lock;
		__asm__ volatile("" ::: "memory");
		r.index = page->cap_user_rdpmc ? page->index : 0;
		r.count = page->offset;
		r.enabled = page->time_enabled;
		r.running = page->time_running;
		r.clock = 0;
		if (page->cap_user_time) {
			passed = tsc_to_ns(__rdtsc(), page->time_mult, page->time_shift);
			r.enabled += page->time_offset + passed;
			if (r.index)
				r.running += page->time_offset + passed;
			if (page->cap_user_time_zero)
				r.clock = page->time_zero + passed;
		}
		if (r.index)
			r.count += extended(rdpmc(r.index - 1), page->pmc_width);
		__asm__ volatile("" ::: "memory");
	} while (page->lock != lock || lock & 1);
	return r;
}

/**
 * user_page_map - map the user page of an event, and nothing else
 * @fd: the event
 *
 * Return: the page
 */
volatile struct perf_event_mmap_page *user_page_map(int fd)
{
	void *page = mmap(NULL, USER_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		bail_out("no user page");
	return page;
}

/**
 * user_page_unmap - undo user_page_map()
 * @page: the page
 */
void user_page_unmap(volatile struct perf_event_mmap_page *page)
{
	munmap((void *)page, USER_PAGE_SIZE);
}

/**
 * user_page_agrees - whether read() is between two reads of the page
 * @page: the page
 * @fd: its event
 *
 * Return: whether it does
 */
bool user_page_agrees(volatile struct perf_event_mmap_page *page, int fd)
{
	struct reading before = read_user_page(page);
	uint64_t value = read_value(fd);
	struct reading after = read_user_page(page);

	if (before.count <= value && value <= after.count && after.count - before.count < USER_PAGE_LOOK)
		return true;
	diag("own %llu, read() %llu, own %llu", (unsigned long long)before.count,
	     (unsigned long long)value, (unsigned long long)after.count);
	return false;
}
