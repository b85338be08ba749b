// SPDX-License-Identifier: GPL-2.0
/*
 * Who may read counters: only who has an event mapped, as long as it is, and
 * nothing of others.
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

/* a child that gets the mapping, but not the right, must be told so by the page */
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
	is(madvise((void *)page, PAGE, MADV_DOFORK), 0, "a mapping that children inherit");
	is(in_child(child_reads_it, (void *)page), 0, "  the child may not read: no index for it");
	user_page_unmap(page);
	page = user_page_map(fd);
	ok(read_user_page(page).index, "  mapped anew: an index");
	user_page_unmap(page);
	close(fd);
	ok(rdpmc_faults(0), "  unmapped: RDPMC faults");
}

/*
 * Many that live at once: one of them gets the memory that held another's address space.
 *
 * Return: how many of them that map the event may not read its counter
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

/* the kernel gives the next process the memory that held the last one's address space */
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
	   "its process has ended, others map it: no right, whatever their address");
	user_page_unmap(page);
	close(fd);
	close(pidfd);
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

/* root can forbid it for the whole machine, or allow it to everybody */
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
	is(page->cap_user_rdpmc, 0, "rdpmc=0: the page shows no counter");
	ok(read_user_page(page).count <= read_value(fd), "  the count is an older one");
	ok(rdpmc_faults(0), "  RDPMC faults");
	user_page_unmap(page);
	set_policy("1");
	page = user_page_map(fd);
	ok(read_user_page(page).index, "rdpmc=1: an index");
	worker_run(&root, 0);
	sleep_ms(20);
	is(page->cap_user_rdpmc, 0, "set to 0 while it is mapped: none any more");
	ok(read_user_page(page).count <= read_value(fd), "  the count is an older one");
	worker_run(&root, 1);
	user_page_unmap(page);
	ok(rdpmc_faults(0), "set to 1, unmapped: RDPMC faults");

	set_policy("2");
	ok(!rdpmc_faults(0), "rdpmc=2: RDPMC works everywhere");
	page = user_page_map(fd);
	user_page_unmap(page);
	ok(!rdpmc_faults(0), "  after an event was mapped and unmapped as well");
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
	plan(10 + 5 + 4 + 1 + 9 + 3 + 2);
	cpu_pin(0);
	rights();
	seen_by_two();
	inherited();
	after_the_end();
	policy();
	others_stay_hidden();
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel has nothing to say");
	return done();
}
