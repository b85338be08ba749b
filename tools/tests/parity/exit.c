// SPDX-License-Identifier: GPL-2.0
/*
 * Events over the exit of their task, and of whoever opened them.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static void exit_of_task(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	struct count first, second;
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	say_poll("alive", fd);
	helper_end(&helper);
	say_poll("gone", fd);
	read_count(fd, &first);
	usleep(2000);
	read_count(fd, &second);
	say("value=%s times=%s", first.value == second.value ? "stays" : "grows",
	    first.enabled == second.enabled ? "stay" : "grow");
	say_result("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	say_result("reset", ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	read_count(fd, &second);
	say("value=%llu", (unsigned long long)second.value);
}

static void group_after_exit(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	uint64_t words[8] = {};
	int leader;

	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	helper_start(&helper);
	leader = must_open(&attr, helper.pid, -1, -1);
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	must_open(&attr, helper.pid, -1, leader);
	helper_do(&helper, ORDER_WORK);
	helper_end(&helper);
	say("bytes=%zd", read(leader, words, sizeof(words)));
	say("nr=%llu", (unsigned long long)words[0]);
	say("leader=%d sibling=%d", words[1] >= SOME_WORK * WORK_ROUND, words[2] >= SOME_WORK);
}

static void opener_gone(void *data)
{
	struct helper *helper = data;
	struct perf_event_attr attr = instructions();

	attr.disabled = 0;
	must_open(&attr, helper->pid, -1, -1);
}

/* The opener's exit closes the event while the task lives. */
static void opener_exits(void)
{
	struct helper helper;

	helper_start(&helper);
	run_child(opener_gone, &helper);
	helper_do(&helper, ORDER_WORK);
	say("survived");
}

static const struct simple_case simple[] = {
	{ "task", exit_of_task },
	{ "group", group_after_exit },
	{ "opener", opener_exits },
};

/**
 * theme_exit - exit
 */
void theme_exit(void)
{
	run_simple("exit", simple, ARRAY_SIZE(simple));
}
