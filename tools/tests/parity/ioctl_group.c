// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls of a leader or a sibling, with and without PERF_IOC_FLAG_GROUP, in each
 * combination of the states of the two: what both do afterwards.
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	500000

static const struct {
	const char *name;
	unsigned long request;
	unsigned long arg;
} operations[] = {
	{ "none", 0, 0 },
	{ "enable", PERF_EVENT_IOC_ENABLE, 0 },
	{ "enable-all", PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP },
	{ "disable", PERF_EVENT_IOC_DISABLE, 0 },
	{ "disable-all", PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP },
	{ "reset", PERF_EVENT_IOC_RESET, 0 },
	{ "reset-all", PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP },
	{ "refresh-1", PERF_EVENT_IOC_REFRESH, 1 },
};

enum { LEADER, SIBLING };

struct trial {
	bool leader_on;
	bool sibling_on;
	int target;
	size_t operation;
};

static void open_pair(int fd[2], bool leader_on, bool sibling_on)
{
	struct perf_event_attr attr = sampling(PERIOD, 0);

	attr.read_format = FORMAT_TIMES;
	attr.disabled = !leader_on;
	fd[LEADER] = open_self(&attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.disabled = !sibling_on;
	fd[SIBLING] = must_open(&attr, 0, -1, fd[LEADER]);
}

static void try_operation(const void *arg)
{
	const struct trial *trial = arg;
	int fd[2];

	open_pair(fd, trial->leader_on, trial->sibling_on);
	work(SOME_WORK);
	if (operations[trial->operation].request)
		say_result("ioctl", ioctl(fd[trial->target],
					  operations[trial->operation].request,
					  operations[trial->operation].arg));
	if (operations[trial->operation].request == PERF_EVENT_IOC_RESET) {
		struct count count;

		for (int i = 0; i < 2; i++) {
			read_count(fd[i], &count);
			say("%s=%s", i ? "sibling" : "leader",
			    count.value < SOME_WORK ? "reset" : "kept");
		}
	}
	say_behaviour("leader", fd[LEADER]);
	say_behaviour("sibling", fd[SIBLING]);
}

static void sweep(void)
{
	struct trial trial;
	char name[60];

	for (int leader = 0; leader < 2; leader++)
		for (int sibling = 0; sibling < 2; sibling++)
			for (int target = 0; target < 2; target++)
				for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
					trial = (struct trial){ leader, sibling, target, i };
					snprintf(name, sizeof(name), "leader-%s-sibling-%s-%s-%s",
						 leader ? "on" : "off", sibling ? "on" : "off",
						 target == LEADER ? "leader" : "sibling",
						 operations[i].name);
					run_case("ioctl-group", name, try_operation, &trial);
				}
}

/* The whole group by the leader: counts are exact and times equal. */
static void exact_together(void)
{
	struct count leader, sibling;
	int fd[2];

	open_pair(fd, false, true);
	work_counted(fd[LEADER], 1000);
	read_count(fd[LEADER], &leader);
	read_count(fd[SIBLING], &sibling);
	say("leader=%llu sibling=%llu", (unsigned long long)leader.value,
	    (unsigned long long)sibling.value);
	say("enabled=%s running=%s", leader.enabled == sibling.enabled ? "equal" : "differ",
	    leader.running == sibling.running ? "equal" : "differ");
}

/* A sibling is enabled and disabled while its leader runs. */
static void sibling_switched(void)
{
	struct count leader, sibling;
	int fd[2];

	open_pair(fd, true, false);
	work_counted(fd[SIBLING], 1000);
	read_count(fd[SIBLING], &sibling);
	disable(fd[LEADER]);
	read_count(fd[LEADER], &leader);
	say("sibling=%llu enabled=%s", (unsigned long long)sibling.value,
	    sibling.enabled < leader.enabled ? "shorter" : "as-long");
}

static void leader_error(void)
{
	struct perf_event_attr attr = branches();
	uint64_t words[8];
	int leader, sibling;

	attr.pinned = 1;
	attr.disabled = 0;
	do {
		leader = open_self(&attr);
	} while (read(leader, words, sizeof(words)));
	attr.pinned = 0;
	attr.read_format = FORMAT_TIMES;
	sibling = must_open(&attr, 0, -1, leader);
	say_behaviour("sibling", sibling);
	say_result("enable", ioctl(sibling, PERF_EVENT_IOC_ENABLE, 0));
	say_behaviour("sibling", sibling);
}

static const struct simple_case simple[] = {
	{ "exact-together", exact_together },
	{ "sibling-switched", sibling_switched },
	{ "leader-in-error", leader_error },
};

/**
 * theme_ioctl_group - ioctls of groups
 */
void theme_ioctl_group(void)
{
	sweep();
	run_simple("ioctl-group", simple, ARRAY_SIZE(simple));
}
