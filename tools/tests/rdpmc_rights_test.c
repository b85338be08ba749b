// SPDX-License-Identifier: GPL-2.0
/*
 * Who may read counters: only who has an event mapped, as long as it is, and
 * nothing of others.
 */
#include <signal.h>
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
	volatile struct perf_event_mmap_page *page = user_page_map(fd);

	(void)data;
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	if (rdpmc_faults(0) || !user_page_agrees(page, fd))
		return 1;
	user_page_unmap(page);
	return rdpmc_faults(0) ? 2 : 3;
}

static int child_maps_the_same(void *data)
{
	int fd = *(int *)data;
	volatile struct perf_event_mmap_page *page = user_page_map(fd);

	return read_user_page(page).index || !rdpmc_faults(0);
}

/* an event has one page, and who sees it must be able to believe it */
static void seen_by_two(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page, *again;
	int fd = open_self(&attr);

	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	ok(read_user_page(page).index, "mapped by the one that is counted: an index");
	is(in_child(child_maps_the_same, &fd), 0, "  by another as well: none, for neither");
	again = user_page_map(fd);
	is(read_user_page(page).index, 0, "  for as long as it is mapped");
	ok(read_user_page(page).count <= read_value(fd), "  the count is an older one");
	user_page_unmap(page);
	user_page_unmap(again);
	page = user_page_map(fd);
	ok(read_user_page(page).index, "mapped anew: an index");
	user_page_unmap(page);
	close(fd);
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
	page = user_page_map(fd);
	ok(!rdpmc_faults(0), "mapped: RDPMC works");
	is(in_child(child_faults, NULL), 1 << 8, "  not in a forked child");
	is(in_child(child_maps_itself, NULL), 2 << 8, "  which gets and loses a right of its own");
	second = user_page_map(fd);
	user_page_unmap(page);
	ok(!rdpmc_faults(0), "one mapping of two is left: it works");
	moved = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap((void *)second, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
	ok(moved != MAP_FAILED && !rdpmc_faults(0), "moved: it works");
	close(fd);
	ok(!rdpmc_faults(0), "closed, still mapped: it works");
	user_page_unmap(moved);
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
	page = user_page_map(fd);
	is(foreign(read_user_page(page).index), 0,
	   "what another task has counted before is not in the counters");
	worker_run(&w, 1);
	is(foreign(read_user_page(page).index), 0, "  nor what it counts from then on");
	ok(read_value(fds[0]) > 2 * FOREIGN, "  although it did");
	user_page_unmap(page);
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
	plan(10 + 5 + 3 + 2);
	cpu_pin(0);
	rights();
	seen_by_two();
	others_stay_hidden();
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel has nothing to say");
	return done();
}
