// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to open each kind of event: for each level of paranoid, for root, for
 * unprivileged users, and for users with one capability.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "parity.h"

enum { ME, MY_CHILD, UNDUMPABLE_CHILD, INIT, ROOTS_CHILD, EVERYBODY };

struct wish {
	const char *name;
	int task;
	int cpu;
	bool kernel;
	bool software;
	uint64_t sample_type;
	uint64_t branch;
	uint64_t flags;
};

enum { TEXT_POKE = 1, NAMESPACES = 2, NO_KERNEL_CHAIN = 4, INHERIT = 8, KSYMBOL = 16 };

#define ANY .cpu = -1

static const struct wish wishes[] = {
	{ "own-user", ANY },
	{ "own-kernel", ANY, .kernel = true },
	{ "own-user-cpu", .cpu = 0 },
	{ "own-software", ANY, .software = true },
	{ "own-software-kernel", ANY, .software = true, .kernel = true },
	{ "child-user", ANY, .task = MY_CHILD },
	{ "child-undumpable", ANY, .task = UNDUMPABLE_CHILD },
	{ "init-user", ANY, .task = INIT },
	{ "roots-child", ANY, .task = ROOTS_CHILD },
	{ "cpu-user", .task = EVERYBODY },
	{ "cpu-kernel", .task = EVERYBODY, .kernel = true },
	{ "cpu-software", .task = EVERYBODY, .software = true },
	{ "chain", ANY, .sample_type = PERF_SAMPLE_CALLCHAIN },
	{ "chain-user", ANY, .sample_type = PERF_SAMPLE_CALLCHAIN, .flags = NO_KERNEL_CHAIN },
	{ "phys-addr", ANY, .sample_type = PERF_SAMPLE_PHYS_ADDR },
	{ "regs-intr", ANY, .sample_type = PERF_SAMPLE_REGS_INTR },
	{ "branch-user", ANY, .sample_type = PERF_SAMPLE_BRANCH_STACK,
	  .branch = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER },
	{ "branch-kernel", ANY, .sample_type = PERF_SAMPLE_BRANCH_STACK,
	  .branch = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL },
	{ "raw", ANY, .sample_type = PERF_SAMPLE_RAW },
	{ "text-poke", ANY, .flags = TEXT_POKE },
	{ "namespaces", ANY, .flags = NAMESPACES },
	{ "ksymbol", ANY, .flags = KSYMBOL },
	{ "inherit", ANY, .flags = INHERIT },
};

static struct helper roots_child, own_child;

static pid_t undumpable(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0);
		pause();
		_exit(0);
	}
	usleep(10000);
	return pid;
}

static pid_t pid_of(int task)
{
	switch (task) {
	case MY_CHILD:
		helper_start(&own_child);
		return own_child.pid;
	case UNDUMPABLE_CHILD:
		return undumpable();
	case INIT:
		return 1;
	case ROOTS_CHILD:
		return roots_child.pid;
	case EVERYBODY:
		return -1;
	default:
		return 0;
	}
}

static void try_wish(const struct wish *wish)
{
	struct perf_event_attr attr = wish->software ? software(PERF_COUNT_SW_TASK_CLOCK) :
		instructions();

	attr.exclude_kernel = !wish->kernel;
	attr.sample_type = wish->sample_type;
	attr.branch_sample_type = wish->branch;
	attr.sample_regs_intr = 1;
	if (wish->sample_type)
		attr.sample_period = 1000000;
	attr.text_poke = !!(wish->flags & TEXT_POKE);
	attr.namespaces = !!(wish->flags & NAMESPACES);
	attr.exclude_callchain_kernel = !!(wish->flags & NO_KERNEL_CHAIN);
	attr.inherit = !!(wish->flags & INHERIT);
	attr.ksymbol = !!(wish->flags & KSYMBOL);
	say_result("open", try_open(&attr, pid_of(wish->task), wish->cpu, -1, 0));
}

static void as_nobody(const void *arg)
{
	helper_start(&roots_child);
	be_nobody();
	try_wish(arg);
}

static void as_root(const void *arg)
{
	helper_start(&roots_child);
	try_wish(arg);
}

static void with_perfmon(const void *arg)
{
	helper_start(&roots_child);
	be_nobody_with(CAP_PERFMON);
	try_wish(arg);
}

static void with_admin(const void *arg)
{
	helper_start(&roots_child);
	be_nobody_with(CAP_SYS_ADMIN);
	try_wish(arg);
}

static void with_ptrace(const void *arg)
{
	helper_start(&roots_child);
	be_nobody_with(CAP_SYS_PTRACE);
	try_wish(arg);
}

static void as_root_without_perfmon(const void *arg)
{
	helper_start(&roots_child);
	lose_capability(CAP_PERFMON);
	try_wish(arg);
}

static const struct {
	const char *name;
	case_fn fn;
	int lowest;
	int highest;
} whos[] = {
	{ "nobody", as_nobody, -1, 3 },
	{ "root", as_root, 2, 3 },
	{ "perfmon", with_perfmon, 2, 3 },
	{ "admin", with_admin, 2, 3 },
	{ "ptrace", with_ptrace, 2, 2 },
	{ "root-without-perfmon", as_root_without_perfmon, 2, 2 },
};

/* Permissions are checked at open; an open event stays usable. */
static void after_loss(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.exclude_kernel = 0;
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	be_nobody();
	enable(fd);
	say_behaviour("event", fd);
	say_result("again", try_open(&attr, 0, -1, -1, 0));
}

/* After setuid the child is undumpable until it sets PR_SET_DUMPABLE. */
static void not_dumpable(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;

	be_nobody();
	prctl(PR_SET_DUMPABLE, 0);
	say_result("self", try_open(&attr, 0, -1, -1, 0));
	say_result("self-by-pid", try_open(&attr, getpid(), -1, -1, 0));
	helper_start(&helper);
	say_result("child", try_open(&attr, helper.pid, -1, -1, 0));
}

static const struct simple_case simple[] = {
	{ "after-loss", after_loss },
	{ "not-dumpable", not_dumpable },
};

/**
 * theme_permission - permission to open events
 */
void theme_permission(void)
{
	char theme[60];

	for (size_t who = 0; who < ARRAY_SIZE(whos); who++)
		for (int level = whos[who].lowest; level <= whos[who].highest; level++) {
			knob_set(KNOB_PARANOID, level);
			snprintf(theme, sizeof(theme), "permission-%s-%d", whos[who].name, level);
			for (size_t i = 0; i < ARRAY_SIZE(wishes); i++)
				run_case(theme, wishes[i].name, whos[who].fn, &wishes[i]);
		}
	knob_set(KNOB_PARANOID, 2);
	run_simple("permission", simple, ARRAY_SIZE(simple));
}
