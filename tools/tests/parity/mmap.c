// SPDX-License-Identifier: GPL-2.0
/*
 * mmap(2) of an event: sizes, protections, offsets, second mappings, and changes of a
 * mapping.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PAGE	4096UL

struct mmap_case {
	const char *name;
	size_t length;
	int protection;
	int flags;
	off_t offset;
};

#define RW	(PROT_READ | PROT_WRITE)

static const struct mmap_case cases[] = {
	{ "1", PAGE, RW, MAP_SHARED, 0 },
	{ "2", 2 * PAGE, RW, MAP_SHARED, 0 },
	{ "3", 3 * PAGE, RW, MAP_SHARED, 0 },
	{ "4", 4 * PAGE, RW, MAP_SHARED, 0 },
	{ "5", 5 * PAGE, RW, MAP_SHARED, 0 },
	{ "6", 6 * PAGE, RW, MAP_SHARED, 0 },
	{ "7", 7 * PAGE, RW, MAP_SHARED, 0 },
	{ "8", 8 * PAGE, RW, MAP_SHARED, 0 },
	{ "9", 9 * PAGE, RW, MAP_SHARED, 0 },
	{ "129", 129 * PAGE, RW, MAP_SHARED, 0 },
	{ "513", 513 * PAGE, RW, MAP_SHARED, 0 },
	{ "half-page", PAGE / 2, RW, MAP_SHARED, 0 },
	{ "2-and-a-byte", 2 * PAGE + 1, RW, MAP_SHARED, 0 },
	{ "4-and-a-byte", 4 * PAGE + 1, RW, MAP_SHARED, 0 },
	{ "0", 0, RW, MAP_SHARED, 0 },
	{ "2-to-20", (1 + (1UL << 20)) * PAGE, RW, MAP_SHARED, 0 },
	{ "2-to-32", (1 + (1UL << 32)) * PAGE, RW, MAP_SHARED, 0 },
	{ "private", 2 * PAGE, RW, MAP_PRIVATE, 0 },
	{ "private-read", 2 * PAGE, PROT_READ, MAP_PRIVATE, 0 },
	{ "read", 2 * PAGE, PROT_READ, MAP_SHARED, 0 },
	{ "write", 2 * PAGE, PROT_WRITE, MAP_SHARED, 0 },
	{ "exec", 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, 0 },
	{ "none", 2 * PAGE, PROT_NONE, MAP_SHARED, 0 },
	{ "validate", 2 * PAGE, RW, MAP_SHARED_VALIDATE, 0 },
	{ "populate", 2 * PAGE, RW, MAP_SHARED | MAP_POPULATE, 0 },
	{ "locked", 2 * PAGE, RW, MAP_SHARED | MAP_LOCKED, 0 },
	{ "offset-1", 2 * PAGE, RW, MAP_SHARED, PAGE },
	{ "offset-2", PAGE, RW, MAP_SHARED, 2 * PAGE },
	{ "offset-odd", 2 * PAGE, RW, MAP_SHARED, 100 },
	{ "offset-huge", 2 * PAGE, RW, MAP_SHARED, 1L << 50 },
};

static void *try_map(int fd, size_t pages, int protection)
{
	return mmap(NULL, pages * PAGE, protection, MAP_SHARED, fd, 0);
}

static long as_result(const void *map)
{
	return map == MAP_FAILED ? -1 : 0;
}

static int open_sampling(void)
{
	struct perf_event_attr attr = sampling(16000, PERF_SAMPLE_IP);

	return open_self(&attr);
}

static void map_once(const void *arg)
{
	const struct mmap_case *map = arg;
	const struct perf_event_mmap_page *page;

	page = mmap(NULL, map->length, map->protection, map->flags, open_sampling(), map->offset);
	say_result("mmap", as_result(page));
	if (page != MAP_FAILED && map->protection & PROT_READ)
		say("data=%llu+%llu", (unsigned long long)page->data_offset,
		    (unsigned long long)page->data_size);
}

/* Further mappings of any size after a first one. */
static void second_size(void)
{
	int fd = open_sampling();

	say_result("3", as_result(try_map(fd, 3, RW)));
	say_result("same", as_result(try_map(fd, 3, RW)));
	say_result("read", as_result(try_map(fd, 3, PROT_READ)));
	say_result("2", as_result(try_map(fd, 2, RW)));
	say_result("1", as_result(try_map(fd, 1, RW)));
	say_result("5", as_result(try_map(fd, 5, RW)));
	say_result("4", as_result(try_map(fd, 4, RW)));
}

static void second_shares(void)
{
	int fd = open_sampling();
	struct perf_event_mmap_page *first = try_map(fd, 3, RW), *second = try_map(fd, 3, RW);

	work_counted(fd, 10000);
	say("head=%s", first->data_head && first->data_head == second->data_head ?
	    "same" : "other");
	munmap(first, 3 * PAGE);
	work_counted(fd, 10000);
	say("goes-on=%d", second->data_head > 0);
}

static void after_unmap(void)
{
	int fd = open_sampling();
	void *map = try_map(fd, 3, RW);

	munmap(map, 3 * PAGE);
	say_poll("poll", fd);
	say_result("other-size", as_result(try_map(fd, 5, RW)));
	say_poll("poll", fd);
}

static void after_close(void)
{
	int fd = open_sampling();
	struct perf_event_mmap_page *page = try_map(fd, 3, RW);

	enable(fd);
	close(fd);
	work(10000);
	say("samples-after-close=%s", page->data_head ? "yes" : "no");
	munmap(page, 3 * PAGE);
}

/* The mapping of an event that is inherited, or of a whole CPU. */
static void inherited(void)
{
	struct perf_event_attr attr = sampling(16000, PERF_SAMPLE_IP);

	attr.inherit = 1;
	say_result("any", as_result(try_map(must_open(&attr, 0, -1, -1), 3, RW)));
	say_result("cpu", as_result(try_map(must_open(&attr, 0, 0, -1), 3, RW)));
	say_result("wide", as_result(try_map(must_open(&attr, -1, 0, -1), 3, RW)));
	say_result("any-page", as_result(try_map(must_open(&attr, 0, -1, -1), 1, RW)));
}

static void of_counting(void)
{
	struct perf_event_attr attr = instructions();

	say_result("counting", as_result(try_map(open_self(&attr), 3, RW)));
	attr = software(PERF_COUNT_SW_DUMMY);
	say_result("software", as_result(try_map(open_self(&attr), 3, RW)));
	say_result("error", as_result(try_map(open_error_event(0, 0), 3, RW)));
}

static void of_dead_task(void)
{
	struct perf_event_attr attr = sampling(16000, PERF_SAMPLE_IP);
	struct helper helper;
	int fd;

	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	helper_end(&helper);
	say_result("mmap", as_result(try_map(fd, 3, RW)));
	say_poll("poll", fd);
}

static void partly(void)
{
	char *map = try_map(open_sampling(), 9, RW);

	say_result("munmap-tail", munmap(map + 5 * PAGE, 4 * PAGE));
	say_result("munmap-head", munmap(map, PAGE));
	say_result("munmap-middle", munmap(map + 3 * PAGE, PAGE));
	say_result("mprotect-middle", mprotect(map + 3 * PAGE, PAGE, PROT_READ));
	say_result("shrink", as_result(mremap(map, 9 * PAGE, 5 * PAGE, 0)));
	say_result("grow", as_result(mremap(map, 9 * PAGE, 17 * PAGE, MREMAP_MAYMOVE)));
	say_result("munmap", munmap(map, 9 * PAGE));
}

static void whole(void)
{
	char *map = try_map(open_sampling(), 3, RW), *moved;

	say_result("move", as_result(moved = mremap(map, 3 * PAGE, 3 * PAGE,
						    MREMAP_MAYMOVE | MREMAP_DONTUNMAP)));
	if (moved != MAP_FAILED)
		map = moved;
	say_result("mprotect-read", mprotect(map, 3 * PAGE, PROT_READ));
	say_result("mprotect-write", mprotect(map, 3 * PAGE, RW));
	say_result("mprotect-exec", mprotect(map, 3 * PAGE, PROT_READ | PROT_EXEC));
	say_result("dofork", madvise(map, 3 * PAGE, MADV_DOFORK));
	say_result("dodump", madvise(map, 3 * PAGE, MADV_DODUMP));
	say_result("dontneed", madvise(map, 3 * PAGE, MADV_DONTNEED));
	say_result("mlock", mlock(map, 3 * PAGE));
	say("readable=%llu", (unsigned long long)((struct perf_event_mmap_page *)map)->data_offset);
}

struct touch {
	volatile char *at;
	bool write;
};

static void touch(void *data)
{
	struct touch *touch = data;

	if (touch->write)
		*touch->at = 1;
	else
		(void)*touch->at;
}

/* Result of a touch in a child; @inherit: of its parent's mapping. */
static void say_touch(const char *what, volatile char *at, bool write)
{
	struct touch data = { at, write };
	int status;
	pid_t pid = fork();

	if (!pid) {
		touch(&data);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	say("%s=%s", what, WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "ok");
}

/* A child does not inherit the mapping. */
static void fork_loses_it(void)
{
	char *map = try_map(open_sampling(), 3, RW);

	say_touch("read", map, false);
	madvise(map, 3 * PAGE, MADV_DOFORK);
	say_touch("read-dofork", map, false);
	say_touch("write-dofork", map, true);
}

static void touch_here(size_t offset, bool write, int protection)
{
	char *map = try_map(open_sampling(), 3, protection);
	struct touch data = { map + offset, write };

	touch(&data);
	say("survived");
}

static void write_page(void)
{
	touch_here(2048, true, RW);
}

static void write_data(void)
{
	touch_here(PAGE, true, RW);
}

static void read_data(void)
{
	touch_here(2 * PAGE + 100, false, RW);
}

static void write_readonly(void)
{
	touch_here(2048, true, PROT_READ);
}

static const struct simple_case simple[] = {
	{ "second-size", second_size },
	{ "second-shares", second_shares },
	{ "after-unmap", after_unmap },
	{ "after-close", after_close },
	{ "inherited", inherited },
	{ "of-counting", of_counting },
	{ "of-dead-task", of_dead_task },
	{ "partly", partly },
	{ "whole", whole },
	{ "fork-loses-it", fork_loses_it },
	{ "write-page", write_page },
	{ "write-data", write_data },
	{ "read-data", read_data },
	{ "write-readonly", write_readonly },
};

/**
 * theme_mmap - mappings
 */
void theme_mmap(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		run_case("mmap", cases[i].name, map_once, &cases[i]);
	run_simple("mmap", simple, ARRAY_SIZE(simple));
}
