// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend as far as the kernel's pm_test goes: everything but the firmware stops and
 * starts again. Events count on as before.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		100000
#define LENGTH		(1ULL * ROUNDS * WORK_ROUND)
#define PERIOD		50021
/* long enough to be frozen in the middle */
#define LONG_ROUNDS	(50 * ROUNDS)

/* a system call that is begun again once the task thaws */
#define RESTART		1

#define PM_TEST		"/sys/power/pm_test"
#define STATE		"/sys/power/state"
#define DELAY		"/sys/module/suspend/parameters/pm_test_delay"

static const char *const levels[] = { "freezer", "devices", "platform", "processors", "core" };

static int last_cpu;

static void work_there(uint64_t rounds, void *data)
{
	cpu_pin(*(int *)data);
	work(rounds);
}

static void work_anywhere(uint64_t rounds, void *data)
{
	(void)data;
	work(rounds);
}

static uint64_t counted(int fd, const struct worker *w, uint64_t rounds)
{
	uint64_t before = read_value(fd);

	worker_run(w, rounds);
	return read_value(fd) - before;
}

static bool suspend_to(const char *level)
{
	return file_write(PM_TEST, level) && file_write(STATE, "mem");
}

static void task_event(const char *level)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t usual, longer, before;
	struct worker w;
	int fd;

	attr.disabled = 0;
	worker_start(&w, work_anywhere, NULL);
	fd = open_event(&attr, w.pid, -1);
	counted(fd, &w, ROUNDS);
	usual = counted(fd, &w, ROUNDS);
	ok(suspend_to(level), "%s: suspend and resume succeed", level);
	between(counted(fd, &w, ROUNDS), usual,
		usual + RESTART + machine_slack(LENGTH),
		"a task event counts as before the suspend");
	longer = usual + (LONG_ROUNDS - ROUNDS) * WORK_ROUND;
	before = read_value(fd);
	worker_order(&w, LONG_ROUNDS);
	suspend_to(level);
	worker_wait(&w);
	between(read_value(fd) - before, longer,
		longer + RESTART + machine_slack(longer),
		"a task suspended during its work is fully counted");
	close(fd);
	worker_end(&w);
}

static void cpu_event(const char *level)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_CPU);
	struct worker w;
	struct tally tally;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.disabled = 0;
	fd = open_event(&attr, -1, last_cpu);
	map_ring(&ring, fd, 64);
	worker_start(&w, work_there, &last_cpu);
	worker_run(&w, ROUNDS);
	suspend_to(level);
	value = read_value(fd);
	worker_run(&w, ROUNDS);
	between(read_value(fd) - value, LENGTH, UINT64_MAX >> 1,
		"a CPU event counts after the resume");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	value = read_value(fd);
	tally = drain(&ring, NULL, NULL);
	is(tally.samples + tally.lost, value / PERIOD, "a CPU event has count / period samples");
	ring_unmap(&ring);
	close(fd);
	worker_end(&w);
}

static bool can_suspend(void)
{
	char text[128];

	return file_read(PM_TEST, text, sizeof(text)) && file_read(STATE, text, sizeof(text)) &&
	       strstr(text, "mem") && file_write(DELAY, "0");
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	if (!can_suspend())
		return skip_all("the kernel has no test of suspend");
	last_cpu = cpu_possible() - 1;
	cpu_pin(0);
	plan(ARRAY_SIZE(levels) * 5 + 3);
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		task_event(levels[i]);
		cpu_event(levels[i]);
	}
	file_write(PM_TEST, "none");
	is(module_info().events, 0, "no event is left");
	ok(perf_works(0) && perf_works(last_cpu),
	   "perf counts and samples correctly on the first and last CPU");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
