// SPDX-License-Identifier: GPL-2.0
/*
 * Ring memory that an unprivileged user may pin: the budget of all users, and
 * RLIMIT_MEMLOCK beyond it.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "parity.h"

#define PAGE	4096UL

static int open_one(void)
{
	struct perf_event_attr attr = sampling(100000, PERF_SAMPLE_IP);

	return open_self(&attr);
}

static void *map_pages(int fd, size_t pages)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static long try_map(size_t data_pages)
{
	return map_pages(open_one(), data_pages + 1) == MAP_FAILED ? -1 : 0;
}

static void limit(rlim_t pages)
{
	struct rlimit memory = { pages * PAGE, pages * PAGE };

	setrlimit(RLIMIT_MEMLOCK, &memory);
}

/* Map rings of @pages data pages until one is refused. */
static void say_rings(size_t data_pages)
{
	unsigned int n = 0;

	while (n < 600 && !try_map(data_pages))
		n++;
	say("rings-of-%zu=%u", data_pages, n);
	say_result("next", try_map(data_pages));
}

static void budget(void)
{
	be_nobody();
	limit(0);
	say_result("128", try_map(128));
	say_result("64", try_map(64));
	say_result("256", try_map(256));
	say_rings(1);
}

static void budget_in_big_rings(void)
{
	be_nobody();
	limit(0);
	say_rings(128);
	say_rings(64);
	say_rings(0);
}

static void one_too_big(void)
{
	be_nobody();
	limit(0);
	say_result("512", try_map(512));
	say_result("256", try_map(256));
}

static void with_limit(void)
{
	be_nobody();
	limit(100);
	say_rings(64);
	say_rings(16);
}

static void given_back(void)
{
	void *map;
	int fd;

	be_nobody();
	limit(0);
	for (int i = 0; i < 10; i++) {
		fd = open_one();
		map = map_pages(fd, 129);
		if (map == MAP_FAILED)
			break;
		munmap(map, 129 * PAGE);
		close(fd);
	}
	say_result("last", map == MAP_FAILED ? -1 : 0);
}

static void second_is_free(void)
{
	unsigned int n = 0;
	int fd;

	be_nobody();
	limit(0);
	fd = open_one();
	while (n < 20 && map_pages(fd, 129) != MAP_FAILED)
		n++;
	say("mappings=%u", n);
}

static void nothing_allowed(void)
{
	be_nobody();
	limit(0);
	say_result("1", try_map(1));
	say_result("page", try_map(0));
	limit(2);
	say_result("1", try_map(1));
}

static void unlimited(void)
{
	be_nobody();
	limit(0);
	say_result("1024", try_map(1024));
}

static const struct simple_case simple[] = {
	{ "budget", budget },
	{ "big-rings", budget_in_big_rings },
	{ "too-big", one_too_big },
	{ "with-limit", with_limit },
	{ "given-back", given_back },
	{ "second-is-free", second_is_free },
};

static const struct simple_case tight[] = {
	{ "no-budget", nothing_allowed },
};

static const struct simple_case free_for_all[] = {
	{ "paranoid-minus-1", unlimited },
};

/**
 * theme_mlock - memory of rings
 */
void theme_mlock(void)
{
	run_simple("mlock", simple, ARRAY_SIZE(simple));
	knob_set(KNOB_MLOCK, 0);
	run_simple("mlock", tight, ARRAY_SIZE(tight));
	knob_set(KNOB_MLOCK, 516);
	knob_set(KNOB_PARANOID, -1);
	run_simple("mlock", free_for_all, ARRAY_SIZE(free_for_all));
	knob_set(KNOB_PARANOID, 2);
}
