// SPDX-License-Identifier: GPL-2.0
/*
 * Counting: a program of known length has exactly that many instructions and
 * branches, in every counter and in all of them at once.
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		100000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define BRANCHES	(ROUNDS + WORK_TAIL_BRANCHES)

/* instructions between the first and the last of three events that start or stop */
#define STARTING	100

/* more than any PMU has counters */
#define MANY		64

static void counts(struct perf_event_attr attr, uint64_t want, const char *what)
{
	int fd = open_self(&attr);

	work_counted(fd, ROUNDS);
	between(read_value(fd), want, want + machine_slack(want), "%s: the count is exact", what);
	work_counted(fd, ROUNDS);
	between(read_value(fd), 2 * want, 2 * (want + machine_slack(want)),
		"%s: a second run adds to the count", what);
	close(fd);
}

static void single_events(void)
{
	counts(hardware(PERF_COUNT_HW_INSTRUCTIONS), LENGTH, "instructions:u");
	counts(raw(0x00c0), LENGTH, "r00c0:u");
	counts(hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS), BRANCHES, "branches:u");
	counts(raw(0x00c4), BRANCHES, "r00c4:u");
}

/* The PMU QEMU counts one cycle per instruction; elsewhere the count is unknown. */
static void cycles(void)
{
	if (!machine_is_exact()) {
		skip(4, "cycles are exact on the PMU QEMU only");
		return;
	}
	counts(hardware(PERF_COUNT_HW_CPU_CYCLES), LENGTH, "cycles:u");
	if (module_info().hardware_events & 1 << PERF_COUNT_HW_REF_CPU_CYCLES)
		counts(hardware(PERF_COUNT_HW_REF_CPU_CYCLES), LENGTH, "ref-cycles:u");
	else
		skip(2, "this PMU has no reference cycles");
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

static uint64_t switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static int open_member(const struct perf_event_attr *attr, int leader)
{
	int fd = door_open_event(attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		bail_out("a group of three does not open");
	return fd;
}

/*
 * Interrupts, and what they lead to, are in the kernel's part, which so differs from
 * run to run: the modes are counted at the same time.
 */
static void kernel_mode(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t user, kernel, both, starts = 1 - switches();
	int fds[3];

	attr.exclude_kernel = 0;
	fds[0] = open_self(&attr);
	attr.disabled = 0;
	attr.exclude_user = 1;
	fds[1] = open_member(&attr, fds[0]);
	attr.exclude_user = 0;
	attr.exclude_kernel = 1;
	fds[2] = open_member(&attr, fds[0]);
	work_counted(fds[0], ROUNDS);
	both = read_value(fds[0]);
	kernel = read_value(fds[1]);
	user = read_value(fds[2]);
	starts += switches();
	close_all(fds, ARRAY_SIZE(fds));
	between(user, LENGTH, LENGTH + machine_slack(LENGTH), "in user mode, beside others: exact");
	between(kernel, 1, UINT64_MAX >> 1, "  in kernel mode: the system calls and interrupts");
	if (machine_is_checked())
		skip(1, "a debug kernel checks something between the starts of the three");
	else
		between(both + starts * STARTING, user + kernel,
			user + kernel + 2 * starts * STARTING, "  in both: the sum");

	attr.disabled = 1;
	attr.exclude_user = 1;
	fds[0] = open_self(&attr);
	work_counted(fds[0], ROUNDS);
	is(read_value(fds[0]), 0, "an event with both modes excluded counts nothing");
	close(fds[0]);
}

/* A disabled event counts nothing and keeps its count. */
static void disabled(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);

	work(ROUNDS);
	is(read_value(fd), 0, "an event opened with disabled counts nothing");
	work_counted(fd, ROUNDS);
	work(ROUNDS);
	between(read_value(fd), LENGTH, LENGTH + machine_slack(LENGTH),
		"the count stays the same after DISABLE");
	close(fd);

	attr.disabled = 0;
	fd = open_self(&attr);
	work(ROUNDS);
	between(read_value(fd), ROUNDS * WORK_ROUND, UINT64_MAX >> 1,
		"an event opened without disabled counts at once");
	close(fd);
}

/* counters[] are read in one pass: three passes tell the work from the overhead */
static void read_all(const int *fds, int n, struct count *counts)
{
	for (int i = 0; i < n; i++)
		counts[i] = read_count(fds[i]);
}

static int open_many(int *fds, int n, int fixed)
{
	static const uint64_t fixed_events[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
		PERF_COUNT_HW_REF_CPU_CYCLES,
	};
	struct perf_event_attr attr;

	for (int i = 0; i < n; i++) {
		attr = i < fixed ? hardware(fixed_events[i]) : raw(0x00c4);
		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				   PERF_FORMAT_TOTAL_TIME_RUNNING;
		fds[i] = open_self(&attr);
	}
	return n;
}

static void enable_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
}

/* Every counter of the PMU counts at the same time, and all are right. */
static void all_counters(void)
{
	struct pmuring_info info = module_info();
	/* the three that exist on all machines with fixed counters */
	int fixed = (info.fixed_mask & 7) == 7 ? 3 : 0;
	int n = fixed + info.gp_counters, fds[MANY], wrong = 0, shared = 0;
	struct count counts[3][MANY];

	open_many(fds, n, fixed);
	enable_all(fds, n);
	for (int pass = 0; pass < 3; pass++) {
		work(ROUNDS * (pass + 1));
		read_all(fds, n, counts[pass]);
	}
	close_all(fds, n);

	for (int i = 0; i < n; i++) {
		/* the cost of reading n events is the same in passes 1 and 2 */
		uint64_t more = (counts[2][i].value - counts[1][i].value) -
				(counts[1][i].value - counts[0][i].value);
		uint64_t want = ROUNDS * (i < fixed ? WORK_ROUND : 1);

		/* cycles on real hardware are not predictable */
		if (!machine_is_exact() && (i == 1 || i == 2) && i < fixed)
			continue;
		if (more + machine_slack(want) < want || more > want + machine_slack(want)) {
			diag("event %d of %d: got %llu, want %llu", i, n,
			     (unsigned long long)more, (unsigned long long)want);
			wrong++;
		}
		shared += counts[2][i].running != counts[2][i].enabled;
	}
	is(wrong, 0, "%d fixed and %u general counters are exact at the same time", fixed,
	   info.gp_counters);
	is(shared, 0, "no event shares its counter");
}

/* An event without a counter shows it in its running time, and its count stays 0. */
static void too_many(void)
{
	struct pmuring_info info = module_info();
	int n = info.gp_counters + info.fixed_counters + 4, fds[MANY];
	struct count counts[MANY];
	int wrong = 0, starved = 0;

	open_many(fds, n, 0);
	enable_all(fds, n);
	work(ROUNDS);
	read_all(fds, n, counts);
	close_all(fds, n);
	for (int i = 0; i < n; i++) {
		const struct count *c = &counts[i];

		starved += c->running < c->enabled;
		if (c->running > c->enabled || !c->enabled ||
		    (!c->running && c->value) ||
		    (c->running == c->enabled && c->value < ROUNDS)) {
			diag("event %d: value %llu, enabled %llu, running %llu", i,
			     (unsigned long long)c->value, (unsigned long long)c->enabled,
			     (unsigned long long)c->running);
			wrong++;
		}
	}
	between(starved, n - info.gp_counters, n, "%d general events on %u counters: some wait",
		n, info.gp_counters);
	is(wrong, 0, "each count agrees with the running time");
}

/* Counts beyond the width of a counter, or of its legacy writes, are kept. */
static void long_run(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	/* more than 2^31, the reach of a legacy counter write */
	uint64_t rounds = (1ULL << 31) / WORK_ROUND + ROUNDS;
	uint64_t want = rounds * WORK_ROUND + WORK_TAIL;
	int fd = open_self(&attr);

	work_counted(fd, rounds);
	between(read_value(fd), want, want + machine_slack(want), "a count above 2^31 is exact");
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(8 + 4 + 4 + 3 + 2 + 2 + 1);
	single_events();
	cycles();
	kernel_mode();
	disabled();
	all_counters();
	too_many();
	long_run();
	return done();
}
