// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling priority: pinned events have a counter or fail. CPU events come before
 * task events, and pinned events before flexible ones. An exclusive group has the PMU
 * to itself.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		20000
#define MANY		48
/* exists on general counters only, as the one below */
#define BRANCHES	0x00c4
#define INSTRUCTIONS	0x10000c0
/* several rotations */
#define LONG		(30 * 1000000 / WORK_ROUND)

enum rank { FLEXIBLE, PINNED, EXCLUSIVE };

static int general;

static struct perf_event_attr ranked(struct perf_event_attr attr, enum rank rank)
{
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.pinned = rank == PINNED;
	attr.exclusive = rank == EXCLUSIVE;
	attr.disabled = 0;
	return attr;
}

static int open_ranked(enum rank rank, pid_t pid, int cpu)
{
	struct perf_event_attr attr = ranked(raw(BRANCHES), rank);

	return open_event(&attr, pid, cpu);
}

static void open_many(int *fds, int number, enum rank rank, pid_t pid, int cpu)
{
	for (int i = 0; i < number; i++)
		fds[i] = open_ranked(rank, pid, cpu);
}

static void close_many(const int *fds, int number)
{
	for (int i = 0; i < number; i++)
		close(fds[i]);
}

/* read() of a failed event returns 0, as at end of file. */
static bool has_failed(int fd)
{
	uint64_t words[3];

	return read(fd, words, sizeof(words)) == 0;
}

static int failed(const int *fds, int number)
{
	int some = 0;

	for (int i = 0; i < number; i++)
		some += has_failed(fds[i]);
	return some;
}

static void counts_always(int fd, const char *what)
{
	struct count count = read_count(fd);

	ok(count.enabled && count.running == count.enabled, "%s", what);
}

static void too_many_pinned(void)
{
	struct count before, after;
	int fds[MANY];

	open_many(fds, general, PINNED, 0, -1);
	is(failed(fds, general), 0, "no pinned event fails if each has a counter");
	fds[general] = open_ranked(PINNED, 0, -1);
	ok(has_failed(fds[general]), "one pinned event too many fails and reads 0 bytes");
	is(failed(fds, general), 0, "one pinned event too many does not make others fail");
	switch_event(fds[general], PERF_EVENT_IOC_ENABLE);
	ok(has_failed(fds[general]), "ENABLE without a free counter leaves the event failed");
	close(fds[0]);
	work(ROUNDS);
	ok(has_failed(fds[general]), "a free counter without ENABLE leaves the event failed");
	switch_event(fds[general], PERF_EVENT_IOC_ENABLE);
	ok(!has_failed(fds[general]), "ENABLE with a free counter clears the failure");
	before = read_count(fds[general]);
	work(ROUNDS);
	after = read_count(fds[general]);
	between(after.value - before.value, ROUNDS, ROUNDS + 1000,
		"an event counts after the failure is cleared");
	is(after.running - before.running, after.enabled - before.enabled,
	   "an event runs all the time after the failure is cleared");
	switch_event(fds[1], PERF_EVENT_IOC_DISABLE);
	ok(!has_failed(fds[1]), "a disabled pinned event has not failed");
	close_many(fds + 1, general);
}

static void pinned_comes_before_flexible(void)
{
	int flexible[MANY], fd;
	struct count count;

	open_many(flexible, 2 * general, FLEXIBLE, 0, -1);
	fd = open_ranked(PINNED, 0, -1);
	work(LONG);
	counts_always(fd, "a pinned event takes a counter at once, and keeps it");
	ok(read_count(fd).value >= LONG, "a pinned event misses nothing");
	close_many(flexible, 2 * general);

	open_many(flexible, general, FLEXIBLE, -1, 0);
	close(fd);
	fd = open_ranked(PINNED, 0, -1);
	work(LONG);
	counts_always(fd, "a pinned task event comes before flexible CPU events");
	count = read_count(flexible[0]);
	ok(count.running && count.running < count.enabled,
	   "a flexible CPU event waits for a pinned task event");
	close_many(flexible, general);
	close(fd);
}

static void cpu_comes_before_task(void)
{
	int fds[MANY], cpu;

	open_many(fds, general, PINNED, 0, -1);
	work(ROUNDS);
	cpu = open_ranked(PINNED, -1, 0);
	work(ROUNDS);
	counts_always(cpu, "a pinned CPU event takes a counter from a pinned task event");
	is(failed(fds, general), 1, "one pinned task event fails without its counter");
	close(cpu);
	for (int i = 0; i < general; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	is(failed(fds, general), 0, "ENABLE clears the failure after the CPU event is closed");
	close_many(fds, general);

	open_many(fds, general, PINNED, -1, 0);
	cpu = open_ranked(PINNED, 0, -1);
	ok(has_failed(cpu), "a pinned task event fails if CPU events hold all counters");
	is(failed(fds, general), 0, "a pinned task event does not disturb pinned CPU events");
	close(cpu);
	close_many(fds, general);
}

/* A pinned event fails only on its own CPU. */
static void pinned_elsewhere(void)
{
	int fds[MANY];

	if (cpu_possible() < 2) {
		skip(3, "one CPU");
		return;
	}
	open_many(fds, general + 1, PINNED, 0, 1);
	is(failed(fds, general + 1), 0, "pinned events on another CPU have not failed");
	cpu_pin(1);
	work(ROUNDS);
	cpu_pin(0);
	is(failed(fds, general + 1), 1, "one pinned event too many fails when the task runs there");
	ok(has_failed(fds[general]), "the last pinned event is the one that fails");
	close_many(fds, general + 1);
}

/* A group fails whole, and comes back whole. */
static void pinned_group(void)
{
	struct perf_event_attr attr = ranked(raw(BRANCHES), FLEXIBLE);
	int fds[MANY], leader, sibling;

	open_many(fds, general - 1, PINNED, 0, -1);
	leader = open_ranked(PINNED, 0, -1);
	sibling = door_open_event(&attr, 0, -1, leader, 0);
	if (sibling < 0)
		bail_out("no sibling");
	ok(has_failed(leader), "a pinned group without room fails");
	is(read_count(sibling).running, read_count(sibling).enabled,
	   "the sibling of a failed group has no waiting time");
	close(fds[0]);
	switch_event(leader, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	counts_always(leader, "ENABLE restores a failed pinned group");
	between(read_count(sibling).value, ROUNDS, ROUNDS + 1000,
		"the sibling of a restored group counts");
	close(sibling);
	close(leader);
	close_many(fds + 1, general - 2);
}

/* The running times add up to the enabled time, so the two never ran together. */
static void takes_turns(int one, int other, const char *what)
{
	uint64_t moment = now_ns();
	struct count a, b;

	switch_event(one, PERF_EVENT_IOC_DISABLE);
	switch_event(other, PERF_EVENT_IOC_DISABLE);
	moment = now_ns() - moment;
	a = read_count(one);
	b = read_count(other);
	ok(a.running && b.running, "%s: both count", what);
	between(a.running + b.running, b.enabled * 9 / 10,
		a.enabled > b.enabled ? a.enabled + moment : b.enabled + moment,
		"two that exclude each other do not run at the same time");
}

static void exclusive_shares_with_nobody(void)
{
	int exclusive = open_ranked(EXCLUSIVE, 0, -1), other = open_ranked(FLEXIBLE, 0, -1);
	struct perf_event_attr attr = ranked(software(PERF_COUNT_SW_TASK_CLOCK), FLEXIBLE);
	int soft = open_self(&attr), cpu, fds[2];

	work(LONG);
	takes_turns(exclusive, other, "an exclusive event and another");
	counts_always(soft, "a software event counts beside exclusive ones");
	close(other);
	switch_event(exclusive, PERF_EVENT_IOC_ENABLE);
	cpu = open_ranked(FLEXIBLE, -1, 0);
	work(LONG);
	switch_event(cpu, PERF_EVENT_IOC_DISABLE);
	ok(read_count(cpu).running, "a CPU event rotates with an exclusive task event");
	close(cpu);
	close(exclusive);

	for (int i = 0; i < 2; i++)
		fds[i] = open_ranked(EXCLUSIVE, 0, -1);
	work(LONG);
	takes_turns(fds[0], fds[1], "two exclusive events");
	close_many(fds, 2);
	close(soft);
}

static void exclusive_and_pinned(void)
{
	int pinned = open_ranked(PINNED, 0, -1), exclusive = open_ranked(EXCLUSIVE, 0, -1);

	work(LONG);
	counts_always(pinned, "a pinned event keeps its counter from an exclusive event");
	is(read_count(exclusive).running, 0, "an exclusive event waits for a pinned event");
	close(pinned);
	work(ROUNDS);
	ok(read_count(exclusive).value >= ROUNDS,
	   "an exclusive event counts after the pinned event is closed");
	close(exclusive);
}

/* The exclusive rules apply once a hardware member joins a software group. */
static void exclusive_by_joining(bool leader_is_exclusive, const char *what)
{
	enum rank of_leader = leader_is_exclusive ? EXCLUSIVE : FLEXIBLE;
	struct perf_event_attr soft = ranked(software(PERF_COUNT_SW_TASK_CLOCK), of_leader);
	struct perf_event_attr attr = ranked(raw(INSTRUCTIONS), FLEXIBLE);
	int other, leader = open_self(&soft), sibling;
	struct count before[2], after[2];
	uint64_t ran[2];

	attr.disabled = 1;
	sibling = door_open_event(&attr, 0, -1, leader, 0);
	if (sibling < 0)
		bail_out("no sibling");
	other = open_ranked(leader_is_exclusive ? FLEXIBLE : EXCLUSIVE, 0, -1);
	work(ROUNDS);
	switch_event(sibling, PERF_EVENT_IOC_ENABLE);
	before[0] = read_count(sibling);
	before[1] = read_count(other);
	work(LONG);
	switch_event(other, PERF_EVENT_IOC_DISABLE);
	after[0] = read_count(sibling);
	after[1] = read_count(other);

	ran[0] = after[0].running - before[0].running;
	ran[1] = after[1].running - before[1].running;
	ok(ran[0] && ran[1], "%s: both count", what);
	between(ran[0] + ran[1], (after[0].enabled - before[0].enabled) * 9 / 10,
		after[0].enabled - before[0].enabled,
		"two that exclude each other do not run at the same time");
	close(sibling);
	close(leader);
	close(other);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	general = module_info().gp_counters;
	if (2 * general >= MANY)
		return skip_all("more counters than this test knows of");
	plan(9 + 4 + 5 + 3 + 4 + 6 + 3 + 2 * 2);
	cpu_pin(0);
	too_many_pinned();
	pinned_comes_before_flexible();
	cpu_comes_before_task();
	pinned_elsewhere();
	pinned_group();
	exclusive_shares_with_nobody();
	exclusive_and_pinned();
	exclusive_by_joining(true, "hardware joins an exclusive group of software");
	exclusive_by_joining(false, "hardware joins a group while an exclusive one counts");
	return done();
}
