// SPDX-License-Identifier: GPL-2.0
/*
 * Multiplexing: events that do not fit rotate and get fair shares of the time, and
 * scaled counts are right.
 *
 * Fair means max-min: a share can grow only if an equal or smaller share shrinks. Each
 * flexible event or group has one share.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

/* on a PMU of eight general counters; these exist on such only */
#define COUNTERS	8
#define BRANCHES	0x00c4
#define INSTRUCTIONS	0x10000c0
#define MANY		24
/* per mille of the time */
#define WHOLE		1000
#define TOLERATED	20
#define SECOND		1000000000ULL

#define TIMES		(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_flexible(uint64_t config, pid_t pid, int cpu, int leader)
{
	struct perf_event_attr attr = raw(config);
	int fd;

	attr.read_format = TIMES;
	attr.disabled = leader < 0;
	fd = door_open_event(&attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		bail_out("a flexible event does not open");
	return fd;
}

/* Opens a group for each size, all of them off, the leaders first in @fds. */
static int open_groups(int *fds, const int *sizes, int groups, pid_t pid, int cpu)
{
	int next = groups;

	for (int i = 0; i < groups; i++) {
		fds[i] = open_flexible(i % 2 ? BRANCHES : INSTRUCTIONS, pid, cpu, -1);
		for (int n = 1; n < sizes[i]; n++)
			fds[next++] = open_flexible(BRANCHES, pid, cpu, fds[i]);
	}
	return next;
}

static void open_singles(int *fds, int number, pid_t pid, int cpu)
{
	for (int i = 0; i < number; i++)
		fds[i] = open_flexible(i % 2 ? BRANCHES : INSTRUCTIONS, pid, cpu, -1);
}

static void switch_all(const int *fds, int number, unsigned long request)
{
	for (int i = 0; i < number; i++)
		switch_event(fds[i], request);
}

static void close_all(const int *fds, int number)
{
	for (int i = 0; i < number; i++)
		close(fds[i]);
}

static uint64_t share_of(int fd)
{
	struct count count = read_count(fd);

	return count.enabled ? count.running * WHOLE / count.enabled : 0;
}

/* Check that each group has its expected share. */
static void shares_are(const int *fds, int number, const uint64_t *want, const char *what)
{
	uint64_t worst = 0;

	for (int i = 0; i < number; i++) {
		uint64_t share = share_of(fds[i]);
		uint64_t off = share > want[i] ? share - want[i] : want[i] - share;

		if (off > TOLERATED)
			diag("number %d has %d per mille, should have %d", i, (int)share,
			     (int)want[i]);
		if (off > worst)
			worst = off;
	}
	between(worst, 0, TOLERATED, "%s: the shares are fair", what);
}

static void shares_are_all(const int *fds, int number, uint64_t want, const char *what)
{
	uint64_t wants[MANY];

	for (int i = 0; i < number; i++)
		wants[i] = want;
	shares_are(fds, number, wants, what);
}

/* Time passes on an idle CPU as on another, and costs the test less. */
static void singles_of_a_cpu(int number)
{
	int fds[MANY];

	open_singles(fds, number, -1, 0);
	switch_all(fds, number, PERF_EVENT_IOC_ENABLE);
	sleep_ms(1000);
	switch_all(fds, number, PERF_EVENT_IOC_DISABLE);
	shares_are_all(fds, number, WHOLE * COUNTERS / number, "single events of a CPU");
	close_all(fds, number);
}

struct sizes {
	int groups;
	int sizes[8];
	/* fair shares, in per mille */
	uint64_t shares[8];
};

static const struct sizes all_sizes[] = {
	/* by turns the 4 with a 3, both 3 with the 2, and the 4 with the 2 */
	{ 4, { 4, 3, 3, 2 }, { 600, 600, 600, 600 } },
	/* the 7 alone; otherwise two of the three others */
	{ 4, { 2, 3, 5, 7 }, { 400, 400, 400, 400 } },
	/* the smallest fits beside either */
	{ 3, { 6, 6, 2 }, { 500, 500, 1000 } },
	{ 4, { 8, 1, 1, 1 }, { 500, 500, 500, 500 } },
	/* the 2 and the 1 beside the 4; beside the 7, one of the 1s */
	{ 5, { 7, 4, 2, 1, 1 }, { 500, 500, 500, 750, 750 } },
	/* 11 fit if the 6 has two more beside it, and the others are packed */
	{ 6, { 6, 3, 3, 2, 2, 1 }, { 454, 454, 454, 454, 454, 454 } },
	/* five that count two at a time, and alone with them the small ones */
	{ 7, { 3, 3, 3, 3, 3, 2, 2 }, { 400, 400, 400, 400, 400, 500, 500 } },
};

static void groups_of_unequal_sizes(const struct sizes *sizes)
{
	char what[64];
	int fds[MANY], all, length = 0;

	for (int i = 0; i < sizes->groups; i++)
		length += snprintf(what + length, sizeof(what) - length, "%s%d", i ? " + " : "",
				   sizes->sizes[i]);
	all = open_groups(fds, sizes->sizes, sizes->groups, -1, 0);
	switch_all(fds, sizes->groups, PERF_EVENT_IOC_ENABLE);
	sleep_ms(2000);
	switch_all(fds, sizes->groups, PERF_EVENT_IOC_DISABLE);
	shares_are(fds, sizes->groups, sizes->shares, what);
	close_all(fds, all);
}

/*
 * An old event gets the same share as newcomers of its size. It has not waited before,
 * so it misses about four turns once; a longer test makes this error smaller.
 */
static void newcomers(void)
{
	static const int old_sizes[] = { 6, 6, 2 };
	int fds[MANY], more[4];

	open_groups(fds, old_sizes, 3, -1, 0);
	switch_all(fds, 3, PERF_EVENT_IOC_ENABLE);
	sleep_ms(2000);
	/* so far the 2 has never waited, and the 6s have waited long */
	open_singles(more, 2, -1, 0);
	more[2] = open_flexible(BRANCHES, -1, 0, more[0]);
	more[3] = open_flexible(BRANCHES, -1, 0, more[1]);
	switch_all(more, 2, PERF_EVENT_IOC_ENABLE);

	struct count before = read_count(fds[2]);

	sleep_ms(4000);
	switch_all(more, 2, PERF_EVENT_IOC_DISABLE);

	struct count after = read_count(fds[2]);

	/* three sevenths each: a 6 and a 2, the other 6 and a 2, and once all three 2s */
	shares_are_all(more, 2, WHOLE * 3 / 7, "two groups that start later");
	between((after.running - before.running) * WHOLE / (after.enabled - before.enabled),
		WHOLE * 3 / 7 - TOLERATED, WHOLE * 3 / 7 + TOLERATED,
		"an older group of the same size has the same share");
	close_all(fds, 14);
	close_all(more, 4);
}

static void scaled(int fd, uint64_t truth, const char *what)
{
	struct count count = read_count(fd);
	uint64_t value = (double)count.value * count.enabled / count.running;

	between(value, truth * 97 / 100, truth * 103 / 100, "%s: the scaled count is right", what);
}

static void steady_work(uint64_t rounds, void *data)
{
	(void)data;
	cpu_pin(0);
	work(rounds);
}

#define HALF_A_SECOND	(SECOND / 2 / WORK_ROUND)

static void singles_of_a_task(int number)
{
	struct worker worker;
	int fds[MANY];

	worker_start(&worker, steady_work, NULL);
	open_singles(fds, number, worker.pid, -1);
	switch_all(fds, number, PERF_EVENT_IOC_ENABLE);
	worker_run(&worker, 2 * HALF_A_SECOND);
	shares_are_all(fds, number, WHOLE * COUNTERS / number, "single events of a task");
	for (int i = 0; i < 2; i++)
		scaled(fds[number - 2 + i],
		       2 * HALF_A_SECOND * (i ? 1 : WORK_ROUND), "single events of a task");
	worker_end(&worker);
	close_all(fds, number);
}

/* Works and sleeps, each for less than one rotation interval. */
static void short_slices(uint64_t slices, void *data)
{
	(void)data;
	cpu_pin(0);
	while (slices--) {
		work(300000 / WORK_ROUND);
		usleep(170);
	}
}

static void slices_of_a_task(int number)
{
	struct worker worker;
	int fds[MANY];

	worker_start(&worker, short_slices, NULL);
	open_singles(fds, number, worker.pid, -1);
	switch_all(fds, number, PERF_EVENT_IOC_ENABLE);
	worker_run(&worker, 2000);
	shares_are_all(fds, number, WHOLE * COUNTERS / number,
		       "events of a task that often sleeps");
	worker_end(&worker);
	close_all(fds, number);
}

static void cpu_and_task(worker_fn fn, uint64_t argument, int of_cpu, int of_task, const char *what)
{
	uint64_t want = WHOLE * COUNTERS / (of_cpu + of_task), off_task, wants[MANY];
	struct worker worker;
	struct count task;
	int fds[MANY];

	worker_start(&worker, fn, NULL);
	open_singles(fds, of_task, worker.pid, -1);
	open_singles(fds + of_task, of_cpu, -1, 0);
	switch_all(fds, of_task + of_cpu, PERF_EVENT_IOC_ENABLE);
	worker_run(&worker, argument);
	switch_all(fds + of_task, of_cpu, PERF_EVENT_IOC_DISABLE);
	shares_are_all(fds, of_task, want, what);

	/* The CPU events have all counters while the task is off the CPU. */
	task = read_count(fds[0]);
	off_task = WHOLE - task.enabled * WHOLE / read_count(fds[of_task]).enabled;
	for (int i = 0; i < of_cpu; i++)
		wants[i] = (want * (WHOLE - off_task) +
			    WHOLE * (of_cpu > COUNTERS ? COUNTERS : of_cpu) / of_cpu * off_task) /
			   WHOLE;
	shares_are(fds + of_task, of_cpu, wants, "the CPU events beside a task's");
	worker_end(&worker);
	close_all(fds, of_task + of_cpu);
}

static bool timer_is_there(void)
{
	static char text[1 << 18];

	if (!whole_file("/proc/timer_list", text, sizeof(text)))
		bail_out("no /proc/timer_list");
	return strstr(text, "end_turn");
}

static void timer_comes_and_goes(void)
{
	int fds[COUNTERS + 1];

	open_singles(fds, COUNTERS + 1, -1, 0);
	switch_all(fds, COUNTERS, PERF_EVENT_IOC_ENABLE);
	sleep_ms(10);
	ok(!timer_is_there(), "no rotation timer runs while all events count");
	switch_event(fds[COUNTERS], PERF_EVENT_IOC_ENABLE);
	ok(timer_is_there(), "the rotation timer starts when an event waits");
	sleep_ms(30);
	ok(timer_is_there(), "the rotation timer keeps running while an event waits");
	switch_event(fds[0], PERF_EVENT_IOC_DISABLE);
	sleep_ms(30);
	ok(!timer_is_there(), "the rotation timer stops when no event waits");
	close_all(fds, COUNTERS + 1);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	if (module_info().gp_counters != COUNTERS)
		return skip_all("the expected shares need eight counters");
	plan(3 + ARRAY_SIZE(all_sizes) + 2 + 3 + 1 + 3 * 2 + 4);
	cpu_pin(cpu_possible() > 1 ? 1 : 0);
	singles_of_a_cpu(12);
	singles_of_a_cpu(16);
	singles_of_a_cpu(20);
	for (size_t i = 0; i < ARRAY_SIZE(all_sizes); i++)
		groups_of_unequal_sizes(&all_sizes[i]);
	newcomers();
	singles_of_a_task(12);
	slices_of_a_task(12);
	cpu_and_task(steady_work, HALF_A_SECOND, 6, 6, "6 of a CPU, 6 of a task");
	cpu_and_task(short_slices, 2000, 8, 4, "8 of a CPU, 4 of a task that often sleeps");
	cpu_and_task(short_slices, 2000, 12, 2, "12 of a CPU, 2 of a task that often sleeps");
	timer_comes_and_goes();
	return done();
}
