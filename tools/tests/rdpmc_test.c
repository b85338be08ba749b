// SPDX-License-Identifier: GPL-2.0
/*
 * Counters read by user space itself: the same as read(), whatever happens to the
 * event; nothing of others; and only as long as an event is mapped.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "user_page.h"
#include "workers.h"
#include "workload.h"

#define PAGE		4096UL
#define ROUNDS		2000
#define MANY		12
/* instructions from one look at the counter to the next */
#define LOOK		2000

static volatile struct perf_event_mmap_page *map_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		bail_out("no user page");
	return page;
}

static void unmap_page(volatile struct perf_event_mmap_page *page)
{
	munmap((void *)page, PAGE);
}

/* read() lies between two looks of our own */
static bool agrees(volatile struct perf_event_mmap_page *page, int fd)
{
	struct reading before = read_user_page(page);
	uint64_t value = read_value(fd);
	struct reading after = read_user_page(page);

	if (before.count <= value && value <= after.count && after.count - before.count < LOOK)
		return true;
	diag("own %llu, read() %llu, own %llu", (unsigned long long)before.count,
	     (unsigned long long)value, (unsigned long long)after.count);
	return false;
}

static void running(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	uint64_t counts[3];
	int fd = open_self(&attr);
	struct reading a;

	page = map_page(fd);
	is(page->cap_user_rdpmc, 1, "the process may read the counter");
	a = read_user_page(page);
	is(a.index, 0, "not enabled: no index");
	is(a.count, 0, "  nothing counted");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 3; i++) {
		work((i + 1) * ROUNDS);
		a = read_user_page(page);
		counts[i] = a.count;
	}
	ok(a.index, "enabled: an index");
	between(counts[2] - 2 * counts[1] + counts[0] + machine_slack(ROUNDS * WORK_ROUND),
		ROUNDS * WORK_ROUND,
		ROUNDS * WORK_ROUND + 2 * machine_slack(ROUNDS * WORK_ROUND), "  exact");
	ok(agrees(page, fd), "  as read()");
	switch_event(fd, PERF_EVENT_IOC_RESET);
	a = read_user_page(page);
	between(a.count, 1, LOOK, "RESET: from 0 on");
	ok(agrees(page, fd), "  as read()");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	a = read_user_page(page);
	is(a.index, 0, "DISABLE: no index");
	is(a.count, read_value(fd), "  as read(), exactly");
	unmap_page(page);
	close(fd);
}

static void overflows(uint64_t period)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period, PERF_SAMPLE_IP);
	volatile struct perf_event_mmap_page *page;
	int fd, good = 0, times = 200;
	uint64_t last = 0;
	struct reading r;

	fd = open_self(&attr);
	page = map_page(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < times; i++) {
		work(1 + i);
		r = read_user_page(page);
		good += agrees(page, fd) && r.count > last;
		last = r.count;
	}
	is(good, times, "%d times across overflows, period %llu", times,
	   (unsigned long long)period);
	unmap_page(page);
	close(fd);
}

static void migrated(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	int fd, good = 0, times = 20;

	fd = open_self(&attr);
	page = map_page(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < times; i++) {
		cpu_pin(i % 2);
		good += agrees(page, fd);
	}
	is(good, times, "%d migrations: as read()", times);
	unmap_page(page);
	close(fd);
	cpu_pin(0);
}

static void multiplexed(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *pages[MANY];
	int fds[MANY], good = 0, waiting = 0, counting = 0, times = 30;
	struct reading r;

	for (int i = 0; i < MANY; i++) {
		fds[i] = open_self(&attr);
		pages[i] = map_page(fds[i]);
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	}
	for (int n = 0; n < times; n++) {
		for (int i = 0; i < MANY; i++) {
			r = read_user_page(pages[i]);
			waiting += !r.index;
			counting += !!r.index;
			good += agrees(pages[i], fds[i]);
		}
		work(50000);
	}
	is(good, times * MANY, "%d events take turns: as read(), counting or waiting", MANY);
	ok(waiting > times && counting > times, "  some wait (%d), some count (%d)", waiting,
	   counting);
	for (int i = 0; i < MANY; i++) {
		unmap_page(pages[i]);
		close(fds[i]);
	}
}

static void sleep_on(uint64_t argument, void *data)
{
	(void)argument;
	(void)data;
	work(ROUNDS);
}

static void attached(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	struct worker w;
	int fd;

	attr.disabled = 0;
	worker_start(&w, sleep_on, NULL);
	fd = open_event(&attr, w.pid, -1);
	page = map_page(fd);
	is(page->cap_user_rdpmc, 0, "another task's event: not for us to read");
	ok(rdpmc_faults(0), "  RDPMC faults");
	worker_run(&w, 1);
	is(read_user_page(page).index, 0, "  no index");
	is(read_user_page(page).count, read_value(fd), "  its count, as read()");
	unmap_page(page);
	close(fd);
	worker_end(&w);
}

/* Return: what a child says that does as it is told */
static int in_child(int (*fn)(void *), void *data)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(data));
	waitpid(pid, &status, 0);
	return status;
}

static int child_faults(void *data)
{
	(void)data;
	return rdpmc_faults(0);
}

static int child_maps_itself(void *data)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	volatile struct perf_event_mmap_page *page = map_page(fd);

	(void)data;
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	if (rdpmc_faults(0) || !agrees(page, fd))
		return 1;
	unmap_page(page);
	return rdpmc_faults(0) ? 2 : 3;
}

static void rights(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page, *second, *moved;
	int fd = open_self(&attr), good = 0;

	ok(rdpmc_faults(0), "no event mapped: RDPMC faults");
	for (int i = 0; i < 1000; i++)
		good += mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED;
	is(good, 1000, "1000 mappings that fail");
	ok(rdpmc_faults(0), "  give no right");
	page = map_page(fd);
	ok(!rdpmc_faults(0), "mapped: RDPMC works");
	is(in_child(child_faults, NULL), 1 << 8, "  not in a forked child");
	is(in_child(child_maps_itself, NULL), 2 << 8, "  which gets and loses a right of its own");
	second = map_page(fd);
	unmap_page(page);
	ok(!rdpmc_faults(0), "one mapping of two is left: it works");
	moved = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap((void *)second, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
	ok(moved != MAP_FAILED && !rdpmc_faults(0), "moved: it works");
	close(fd);
	ok(!rdpmc_faults(0), "closed, still mapped: it works");
	unmap_page(moved);
	ok(rdpmc_faults(0), "unmapped: RDPMC faults");
}

#define COUNTERS_MAX	16
#define FOREIGN		65536

static int all_counters(uint32_t *counters)
{
	struct pmuring_info info = module_info();
	int n = 0;

	for (uint32_t i = 0; i < info.gp_counters && n < COUNTERS_MAX; i++)
		counters[n++] = i;
	for (uint32_t i = 0; i < info.fixed_counters && n < COUNTERS_MAX; i++)
		counters[n++] = RDPMC_FIXED + i;
	return n;
}

/*
 * Return: counters that are not the event's own and hold a count. When Linux
 * tests a PMU it leaves a small number behind.
 */
static int foreign(uint32_t own)
{
	uint32_t counters[COUNTERS_MAX];
	int n = all_counters(counters), seen = 0;

	for (int i = 0; i < n; i++) {
		if (counters[i] + 1 == own || rdpmc(counters[i]) < FOREIGN)
			continue;
		diag("counter %#x holds %#llx", counters[i],
		     (unsigned long long)rdpmc(counters[i]));
		seen++;
	}
	return seen;
}

static void count_on(uint64_t argument, void *data)
{
	(void)argument;
	(void)data;
	work(FOREIGN);
}

static void others_stay_hidden(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	struct worker w;
	int fds[4], fd;

	attr.disabled = 0;
	worker_start(&w, count_on, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		attr.config = i < 2 ? PERF_COUNT_HW_BRANCH_INSTRUCTIONS :
				      PERF_COUNT_HW_INSTRUCTIONS;
		fds[i] = open_event(&attr, w.pid, -1);
	}
	worker_run(&w, 1);
	fd = open_self(&attr);
	page = map_page(fd);
	is(foreign(read_user_page(page).index), 0,
	   "what another task has counted before is not in the counters");
	worker_run(&w, 1);
	is(foreign(read_user_page(page).index), 0, "  nor what it counts from then on");
	ok(read_value(fds[0]) > 2 * FOREIGN, "  although it did");
	unmap_page(page);
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	worker_end(&w);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(10 + 3 + 1 + 2 + 4 + 10 + 3 + 2);
	cpu_pin(0);
	running();
	overflows(1009);
	overflows(20011);
	overflows(1ULL << 40);
	if (cpu_possible() > 1)
		migrated();
	else
		skip(1, "one CPU");
	multiplexed();
	attached();
	rights();
	others_stay_hidden();
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel has nothing to say");
	return done();
}
