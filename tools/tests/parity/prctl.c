// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_TASK_PERF_EVENTS_DISABLE and _ENABLE): all events that the caller has
 * opened, on any task.
 */
#include <sys/prctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static int add(bool disabled, pid_t pid)
{
	struct perf_event_attr attr = instructions();

	attr.disabled = disabled;
	attr.read_format = FORMAT_TIMES;
	return must_open(&attr, pid, -1, -1);
}

static void own_events(void)
{
	int on = add(false, 0), off = add(true, 0);

	say_result("disable", prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	say_behaviour("on", on);
	say_behaviour("off", off);
	say_result("enable", prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
	say_behaviour("on", on);
	say_behaviour("off", off);
}

static void say_helper(const char *what, int fd, const struct helper *helper)
{
	struct count before, after;

	read_count(fd, &before);
	helper_do(helper, ORDER_WORK);
	read_count(fd, &after);
	say("%s=%s", what, after.value > before.value ? "counts" : "still");
}

static void events_on_others(void)
{
	struct helper helper;
	int fd;

	helper_start(&helper);
	fd = add(false, helper.pid);
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	say_helper("disabled", fd, &helper);
	prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	say_helper("enabled", fd, &helper);
}

static void disable_all(void *data)
{
	(void)data;
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
}

/* Only the opener: not its children and not its threads. */
static void by_child(void)
{
	int fd = add(false, 0);

	run_child(disable_all, NULL);
	say_behaviour("event", fd);
}

static void by_thread(void)
{
	int fd = add(false, 0);

	run_thread(disable_all, NULL);
	say_behaviour("event", fd);
}

static void no_events(void)
{
	say_result("disable", prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	say_result("enable", prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
}

static void with_arguments(void)
{
	int fd = add(false, 0);

	say_result("disable", prctl(PR_TASK_PERF_EVENTS_DISABLE, 1, 2, 3, 4));
	say_behaviour("event", fd);
}

static void whole_group(void)
{
	struct perf_event_attr attr = branches();
	int leader = add(false, 0), sibling;

	attr.disabled = 1;
	attr.read_format = FORMAT_TIMES;
	sibling = must_open(&attr, 0, -1, leader);
	prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	say_behaviour("leader", leader);
	say_behaviour("sibling", sibling);
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	say_behaviour("leader", leader);
	say_behaviour("sibling", sibling);
}

static void inherited(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	helper_start(&helper);
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	say_helper("disabled", fd, &helper);
}

static const struct simple_case simple[] = {
	{ "own", own_events },
	{ "others", events_on_others },
	{ "by-child", by_child },
	{ "by-thread", by_thread },
	{ "no-events", no_events },
	{ "arguments", with_arguments },
	{ "group", whole_group },
	{ "inherited", inherited },
};

/**
 * theme_prctl - the two prctls
 */
void theme_prctl(void)
{
	run_simple("prctl", simple, ARRAY_SIZE(simple));
}
