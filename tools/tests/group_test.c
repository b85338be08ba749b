// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: all members count or none, their times are the same to the
 * nanosecond, and members come, go, and are switched in any order.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define TIMES		(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define ROUNDS		2000
#define MEMBERS_MAX	16
/*
 * Between the first and the last member of a group that starts or stops, at most; a
 * kernel that checks itself takes several times as many instructions.
 */
#define SWITCHING_NS	(machine_is_checked() ? 50000 : 5000)

/* exists on general counters only */
#define BRANCHES	0x00c4
/* instructions with a threshold: no fixed counter has one */
#define INSTRUCTIONS_GENERAL	0x10000c0

/* what read() of a member says with PERF_FORMAT_GROUP and TIMES */
struct snapshot {
	uint64_t number;
	uint64_t enabled;
	uint64_t running;
	uint64_t values[MEMBERS_MAX];
};

static struct pmuring_info info;

static int try_member(struct perf_event_attr attr, int leader, bool disabled)
{
	attr.disabled = disabled;
	attr.read_format = TIMES | (leader < 0 ? PERF_FORMAT_GROUP : 0);
	return door_open_event(&attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static int member(struct perf_event_attr attr, int leader, bool disabled)
{
	int fd = try_member(attr, leader, disabled);

	if (fd < 0)
		bail_out("a member does not open");
	return fd;
}

static struct snapshot look(int leader)
{
	struct snapshot snapshot = { 0 };

	if (read(leader, &snapshot, sizeof(snapshot)) < (ssize_t)(4 * sizeof(uint64_t)))
		bail_out("cannot read a group");
	return snapshot;
}

static void close_all(const int *fds, int number)
{
	for (int i = 0; i < number; i++)
		close(fds[i]);
}

/* A group of n events that only general counters have. */
static int open_group(int *fds, int number, bool disabled)
{
	for (int i = 0; i < number; i++) {
		fds[i] = try_member(raw(i % 2 ? BRANCHES : INSTRUCTIONS_GENERAL),
				    i ? fds[0] : -1, disabled && !i);
		if (fds[i] < 0) {
			int err = errno;

			close_all(fds, i);
			errno = err;
			return -1;
		}
	}
	return 0;
}

static void what_can_never_fit(void)
{
	struct perf_event_attr dummy = software(PERF_COUNT_SW_DUMMY);
	int general = info.gp_counters, fds[MEMBERS_MAX + 1], leader;

	gives(open_group(fds, general, true), 0, "a group as large as the PMU opens");
	close_all(fds, general);
	gives(open_group(fds, general + 1, true), EINVAL, "a group larger than the PMU is refused");

	leader = member(dummy, -1, true);
	for (int i = 0; i < general; i++)
		fds[i] = member(raw(BRANCHES), leader, false);
	gives(try_member(raw(BRANCHES), leader, false), EINVAL,
	      "too many hardware members behind a software leader are refused");
	fds[general] = try_member(software(PERF_COUNT_SW_CPU_CLOCK), leader, false);
	gives(fds[general], 0, "a software member always fits");
	close_all(fds, general + 1);
	fds[0] = try_member(raw(BRANCHES), leader, false);
	gives(fds[0], 0, "a hardware member fits after the others are closed");
	close(fds[0]);
	close(leader);
}

static void what_fixed_counters_add(void)
{
	int general = info.gp_counters, fds[MEMBERS_MAX];

	if (info.fixed_mask != 7 || general > MEMBERS_MAX - 3) {
		skip(4, "no three fixed counters");
		return;
	}
	fds[0] = member(hardware(PERF_COUNT_HW_REF_CPU_CYCLES), -1, true);
	gives(try_member(hardware(PERF_COUNT_HW_REF_CPU_CYCLES), fds[0], false), EINVAL,
	      "two reference-cycle members in a group are refused");
	close(fds[0]);

	/* Members that fit any counter come first, so they have to move. */
	for (int i = 0; i < general + 2; i++)
		fds[i] = member(raw(i % 2 ? 0x3c : 0xc0), i ? fds[0] : -1, !i);
	fds[general + 2] = try_member(hardware(PERF_COUNT_HW_REF_CPU_CYCLES), fds[0], false);
	gives(fds[general + 2], 0, "a group that needs every counter opens");
	gives(try_member(raw(0xc0), fds[0], false), EINVAL,
	      "one more member than counters is refused");
	switch_event(fds[0], PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	switch_event(fds[0], PERF_EVENT_IOC_DISABLE);
	is(look(fds[0]).running, look(fds[0]).enabled,
	   "a group that needs every counter runs all the time");
	close_all(fds, general + 3);
}

static int open_single(uint64_t config)
{
	struct perf_event_attr attr = raw(config);

	attr.disabled = 0;
	attr.read_format = TIMES;
	return open_self(&attr);
}

/* All events fit only if the second one is on the fixed counter. */
static void events_are_moved(void)
{
	int fds[MEMBERS_MAX + 1], number = info.gp_counters;
	uint64_t waited = 0;
	struct count count;

	if (!(info.fixed_mask & 1)) {
		skip(2, "no fixed counter of instructions");
		return;
	}
	for (int i = 0; i < number - 1; i++)
		fds[i] = open_single(BRANCHES);
	fds[number - 1] = open_single(0xc0);
	fds[number] = open_single(0xc0);
	close(fds[number - 1]);
	fds[number - 1] = open_single(BRANCHES);
	work(ROUNDS);
	for (int i = 0; i <= number; i++)
		switch_event(fds[i], PERF_EVENT_IOC_DISABLE);
	for (int i = 0; i <= number; i++) {
		count = read_count(fds[i]);
		waited += count.enabled - count.running;
	}
	is(waited, 0, "no event waits while another can move to a free counter");
	ok(count.value >= ROUNDS * WORK_ROUND, "an event that moves loses no count");
	close_all(fds, number + 1);
}

/* A member grows by exactly as much as its leader, or not at all. */
static void steps_are_whole(const struct snapshot *a, const struct snapshot *b,
			    const bool *on, int *wrong)
{
	uint64_t step = b->values[0] - a->values[0];

	if (b->enabled < a->enabled || b->running < a->running || b->running > b->enabled)
		wrong[1]++;
	if (on[0] ? step < ROUNDS * WORK_ROUND : step)
		wrong[0]++;
	if (!on[0] && (b->enabled != a->enabled || b->running != a->running))
		wrong[1]++;
	/* the last member is the clock of the task */
	for (int i = 1; i < 4; i++)
		if (b->values[i] - a->values[i] != (on[i] ? step : 0))
			wrong[0]++;
	step = b->values[4] - a->values[4];
	if (on[0] && on[4] ? !step : step)
		wrong[0]++;
}

static void members_in_any_order(void)
{
	bool on[5] = { true, true, true, true, true };
	struct snapshot before, after;
	uint64_t seed = 7;
	int fds[5], wrong[2] = { 0 };

	for (int i = 0; i < 4; i++)
		fds[i] = member(raw(i % 2 ? 0xc0 : INSTRUCTIONS_GENERAL), i ? fds[0] : -1, false);
	fds[4] = member(software(PERF_COUNT_SW_TASK_CLOCK), fds[0], false);
	for (int step = 0; step < 200; step++) {
		int i;

		seed = seed * 48271 % 2147483647;
		i = seed % 5;
		on[i] = !on[i];
		switch_event(fds[i], on[i] ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
		before = look(fds[0]);
		work(ROUNDS);
		after = look(fds[0]);
		steps_are_whole(&before, &after, on, wrong);
	}
	is(wrong[0], 0, "members switched in any order count like the leader or not at all");
	is(wrong[1], 0, "the times of the members grow like the leader's or not at all");
	close_all(fds, 5);
}

/* Members enabled for the same time agree to the nanosecond. */
static void times_are_equal(void)
{
	struct snapshot group;
	struct count count;
	int fds[4], wrong = 0;

	fds[0] = member(software(PERF_COUNT_SW_TASK_CLOCK), -1, true);
	fds[1] = member(raw(0xc0), fds[0], false);
	fds[2] = member(raw(BRANCHES), fds[0], false);
	fds[3] = member(software(PERF_COUNT_SW_PAGE_FAULTS), fds[0], false);
	for (int i = 0; i < 50; i++) {
		switch_event(fds[0], PERF_EVENT_IOC_ENABLE);
		work(ROUNDS);
		if (i % 10 == 0)
			usleep(1000);
		switch_event(fds[0], PERF_EVENT_IOC_DISABLE);
		group = look(fds[0]);
		for (int n = 1; n < 4; n++) {
			count = read_count(fds[n]);
			wrong += count.enabled != group.enabled || count.running != group.running;
		}
	}
	is(wrong, 0, "members enabled together have the same times");
	is(group.running, group.enabled, "members enabled together run all the time");
	between(group.values[0] + 50 * SWITCHING_NS, group.running,
		group.running + 50 * SWITCHING_NS, "the task-clock agrees with the running time");
	close_all(fds, 4);
}

static void who_leaves(void)
{
	struct count before, after;
	struct snapshot group;
	int fds[4];

	for (int i = 0; i < 4; i++)
		fds[i] = member(raw(0xc0), i ? fds[0] : -1, false);
	work(ROUNDS);
	close(fds[2]);
	work(ROUNDS);
	group = look(fds[0]);
	is(group.number, 3, "closing a sibling shrinks the group");
	between(group.values[2], 2 * ROUNDS * WORK_ROUND, group.values[0],
		"the other members count on after a sibling is closed");
	before = read_count(fds[3]);
	close(fds[0]);
	work(ROUNDS);
	after = read_count(fds[3]);
	between(after.value - before.value, ROUNDS * WORK_ROUND, 2 * ROUNDS * WORK_ROUND,
		"siblings count on after the leader is closed");
	ok(after.enabled > before.enabled && after.enabled == after.running,
	   "the siblings' times go on after the leader is closed");
	switch_event(fds[3], PERF_EVENT_IOC_DISABLE);
	before = read_count(fds[3]);
	work(ROUNDS);
	after = read_count(fds[3]);
	ok(!memcmp(&before, &after, sizeof(before)), "a former sibling is disabled on its own");
	gives(try_member(raw(0xc0), fds[1], false), 0, "a former sibling can lead a group");
	close(fds[1]);
	close(fds[3]);
}

/* A sibling of a disabled leader starts when the leader is closed. */
static void leader_leaves_off(void)
{
	struct count before, after;
	int leader = member(raw(0xc0), -1, true);
	int sibling = member(raw(0xc0), leader, false);

	work(ROUNDS);
	before = read_count(sibling);
	is(before.value + before.enabled, 0,
	   "a sibling of a disabled leader has no count and no time");
	close(leader);
	work(ROUNDS);
	after = read_count(sibling);
	between(after.value, ROUNDS * WORK_ROUND, 2 * ROUNDS * WORK_ROUND,
		"the sibling counts when the disabled leader is closed");
	between(after.enabled, after.running, after.running + SWITCHING_NS,
		"the sibling does not wait after its leader is closed");
	close(sibling);
}

/* Members opened while the group counts. */
static void software_leader_gains_hardware(void)
{
	struct snapshot before, after;
	int fds[3];

	fds[0] = member(software(PERF_COUNT_SW_TASK_CLOCK), -1, false);
	work(ROUNDS);
	fds[1] = member(raw(0xc0), fds[0], false);
	fds[2] = member(raw(BRANCHES), fds[0], false);
	before = look(fds[0]);
	work(ROUNDS);
	after = look(fds[0]);
	between(after.values[1] - before.values[1], ROUNDS * WORK_ROUND, 2 * ROUNDS * WORK_ROUND,
		"a hardware member joins a running software leader and counts");
	ok(after.values[2] - before.values[2] >= ROUNDS,
	   "a second hardware member joins and counts");
	is(after.running, after.enabled, "a joining member does not interrupt the leader");
	close_all(fds, 3);
}

/* While the PMU is full no member counts, not even a software member. */
static void all_or_nothing(void)
{
	struct perf_event_attr attr = raw(BRANCHES);
	struct snapshot group;
	struct count soft;
	int taken[MEMBERS_MAX], fds[2], number = info.gp_counters;

	attr.pinned = 1;
	attr.disabled = 0;
	fds[0] = member(raw(BRANCHES), -1, true);
	fds[1] = member(software(PERF_COUNT_SW_TASK_CLOCK), fds[0], false);
	for (int i = 0; i < number; i++)
		taken[i] = open_self(&attr);
	switch_event(fds[0], PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	group = look(fds[0]);
	ok(group.enabled && !group.running, "a group without room does not run");
	is(group.values[0] + group.values[1], 0, "no member of a waiting group counts");
	close(taken[0]);
	work(ROUNDS);
	switch_event(fds[0], PERF_EVENT_IOC_DISABLE);
	group = look(fds[0]);
	soft = read_count(fds[1]);
	between(group.values[0], ROUNDS, 2 * ROUNDS,
		"the group counts when a counter becomes free");
	ok(soft.running == group.running && soft.enabled == group.enabled,
	   "the software member has the times of the group");
	between(group.values[1] + SWITCHING_NS, group.running, group.running + SWITCHING_NS,
		"the software member counts for the running time");
	close_all(taken + 1, number - 1);
	close_all(fds, 2);
}

/* A sibling without a counter takes the whole group off the PMU. */
static void sibling_without_room(void)
{
	struct snapshot before, after;
	struct perf_event_attr attr = raw(BRANCHES);
	int taken[MEMBERS_MAX], fds[2], number = info.gp_counters - 1;

	attr.pinned = 1;
	attr.disabled = 0;
	for (int i = 0; i < number; i++)
		taken[i] = open_self(&attr);
	fds[0] = member(raw(BRANCHES), -1, false);
	fds[1] = member(raw(BRANCHES), fds[0], true);
	work(ROUNDS);
	before = look(fds[0]);
	is(before.running, before.enabled, "a group runs while a sibling is disabled");
	switch_event(fds[1], PERF_EVENT_IOC_ENABLE);
	before = look(fds[0]);
	work(ROUNDS);
	after = look(fds[0]);
	is(after.running - before.running + after.values[0] - before.values[0], 0,
	   "a group waits for an enabled sibling without a counter");
	switch_event(fds[1], PERF_EVENT_IOC_DISABLE);
	work(ROUNDS);
	before = look(fds[0]);
	ok(before.values[0] - after.values[0] >= ROUNDS,
	   "a group counts again when that sibling is disabled");
	close_all(taken, number);
	close_all(fds, 2);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	info = module_info();
	if (info.gp_counters > MEMBERS_MAX - 3)
		return skip_all("more counters than this test knows of");
	plan(5 + 4 + 2 + 2 + 3 + 6 + 3 + 3 + 5 + 3);
	cpu_pin(0);
	what_can_never_fit();
	what_fixed_counters_add();
	events_are_moved();
	members_in_any_order();
	times_are_equal();
	who_leaves();
	leader_leaves_off();
	software_leader_gains_hardware();
	all_or_nothing();
	sibling_without_room();
	return done();
}
