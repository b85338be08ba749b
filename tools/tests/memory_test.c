// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: a ring costs its data pages and at most two more, and all memory of events
 * and rings is freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"

#define PAGE_KB		4
#define RINGS		256
#define DATA_PAGES	32
#define RING_BYTES	((1 + DATA_PAGES) * PAGE_KB * 1024UL)
/* KiB by which free memory varies on an idle machine */
#define NOISE_KB	512

static long meminfo_kb(const char *field)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t len = strlen(field);
	char line[128];
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, len) && line[len] == ':')
			kb = strtol(line + len + 1, NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

/*
 * MemFree alone swings by megabytes: it leaves out the pages that each CPU
 * keeps at hand.
 */
static long free_kb(void)
{
	FILE *file = fopen("/proc/zoneinfo", "re");
	long pages = 0, n;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " nr_free_pages %ld", &n) == 1 ||
		    sscanf(line, " count: %ld", &n) == 1)
			pages += n;
	if (file)
		fclose(file);
	return pages * PAGE_KB;
}

/* rings are freed after a grace period, by a worker */
static void settle(void)
{
	sleep_ms(300);
}

static unsigned char *open_and_map(int *fd)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 100003, PERF_SAMPLE_IP);
	void *map;

	*fd = open_self(&attr);
	map = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (map == MAP_FAILED)
		bail_out("cannot map %d pages", DATA_PAGES);
	return map;
}

/* memory_of_rings - what RINGS rings take of the machine, in KiB */
static long memory_of_rings(void)
{
	static unsigned char *maps[RINGS];
	static int fds[RINGS];
	long before = free_kb(), with;

	for (int i = 0; i < RINGS; i++)
		maps[i] = open_and_map(&fds[i]);
	with = free_kb();
	for (int i = 0; i < RINGS; i++) {
		munmap(maps[i], RING_BYTES);
		close(fds[i]);
	}
	settle();
	return before - with;
}

static void cost_of_rings(void)
{
	long before, least, cost;

	/* the first time fills what the kernel's allocators keep in stock */
	least = memory_of_rings();
	before = free_kb();
	for (int i = 0; i < 3; i++) {
		cost = memory_of_rings();
		if (cost < least)
			least = cost;
	}
	between(least, RINGS * DATA_PAGES * PAGE_KB - NOISE_KB,
		RINGS * (DATA_PAGES + 2) * PAGE_KB + NOISE_KB,
		"each of %d rings of %d pages costs at most two more pages", RINGS, DATA_PAGES);
	between(labs(before - free_kb()), 0, NOISE_KB, "closed rings cost no memory");
}

/* a page or an object for each of them would show */
static void nothing_is_left(int times)
{
	unsigned char *map;
	long gone, slab_kb;
	int fd;

	for (int i = 0; i < 100; i++) {
		munmap(open_and_map(&fd), RING_BYTES);
		close(fd);
	}
	settle();
	gone = free_kb();
	slab_kb = meminfo_kb("SUnreclaim");
	for (int i = 0; i < times; i++) {
		map = open_and_map(&fd);
		if (i % 2)
			munmap(map, RING_BYTES);
		close(fd);
		if (!(i % 2))
			munmap(map, RING_BYTES);
	}
	settle();
	gone -= free_kb();
	slab_kb = meminfo_kb("SUnreclaim") - slab_kb;
	ok(gone < times * PAGE_KB / 2, "opened, mapped and closed %d times: %ld KiB are missing",
	   times, gone);
	/* an event is larger than half a KiB */
	ok(slab_kb < times / 2 / 2, "the slab grows by %ld KiB", slab_kb);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	if (!machine_is_exact())
		return skip_all("free memory of a machine in use varies too much");
	if (machine_is_checked())
		return skip_all("a debug kernel keeps freed memory; kmemleak looks for leaks there");
	cpu_pin(0);
	plan(2 + 2);
	sleep_ms(1000);
	cost_of_rings();
	nothing_is_left(4000);
	return done();
}
