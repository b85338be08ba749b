// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: which events may join a group, and a group after its members are closed.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

enum { ME, CHILD, EVERYBODY };

enum trait { EXCLUSIVE = 1, PINNED = 2, INHERIT = 4, CLOCK = 8, RAW_CLOCK = 16, SOFT = 32,
	     SAMPLES = 64, ON = 128, BACKWARD = 256, TASK_CLOCK = 512 };

struct member {
	int task;
	int cpu;
	unsigned int traits;
};

#define ANY .cpu = -1

static const struct group_case {
	const char *name;
	struct member leader;
	struct member sibling;
} cases[] = {
	{ "plain", { ANY }, { ANY } },
	{ "same-cpu", {}, {} },
	{ "other-cpu", { .cpu = 0 }, { .cpu = 1 } },
	{ "any-and-cpu", { ANY }, { .cpu = 0 } },
	{ "cpu-and-any", { .cpu = 0 }, { ANY } },
	{ "other-task", { ANY }, { ANY, .task = CHILD } },
	{ "task-and-cpu-wide", { .cpu = 0 }, { .cpu = 0, .task = EVERYBODY } },
	{ "cpu-wide-and-task", { .cpu = 0, .task = EVERYBODY }, { .cpu = 0 } },
	{ "cpu-wide", { .task = EVERYBODY }, { .task = EVERYBODY } },
	{ "cpu-wide-other", { .task = EVERYBODY }, { .task = EVERYBODY, .cpu = 1 } },
	{ "exclusive-sibling", { ANY }, { ANY, .traits = EXCLUSIVE } },
	{ "exclusive-leader", { ANY, .traits = EXCLUSIVE }, { ANY } },
	{ "exclusive-both", { ANY, .traits = EXCLUSIVE }, { ANY, .traits = EXCLUSIVE } },
	{ "pinned-sibling", { ANY }, { ANY, .traits = PINNED } },
	{ "pinned-leader", { ANY, .traits = PINNED }, { ANY } },
	{ "inherit-leader", { ANY, .traits = INHERIT }, { ANY } },
	{ "inherit-sibling", { ANY }, { ANY, .traits = INHERIT } },
	{ "inherit-both", { ANY, .traits = INHERIT }, { ANY, .traits = INHERIT } },
	{ "inherit-sibling-cpu-wide", { .task = EVERYBODY },
	  { .task = EVERYBODY, .traits = INHERIT } },
	{ "clock-leader", { ANY, .traits = CLOCK }, { ANY } },
	{ "clock-sibling", { ANY }, { ANY, .traits = CLOCK } },
	{ "clock-both", { ANY, .traits = CLOCK }, { ANY, .traits = CLOCK } },
	{ "clock-other", { ANY, .traits = CLOCK }, { ANY, .traits = RAW_CLOCK } },
	{ "software-sibling", { ANY }, { ANY, .traits = SOFT } },
	{ "software-leader", { ANY, .traits = SOFT }, { ANY } },
	{ "software-both", { ANY, .traits = SOFT }, { ANY, .traits = SOFT } },
	{ "software-leader-on", { ANY, .traits = SOFT | ON }, { ANY, .traits = ON } },
	{ "task-clock-leader", { ANY, .traits = TASK_CLOCK }, { ANY } },
	{ "software-leader-cpu", { .traits = SOFT }, {} },
	{ "software-leader-other-cpu", { .traits = SOFT }, { .cpu = 1 } },
	{ "samples", { ANY, .traits = SAMPLES }, { ANY, .traits = SAMPLES } },
	{ "backward-sibling", { ANY }, { ANY, .traits = BACKWARD | SAMPLES } },
};

static int open_member(const struct member *member, const struct helper *child, int leader)
{
	struct perf_event_attr attr = member->traits & SOFT ? software(PERF_COUNT_SW_DUMMY) :
		member->traits & TASK_CLOCK ? software(PERF_COUNT_SW_TASK_CLOCK) : instructions();
	pid_t pid = member->task == CHILD ? child->pid : member->task == EVERYBODY ? -1 : 0;

	attr.exclusive = !!(member->traits & EXCLUSIVE);
	attr.pinned = !!(member->traits & PINNED);
	attr.inherit = !!(member->traits & INHERIT);
	attr.write_backward = !!(member->traits & BACKWARD);
	attr.use_clockid = !!(member->traits & (CLOCK | RAW_CLOCK));
	attr.clockid = member->traits & RAW_CLOCK ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
	attr.disabled = !(member->traits & ON);
	if (member->traits & SAMPLES)
		attr.sample_period = 100000;
	if (!attr.use_clockid)
		attr.clockid = 0;
	return try_open(&attr, pid, member->cpu, leader, 0);
}

static void join(const void *arg)
{
	const struct group_case *group = arg;
	struct helper child;
	int leader, sibling, third;

	helper_start(&child);
	leader = open_member(&group->leader, &child, -1);
	say_result("leader", leader);
	if (leader < 0)
		return;
	sibling = open_member(&group->sibling, &child, leader);
	say_result("sibling", sibling);
	if (sibling < 0)
		return;
	third = open_member(&group->sibling, &child, sibling);
	say_result("of-sibling", third);
}

static int add(struct perf_event_attr attr, int leader, bool disabled)
{
	attr.read_format = FORMAT_TIMES;
	attr.disabled = disabled;
	return must_open(&attr, 0, -1, leader);
}

static void leader_closed(void)
{
	int leader = add(instructions(), -1, false), sibling = add(branches(), leader, false);
	int other = add(instructions(), leader, false);

	close(leader);
	say_behaviour("sibling", sibling);
	say_behaviour("other", other);
	disable(sibling);
	say_behaviour("sibling", sibling);
	say_behaviour("other", other);
	say_result("join", try_open(&(struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(struct perf_event_attr) }, 0, -1, other, 0));
}

static void leader_off_closed(void)
{
	int leader = add(instructions(), -1, true), sibling = add(branches(), leader, false);

	say_behaviour("sibling", sibling);
	close(leader);
	/* until it has been scheduled once more */
	usleep(1000);
	say_behaviour("sibling", sibling);
	enable(sibling);
	usleep(1000);
	say_behaviour("enabled", sibling);
}

static void sibling_closed(void)
{
	struct perf_event_attr attr = instructions();
	uint64_t words[16];
	int leader, sibling;

	attr.read_format = PERF_FORMAT_GROUP;
	attr.disabled = 0;
	leader = open_self(&attr);
	sibling = must_open(&attr, 0, -1, leader);
	say("bytes=%zd", read(leader, words, sizeof(words)));
	close(sibling);
	say("bytes=%zd", read(leader, words, sizeof(words)));
	say("nr=%llu", (unsigned long long)words[0]);
	say("grows=%d", words[1] > 0);
}

/* A software group moves to the hardware context when a hardware event joins. */
static void software_gains_hardware(void)
{
	int leader = add(software(PERF_COUNT_SW_TASK_CLOCK), -1, false), hardware, late;

	say_behaviour("leader", leader);
	hardware = add(instructions(), leader, false);
	say_behaviour("leader", leader);
	say_behaviour("hardware", hardware);
	late = add(software(PERF_COUNT_SW_TASK_CLOCK), leader, false);
	say_behaviour("late", late);
	close(hardware);
	say_behaviour("leader", leader);
	say_result("join", add(branches(), leader, false));
}

static void two_software_gain_hardware(void)
{
	int leader = add(software(PERF_COUNT_SW_TASK_CLOCK), -1, true);
	int sibling = add(software(PERF_COUNT_SW_TASK_CLOCK), leader, false);
	int hardware = add(instructions(), leader, false);

	enable(leader);
	say_behaviour("leader", leader);
	say_behaviour("sibling", sibling);
	say_behaviour("hardware", hardware);
}

static void joins_running(void)
{
	int leader = add(instructions(), -1, false), sibling = add(branches(), leader, false);
	int off = add(branches(), leader, true);

	say_behaviour("sibling", sibling);
	say_behaviour("off", off);
}

static void joins_stopped(void)
{
	int leader = add(instructions(), -1, true), sibling = add(branches(), leader, false);

	say_behaviour("leader", leader);
	say_behaviour("sibling", sibling);
	enable(leader);
	say_behaviour("sibling", sibling);
}

/* On a full PMU a group is scheduled as a whole or not at all. */
static void all_or_nothing(void)
{
	struct perf_event_attr attr = branches();
	uint64_t word;
	int leader, last = -1, fd;

	attr.pinned = 1;
	attr.disabled = 0;
	/* all counters, then all but one */
	while (work(1), read(fd = open_self(&attr), &word, sizeof(word)))
		last = fd;
	close(last);
	leader = add(branches(), -1, true);
	add(branches(), leader, false);
	add(branches(), leader, false);
	say_result("enable", ioctl(leader, PERF_EVENT_IOC_ENABLE, 0));
	say_behaviour("leader", leader);
}

static void exclusive_alone(void)
{
	int first = add(branches(), -1, false), exclusive;
	struct perf_event_attr attr = instructions();

	attr.exclusive = 1;
	exclusive = add(attr, -1, false);
	close(first);
	/* until it has been scheduled once more */
	usleep(1000);
	say_behaviour("exclusive", exclusive);
}

static void leader_of_dead_task(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	int leader;

	helper_start(&helper);
	leader = must_open(&attr, helper.pid, -1, -1);
	helper_end(&helper);
	say_result("join", try_open(&attr, helper.pid, -1, leader, 0));
	say_result("join-self", try_open(&attr, 0, -1, leader, 0));
}

static void leader_in_error(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);

	say_result("join", try_open(&attr, 0, -1, open_error_event(0, 0), 0));
}

static void pinned_group_error(void)
{
	struct perf_event_attr attr = branches();
	int leader, sibling, n = 0;

	attr.pinned = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	for (;;) {
		leader = open_self(&attr);
		attr.pinned = 0;
		sibling = must_open(&attr, 0, -1, leader);
		attr.pinned = 1;
		if (n++ == 8)
			break;
	}
	say_behaviour("leader", leader);
	say_behaviour("sibling", sibling);
}

static const struct simple_case simple[] = {
	{ "leader-closed", leader_closed },
	{ "leader-off-closed", leader_off_closed },
	{ "sibling-closed", sibling_closed },
	{ "software-gains-hardware", software_gains_hardware },
	{ "two-software-gain-hardware", two_software_gain_hardware },
	{ "joins-running", joins_running },
	{ "joins-stopped", joins_stopped },
	{ "all-or-nothing", all_or_nothing },
	{ "exclusive-alone", exclusive_alone },
	{ "leader-of-dead-task", leader_of_dead_task },
	{ "leader-in-error", leader_in_error },
	{ "pinned-group-error", pinned_group_error },
};

/**
 * theme_group - groups
 */
void theme_group(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		run_case("group", cases[i].name, join, &cases[i]);
	run_simple("group", simple, ARRAY_SIZE(simple));
}
