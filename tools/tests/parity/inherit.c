// SPDX-License-Identifier: GPL-2.0
/*
 * Inherited events: the share of live and exited children, processes and threads, in
 * the parent's count.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define ROUNDS		100000
#define INSTRUCTIONS	((uint64_t)ROUNDS * WORK_ROUND)

static uint64_t rounds = ROUNDS;

static void work_and_die(void *data)
{
	(void)data;
	work(ROUNDS);
	raise(SIGKILL);
}

static void two_children(void *data)
{
	(void)data;
	run_child(work_for, &rounds);
	run_child(work_for, &rounds);
	work_for(&rounds);
}

static void one_thread(void *data)
{
	(void)data;
	run_thread(work_for, &rounds);
	work_for(&rounds);
}

/* Round to multiples of the work; the rest is noise. */
static void say_times_work(const char *what, uint64_t value)
{
	say("%s=%llux", what, (unsigned long long)((value + INSTRUCTIONS / 10) / INSTRUCTIONS));
}

static int open_inherited(unsigned int thread, unsigned int stat)
{
	struct perf_event_attr attr = instructions();

	attr.inherit = 1;
	attr.inherit_thread = thread;
	attr.inherit_stat = stat;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	return open_self(&attr);
}

static uint64_t value_of(int fd)
{
	struct count count = {};

	if (!read_count(fd, &count))
		give_up("read: %s", error_name(-1));
	return count.value;
}

static void say_count(int fd, const char *what, uint64_t before)
{
	say_times_work(what, value_of(fd) - before);
}

static void children(unsigned int thread, unsigned int stat)
{
	int fd = open_inherited(thread, stat);
	uint64_t before = value_of(fd);

	run_child(work_for, &rounds);
	say_count(fd, "child", before);
	run_child(two_children, NULL);
	say_count(fd, "tree", before);
	run_thread(work_for, &rounds);
	say_count(fd, "thread", before);
	run_child(one_thread, NULL);
	say_count(fd, "child-thread", before);
	run_child(work_and_die, NULL);
	say_count(fd, "killed", before);
	work(ROUNDS);
	say_count(fd, "own", before);
}

static void plain(void)
{
	children(0, 0);
}

static void threads_only(void)
{
	children(1, 0);
}

static void with_stat(void)
{
	children(0, 1);
}

static void not_inherited(void)
{
	struct perf_event_attr attr = instructions();
	uint64_t before;
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	before = value_of(fd);
	run_child(work_for, &rounds);
	run_thread(work_for, &rounds);
	say_count(fd, "count", before);
}

/* Live children are counted too. */
static void live_child(void)
{
	int fd = open_inherited(0, 0);
	struct helper helper;
	struct count first, second;

	helper_start(&helper);
	read_count(fd, &first);
	helper_do(&helper, ORDER_WORK);
	read_count(fd, &second);
	say("grows=%d", second.value - first.value >= SOME_WORK * WORK_ROUND);
	disable(fd);
	read_count(fd, &first);
	helper_do(&helper, ORDER_WORK);
	read_count(fd, &second);
	say("disabled-grows=%d", second.value > first.value);
	enable(fd);
	read_count(fd, &first);
	helper_do(&helper, ORDER_WORK);
	read_count(fd, &second);
	say("enabled-grows=%d", second.value - first.value >= SOME_WORK * WORK_ROUND);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	read_count(fd, &second);
	say("reset=%s", second.value < SOME_WORK * WORK_ROUND ? "all" : "own");
}

/*
 * A switch between parent and child may swap their contexts, and with them the parent's
 * event; RESET clears what the child has counted then. Contexts are not swapped if the
 * parent has an event that the child does not inherit.
 */
static void reset_after_exit(void)
{
	struct perf_event_attr own = software(PERF_COUNT_SW_DUMMY);
	struct count count;
	int fd;

	open_self(&own);
	fd = open_inherited(0, 0);
	run_child(work_for, &rounds);
	disable(fd);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	read_count(fd, &count);
	say_times_work("child", count.value);
}

static void child_of_disabled(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	struct count count;
	int fd;

	attr.inherit = 1;
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	helper_start(&helper);
	helper_do(&helper, ORDER_WORK);
	read_count(fd, &count);
	say("off=%llu", (unsigned long long)count.value);
	enable(fd);
	helper_do(&helper, ORDER_WORK);
	read_count(fd, &count);
	say("on=%d", count.value >= SOME_WORK * WORK_ROUND);
}

static void closed_with_children(void)
{
	int fd = open_inherited(0, 0);
	struct helper helper;

	helper_start(&helper);
	close(fd);
	helper_do(&helper, ORDER_WORK);
	helper_do(&helper, ORDER_FORK);
	helper_end(&helper);
	say("survived");
}

/* Children that exist before the open are not counted. */
static void earlier_children(void)
{
	struct helper helper;
	struct count before, after;
	int fd;

	helper_start(&helper);
	fd = open_inherited(0, 0);
	read_count(fd, &before);
	disable(fd);
	read_count(fd, &before);
	helper_do(&helper, ORDER_WORK);
	enable(fd);
	disable(fd);
	read_count(fd, &after);
	say("counted=%d", after.value - before.value >= SOME_WORK * WORK_ROUND);
}

static void by_other_task(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	struct count count;
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	helper_do(&helper, ORDER_FORK);
	read_count(fd, &count);
	say("fork=%d", count.value >= SOME_WORK * WORK_ROUND);
	helper_do(&helper, ORDER_EXEC);
	read_count(fd, &count);
	say("exec=%d", count.value >= 20000004);
	helper_end(&helper);
	say_poll("poll", fd);
}

static void of_software(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_TASK_CLOCK);
	struct count before, after;
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	read_count(fd, &before);
	run_child(work_for, &rounds);
	read_count(fd, &after);
	say("grows=%d", after.value - before.value > INSTRUCTIONS);
}

static void many_children(void)
{
	int fd = open_inherited(0, 0);
	uint64_t before = value_of(fd);

	for (int i = 0; i < 50; i++)
		run_child(work_for, &rounds);
	say_times_work("children", value_of(fd) - before);
}

static const struct simple_case simple[] = {
	{ "plain", plain },
	{ "threads-only", threads_only },
	{ "stat", with_stat },
	{ "not", not_inherited },
	{ "live-child", live_child },
	{ "reset-after-exit", reset_after_exit },
	{ "child-of-disabled", child_of_disabled },
	{ "closed-with-children", closed_with_children },
	{ "earlier-children", earlier_children },
	{ "other-task", by_other_task },
	{ "software", of_software },
	{ "many-children", many_children },
};

/**
 * theme_inherit - inherited events
 */
void theme_inherit(void)
{
	run_simple("inherit", simple, ARRAY_SIZE(simple));
}
