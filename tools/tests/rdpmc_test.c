// SPDX-License-Identifier: GPL-2.0
/*
 * User space reads of a counter with RDPMC match read(), whatever happens to the event.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "user_page.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		2000
#define MANY		12

static void running(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	uint64_t counts[3];
	int fd = open_self(&attr);
	struct reading a;

	page = user_page_map(fd);
	is(page->cap_user_rdpmc, 1, "the process may read the counter");
	a = read_user_page(page);
	is(a.index, 0, "not enabled: the page has no index");
	is(a.count, 0, "not enabled: the count is 0");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 3; i++) {
		work((i + 1) * ROUNDS);
		a = read_user_page(page);
		counts[i] = a.count;
	}
	ok(a.index, "enabled: the page has an index");
	between(counts[2] - 2 * counts[1] + counts[0] + machine_slack(ROUNDS * WORK_ROUND),
		ROUNDS * WORK_ROUND,
		ROUNDS * WORK_ROUND + 2 * machine_slack(ROUNDS * WORK_ROUND),
		"the RDPMC count is exact");
	ok(user_page_agrees(page, fd), "the RDPMC count matches read()");
	switch_event(fd, PERF_EVENT_IOC_RESET);
	a = read_user_page(page);
	between(a.count, 1, USER_PAGE_LOOK, "RESET: the RDPMC count restarts at 0");
	ok(user_page_agrees(page, fd), "the RDPMC count matches read()");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	a = read_user_page(page);
	is(a.index, 0, "DISABLE: the page has no index");
	is(a.count, read_value(fd), "DISABLE: the page's count equals read()");
	user_page_unmap(page);
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
	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < times; i++) {
		work(1 + i);
		r = read_user_page(page);
		good += user_page_agrees(page, fd) && r.count > last;
		last = r.count;
	}
	is(good, times, "RDPMC matches read() %d times across overflows, period %llu", times,
	   (unsigned long long)period);
	user_page_unmap(page);
	close(fd);
}

static void migrated(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	int fd, good = 0, times = 20;

	fd = open_self(&attr);
	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < times; i++) {
		cpu_pin(i % 2);
		good += user_page_agrees(page, fd);
	}
	is(good, times, "RDPMC matches read() after each of %d migrations", times);
	user_page_unmap(page);
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
		pages[i] = user_page_map(fds[i]);
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	}
	for (int n = 0; n < times; n++) {
		for (int i = 0; i < MANY; i++) {
			r = read_user_page(pages[i]);
			waiting += !r.index;
			counting += !!r.index;
			good += user_page_agrees(pages[i], fds[i]);
		}
		work(50000);
	}
	is(good, times * MANY, "%d rotating events match read(), running or waiting", MANY);
	ok(waiting > times && counting > times, "some events wait (%d), some run (%d)", waiting,
	   counting);
	for (int i = 0; i < MANY; i++) {
		user_page_unmap(pages[i]);
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
	page = user_page_map(fd);
	is(page->cap_user_rdpmc, 0, "another task's event: cap_user_rdpmc is 0");
	ok(rdpmc_faults(0), "another task's event: RDPMC faults");
	worker_run(&w, 1);
	is(read_user_page(page).index, 0, "another task's event: the page has no index");
	is(read_user_page(page).count, read_value(fd),
	   "another task's event: the page's count equals read()");
	user_page_unmap(page);
	close(fd);
	worker_end(&w);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(10 + 3 + 1 + 2 + 4 + 2);
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
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
