// SPDX-License-Identifier: GPL-2.0
/*
 * RDPMC permission: only a process with a mapped event may read counters, only while
 * it is mapped, and never the counts of others.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "user_page.h"
#include "workers.h"
#include "workload.h"

#define PAGE		4096UL

/* Return: the wait status of a child that runs @fn */
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

/* an event has one page, so it must be valid for each process that maps it */
static void seen_by_two(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page, *again;
	int fd = open_self(&attr);

	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	ok(read_user_page(page).index, "the page has an index if the counted process maps it");
	is(in_child(child_maps_the_same, &fd), 0, "a second process maps it: neither has an index");
	again = user_page_map(fd);
	is(read_user_page(page).index, 0, "no index while the page is mapped");
	ok(read_user_page(page).count <= read_value(fd), "the page's count is not ahead of read()");
	user_page_unmap(page);
	user_page_unmap(again);
	page = user_page_map(fd);
	ok(read_user_page(page).index, "a new mapping has an index");
	user_page_unmap(page);
	close(fd);
}

static void rights(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page, *second, *moved;
	int fd = open_self(&attr), good = 0;

	ok(rdpmc_faults(0), "RDPMC faults without a mapped event");
	for (int i = 0; i < 1000; i++)
		good += mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED;
	is(good, 1000, "1000 mappings fail");
	ok(rdpmc_faults(0), "RDPMC faults after failed mappings");
	page = user_page_map(fd);
	ok(!rdpmc_faults(0), "RDPMC works with a mapped event");
	is(in_child(child_faults, NULL), 1 << 8, "RDPMC faults in a forked child");
	is(in_child(child_maps_itself, NULL), 2 << 8,
	   "a child's RDPMC works only while its own event is mapped");
	second = user_page_map(fd);
	user_page_unmap(page);
	ok(!rdpmc_faults(0), "RDPMC works while one of two mappings is left");
	moved = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap((void *)second, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
	ok(moved != MAP_FAILED && !rdpmc_faults(0), "RDPMC works after mremap");
	close(fd);
	ok(!rdpmc_faults(0), "RDPMC works after close while mapped");
	user_page_unmap(moved);
	ok(rdpmc_faults(0), "RDPMC faults after unmap");
}

/* a child inherits the mapping but not the permission, so the page has no index */
static int child_reads_it(void *data)
{
	volatile struct perf_event_mmap_page *page = data;

	return page->cap_user_rdpmc || read_user_page(page).index || !rdpmc_faults(0);
}

static void inherited(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	int fd = open_self(&attr);

	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	is(madvise((void *)page, PAGE, MADV_DOFORK), 0, "MADV_DOFORK succeeds");
	is(in_child(child_reads_it, (void *)page), 0,
	   "the child's page has no index and RDPMC faults");
	user_page_unmap(page);
	page = user_page_map(fd);
	ok(read_user_page(page).index, "a new mapping has an index");
	user_page_unmap(page);
	close(fd);
	ok(rdpmc_faults(0), "RDPMC faults after unmap");
}

/*
 * Many processes at once, so that one of them reuses the memory of a freed mm_struct.
 *
 * Return: how many of them map the event without permission to read the counter
 */
static int without_right(int fd, int times)
{
	int answers[2], good = 0;
	pid_t pids[times];
	char answer;

	if (pipe(answers))
		bail_out("no pipe");
	for (int i = 0; i < times; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		answer = !user_page_map(fd)->cap_user_rdpmc && rdpmc_faults(0);
		if (write(answers[1], &answer, 1) == 1)
			pause();
		_exit(1);
	}
	for (int i = 0; i < times; i++)
		good += read(answers[0], &answer, 1) == 1 && answer;
	for (int i = 0; i < times; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(answers[0]);
	close(answers[1]);
	return good;
}

struct handed {
	int fd;
	int ready;
};

/* maps an event of its own, hands it to its parent, and ends */
static int child_maps_and_ends(void *data)
{
	const struct handed *handed = data;
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	char byte;

	dup2(fd, handed->fd);
	user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	if (rdpmc_faults(0) || write(handed->ready, &fd, 1) != 1)
		return 1;
	return read(handed->ready, &byte, 1) != 1;
}

/* the kernel reuses the mm_struct of the last process for the next one */
static void after_the_end(void)
{
	int pair[2], times = 40, pidfd, fd;
	struct handed handed = { .fd = 100 };
	volatile struct perf_event_mmap_page *page;
	pid_t pid;
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	handed.ready = pair[1];
	pid = fork();
	if (!pid)
		_exit(child_maps_and_ends(&handed));
	if (read(pair[0], &byte, 1) != 1)
		bail_out("the child cannot map its event");
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	fd = syscall(SYS_pidfd_getfd, pidfd, handed.fd, 0);
	page = user_page_map(fd);
	if (write(pair[0], &byte, 1) != 1)
		bail_out("the child is gone");
	waitpid(pid, NULL, 0);
	is(without_right(fd, times), times,
	   "other processes that map a dead process's event may not use RDPMC");
	user_page_unmap(page);
	close(fd);
	close(pidfd);
	close(pair[0]);
	close(pair[1]);
}

/* perf grants RDPMC to a process that forks: its event is gone, the child keeps the grant */
static void leftover_of_perf(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int pair[2], fd = perf_open(&attr, 0, -1), ours;
	volatile struct perf_event_mmap_page *page;
	char answer = 0;
	pid_t pid;

	if (fd < 0) {
		skip(2, "the kernel has no PMU");
		return;
	}
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	page = user_page_map(fd);
	pid = fork();
	if (!pid) {
		close(fd);
		while (read(pair[1], &answer, 1) == 1) {
			answer = rdpmc_faults(0);
			if (write(pair[1], &answer, 1) != 1)
				break;
		}
		_exit(0);
	}
	user_page_unmap(page);
	close(fd);
	/* the module looks for such children once a second at most */
	sleep_ms(1100);
	if (write(pair[0], "", 1) != 1 || read(pair[0], &answer, 1) != 1)
		bail_out("no child");
	diag("without an event of pmuring, the child's RDPMC %s", answer ? "faults" : "works");
	ours = open_self(&attr);
	if (write(pair[0], "", 1) != 1 || read(pair[0], &answer, 1) != 1)
		bail_out("no child");
	is(answer, 1, "RDPMC faults in a child that perf's grant was copied to");
	kill(pid, SIGKILL);
	is(waitpid(pid, NULL, 0), pid, "the child is there until its end");
	close(ours);
	close(pair[0]);
	close(pair[1]);
}

#define POLICY	"/sys/bus/event_source/devices/cpu/rdpmc"

static void set_policy(const char *value)
{
	if (!file_write(POLICY, value))
		bail_out("cannot write " POLICY);
}

static void forbid(uint64_t argument, void *data)
{
	(void)data;
	set_policy(argument ? "1" : "0");
}

/* root can forbid RDPMC for the whole machine, or allow it for all processes */
static void policy(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	struct worker root;
	int fd;

	if (file_number(POLICY) != 1) {
		skip(9, "the kernel has no PMU");
		return;
	}
	worker_start(&root, forbid, NULL);
	set_policy("0");
	fd = open_self(&attr);
	page = user_page_map(fd);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	is(page->cap_user_rdpmc, 0, "rdpmc=0: cap_user_rdpmc is 0");
	ok(read_user_page(page).count <= read_value(fd), "the page's count is not ahead of read()");
	ok(rdpmc_faults(0), "rdpmc=0: RDPMC faults");
	user_page_unmap(page);
	set_policy("1");
	page = user_page_map(fd);
	ok(read_user_page(page).index, "rdpmc=1: the page has an index");
	worker_run(&root, 0);
	sleep_ms(20);
	is(page->cap_user_rdpmc, 0, "rdpmc=0 while mapped: cap_user_rdpmc is 0");
	ok(read_user_page(page).count <= read_value(fd), "the page's count is not ahead of read()");
	worker_run(&root, 1);
	user_page_unmap(page);
	ok(rdpmc_faults(0), "rdpmc=1, unmapped: RDPMC faults");

	set_policy("2");
	ok(!rdpmc_faults(0), "rdpmc=2: RDPMC works without an event");
	page = user_page_map(fd);
	user_page_unmap(page);
	ok(!rdpmc_faults(0), "rdpmc=2: RDPMC works after map and unmap");
	set_policy("1");
	close(fd);
	worker_end(&root);
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
 * Return: number of other counters that hold a count. Linux leaves a small number in
 * a counter when it tests the PMU.
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
	   "earlier counts of another task are not in the counters");
	worker_run(&w, 1);
	is(foreign(read_user_page(page).index), 0,
	   "later counts of another task are not in the counters");
	ok(read_value(fds[0]) > 2 * FOREIGN, "the other task did count");
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
	plan(10 + 5 + 4 + 1 + 2 + 9 + 3 + 2);
	cpu_pin(0);
	rights();
	seen_by_two();
	inherited();
	after_the_end();
	leftover_of_perf();
	policy();
	others_stay_hidden();
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
