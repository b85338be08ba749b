// SPDX-License-Identifier: GPL-2.0
/*
 * Software events: the supported events, the counts of context-switches and
 * cpu-migrations, and hooks that exist only while an event needs them.
 * cpu-clock and task-clock: clock_test.c; page faults: fault_test.c.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "software.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define NAPS		50
#define MOVES		100

static void gives_errno(const struct perf_event_attr *attr, int want, const char *what)
{
	int fd = door_open_event(attr, 0, -1, -1, 0);

	gives(fd, want, "%s", what);
	if (fd >= 0)
		close(fd);
}

static void what_exists(void)
{
	struct perf_event_attr attr = software(0);

	for (uint64_t config = 0; config <= PERF_COUNT_SW_DUMMY; config++) {
		attr.config = config;
		gives_errno(&attr, 0, "a software event that exists");
	}
	attr.config = PERF_COUNT_SW_MAX;
	gives_errno(&attr, ENOENT, "a software event that does not exist");
	attr.config = UINT64_MAX;
	gives_errno(&attr, ENOENT, "config -1");
	attr.config = 1ULL << 32;
	gives_errno(&attr, ENOENT, "config 2^32, with a valid low half");
	attr = software(PERF_COUNT_SW_DUMMY);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	gives_errno(&attr, EOPNOTSUPP, "branch stacks of a software event");
	attr = software(PERF_COUNT_SW_CPU_CLOCK);
	attr.precise_ip = 2;
	gives_errno(&attr, 0, "precise_ip, which some clients set on clocks");
}

static void what_never_happens(void)
{
	static const uint64_t configs[] = {
		PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS,
		PERF_COUNT_SW_DUMMY,
	};

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct perf_event_attr attr = software(configs[i]);
		int fd = open_self(&attr);

		work_counted(fd, 1000);
		is(read_value(fd), 0, "event %ju counts nothing", (uintmax_t)configs[i]);
		close(fd);
	}
}

static uint64_t status_number(pid_t pid, const char *field)
{
	char path[32], text[4096];
	const char *found;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!whole_file(path, text, sizeof(text)))
		bail_out("no status of %d", pid);
	found = strstr(text, field);
	if (!found)
		bail_out("no %s", field);
	return strtoull(found + strlen(field), NULL, 10);
}

static uint64_t switches_of(pid_t pid)
{
	return status_number(pid, "\nvoluntary_ctxt_switches:") +
	       status_number(pid, "nonvoluntary_ctxt_switches:");
}

static void nap(uint64_t times, void *data)
{
	(void)data;
	while (times--)
		usleep(1000);
}

/* A task shows as sleeping a moment before it is switched away. */
static void run_to_the_end(const struct worker *worker, uint64_t argument)
{
	worker_run(worker, argument);
	sleep_ms(2);
}

/* The kernel's own count of a task's switches has the right number. */
static void switches_of_a_task(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct worker worker;
	struct both both;
	uint64_t before;
	int user;

	worker_start(&worker, nap, NULL);
	run_to_the_end(&worker, 1);
	attr.disabled = 0;
	both = both_open(&attr, worker.pid, -1);
	attr.exclude_kernel = 1;
	user = open_event(&attr, worker.pid, -1);
	before = switches_of(worker.pid);
	run_to_the_end(&worker, NAPS);
	both_are(&both, switches_of(worker.pid) - before, "context switches of a task");
	between(read_value(both.ours), NAPS + 1, 10 * NAPS,
		"each sleep has at least one context switch");
	is(read_value(user), 0, "context switches happen in kernel mode");
	close(user);
	both_close(&both);
	worker_end(&worker);
}

static void switches_of_a_cpu(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct both both;
	uint64_t before, own;

	cpu_pin(0);
	both = both_open(&attr, -1, 0);
	switch_event(both.perf, PERF_EVENT_IOC_ENABLE);
	switch_event(both.ours, PERF_EVENT_IOC_ENABLE);
	before = switches_of(getpid());
	nap(NAPS, NULL);
	own = switches_of(getpid()) - before;
	switch_event(both.ours, PERF_EVENT_IOC_DISABLE);
	switch_event(both.perf, PERF_EVENT_IOC_DISABLE);
	/* each sleep is two switches of the CPU: to another task and back */
	between(read_value(both.ours), 2 * own, read_value(both.perf),
		"context switches of a CPU are between its tasks' and perf's");
	between(read_value(both.perf) - read_value(both.ours), 0, 8,
		"context switches of a CPU match perf, which was enabled longer");
	both_close(&both);
}

struct switch_samples {
	pid_t tid;
	uint64_t good;
};

/* ip, tid, period */
static void check_switch(const struct record *rec, void *data)
{
	struct switch_samples *samples = data;

	samples->good += rec->header.type == PERF_RECORD_SAMPLE &&
			 (rec->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			 PERF_RECORD_MISC_KERNEL &&
			 rec->field[0] >> 63 && rec->field[1] >> 32 == (uint64_t)samples->tid &&
			 rec->field[2] == 1;
}

static void samples_of_switches(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct switch_samples samples = { 0 };
	struct worker worker;
	struct tally tally;
	struct ring ring;
	int fd;

	attr.disabled = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD;
	worker_start(&worker, nap, NULL);
	run_to_the_end(&worker, 1);
	fd = open_event(&attr, worker.pid, -1);
	map_ring(&ring, fd, 8);
	run_to_the_end(&worker, NAPS);
	samples.tid = worker.pid;
	tally = drain(&ring, check_switch, &samples);
	is(tally.samples, read_value(fd), "a sample for each context switch");
	is(samples.good, tally.samples, "each sample has the task switched out, in kernel mode");
	ring_unmap(&ring);
	close(fd);
	worker_end(&worker);
}

static void move(uint64_t times, void *data)
{
	(void)data;
	while (times--)
		cpu_pin(times & 1);
}

static void migrations_of_a_task(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_MIGRATIONS);
	struct worker worker;
	struct both both;
	int user;

	worker_start(&worker, move, NULL);
	run_to_the_end(&worker, 2);
	attr.disabled = 0;
	both = both_open(&attr, worker.pid, -1);
	attr.exclude_kernel = 1;
	user = open_event(&attr, worker.pid, -1);
	run_to_the_end(&worker, MOVES);
	/* the task sleeps on CPU 0, and the first move is to CPU 1 */
	both_are(&both, MOVES, "migrations of a task");
	run_to_the_end(&worker, 1);
	both_are(&both, MOVES, "a move to the current CPU is not a migration");
	is(read_value(user), 0, "migrations happen in kernel mode");
	close(user);
	both_close(&both);
	worker_end(&worker);
}

/* Each CPU counts arriving tasks, including tasks outside the test. */
static void migrations_to_a_cpu(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_MIGRATIONS);
	struct worker worker;
	struct both cpus[2];

	worker_start(&worker, move, NULL);
	run_to_the_end(&worker, 2);
	for (int cpu = 0; cpu < 2; cpu++)
		cpus[cpu] = both_open(&attr, -1, cpu);
	cpu_pin(0);
	for (int cpu = 0; cpu < 2; cpu++)
		both_switch(&cpus[cpu], PERF_EVENT_IOC_ENABLE);
	run_to_the_end(&worker, MOVES);
	for (int cpu = 0; cpu < 2; cpu++)
		both_switch(&cpus[cpu], PERF_EVENT_IOC_DISABLE);
	for (int cpu = 0; cpu < 2; cpu++) {
		uint64_t ours = read_value(cpus[cpu].ours);

		between(ours, MOVES / 2, 2 * MOVES,
			"migrations to CPU %d are about half of the moves", cpu);
		between(ours + 2, read_value(cpus[cpu].perf), read_value(cpus[cpu].perf) + 4,
			"migrations to CPU %d match perf", cpu);
		both_close(&cpus[cpu]);
	}
	worker_end(&worker);
}

static bool hooked(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	bool before = hooks_remain();
	int fd = open_event(attr, pid, cpu);
	bool on = module_info().task_hooks;

	close(fd);
	return on && !before;
}

static void scheduler_hooks(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);

	ok(!hooks_remain(), "no hook is installed without an event");
	ok(hooked(&attr, 0, -1), "a task event needs the scheduler's hooks");
	ok(!hooked(&attr, -1, 0), "a CPU clock needs no hook");
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	ok(!hooked(&attr, -1, 0), "page faults of a CPU need no scheduler hook");
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	ok(hooked(&attr, -1, 0), "context switches of a CPU need the scheduler's hooks");
	attr.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	ok(hooked(&attr, -1, 0), "migrations of a CPU need the scheduler's hooks");
	ok(!hooks_remain(), "no hook is left after the last event");
}

/* Return: whether there is a probe of this function, -1 without a list of them */
static int probed(const char *function)
{
	static char list[16384];

	if (!whole_file("/sys/kernel/debug/kprobes/list", list, sizeof(list)))
		return -1;
	return !!strstr(list, function);
}

/* It may stay for a second after the last use. */
static int probe_remains(const char *function)
{
	for (int i = 0; i < 150 && probed(function) == 1; i++)
		usleep(20000);
	return probed(function);
}

static void fault_hooks(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	int first, second;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	if (probe_remains("handle_mm_fault") < 0) {
		skip(3, "no list of kprobes");
		return;
	}
	is(probed("handle_mm_fault"), 0, "no probe is installed without an event");
	first = open_self(&attr);
	second = open_self(&attr);
	close(first);
	is(probed("handle_mm_fault"), 1, "minor faults install a probe");
	close(second);
	is(probe_remains("handle_mm_fault"), 0, "the probe is removed with the last event");
}

int main(void)
{
	plan(45);
	what_exists();
	what_never_happens();
	switches_of_a_task();
	switches_of_a_cpu();
	samples_of_switches();
	if (cpu_possible() > 1) {
		migrations_of_a_task();
		migrations_to_a_cpu();
	} else {
		skip(9, "one CPU");
	}
	scheduler_hooks();
	fault_hooks();
	return done();
}
