// SPDX-License-Identifier: GPL-2.0
/*
 * Opening for one target after another: pid, cpu, group_fd and flags.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

/* pids that the cases below need to find out */
enum { DEAD = -100, ZOMBIE, CHILD, INIT, SELF };

struct target {
	const char *name;
	int pid;
	int cpu;
	int group_fd;
	unsigned long flags;
};

static const struct target targets[] = {
	{ "self-any", 0, -1, -1, 0 },
	{ "self-by-pid", SELF, -1, -1, 0 },
	{ "self-cpu-0", 0, 0, -1, 0 },
	{ "self-cpu-1", 0, 1, -1, 0 },
	{ "self-cpu-2", 0, 2, -1, 0 },
	{ "self-cpu-9999", 0, 9999, -1, 0 },
	{ "self-cpu-max", 0, INT_MAX, -1, 0 },
	{ "self-cpu-minus-2", 0, -2, -1, 0 },
	{ "self-cpu-min", 0, INT_MIN, -1, 0 },
	{ "all-any", -1, -1, -1, 0 },
	{ "all-cpu-0", -1, 0, -1, 0 },
	{ "all-cpu-1", -1, 1, -1, 0 },
	{ "all-cpu-2", -1, 2, -1, 0 },
	{ "all-cpu-9999", -1, 9999, -1, 0 },
	{ "all-cpu-minus-2", -1, -2, -1, 0 },
	{ "pid-dead", DEAD, -1, -1, 0 },
	{ "pid-zombie", ZOMBIE, -1, -1, 0 },
	{ "pid-child", CHILD, -1, -1, 0 },
	{ "pid-child-cpu-1", CHILD, 1, -1, 0 },
	{ "pid-init", INIT, -1, -1, 0 },
	{ "pid-minus-2", -2, 0, -1, 0 },
	{ "pid-minus-2-any", -2, -1, -1, 0 },
	{ "pid-max", INT_MAX, -1, -1, 0 },
	{ "pid-min", INT_MIN, -1, -1, 0 },
	{ "group-stdin", 0, -1, 0, 0 },
	{ "group-closed", 0, -1, 999, 0 },
	{ "group-minus-2", 0, -1, -2, 0 },
	{ "group-closed-no-group", 0, -1, 999, PERF_FLAG_FD_NO_GROUP },
	{ "group-closed-output", 0, -1, 999, PERF_FLAG_FD_OUTPUT },
	{ "no-group-no-leader", 0, -1, -1, PERF_FLAG_FD_NO_GROUP },
	{ "output-no-leader", 0, -1, -1, PERF_FLAG_FD_OUTPUT },
	{ "cloexec", 0, -1, -1, PERF_FLAG_FD_CLOEXEC },
	{ "all-flags-but-cgroup", 0, -1, -1, 11 },
	{ "flag-bit-4", 0, -1, -1, 1UL << 4 },
	{ "flag-bit-31", 0, -1, -1, 1UL << 31 },
	{ "flag-bit-32", 0, -1, -1, 1UL << 32 },
	{ "flag-bit-47", 0, -1, -1, 1UL << 47 },
	{ "flag-bit-63", 0, -1, -1, 1UL << 63 },
	{ "flag-all", 0, -1, -1, ~0UL },
	{ "cgroup-no-cpu", 0, -1, -1, PERF_FLAG_PID_CGROUP },
	{ "cgroup-no-fd", -1, 0, -1, PERF_FLAG_PID_CGROUP },
	{ "cgroup-bad-fd", 999, 0, -1, PERF_FLAG_PID_CGROUP },
	{ "cgroup-stdin", 0, 0, -1, PERF_FLAG_PID_CGROUP },
};

static pid_t real_pid(int pid)
{
	struct helper helper;

	switch (pid) {
	case SELF:
		return getpid();
	case INIT:
		return 1;
	case CHILD:
		helper_start(&helper);
		return helper.pid;
	case DEAD:
		helper_start(&helper);
		helper_end(&helper);
		return helper.pid;
	case ZOMBIE:
		helper_start(&helper);
		kill(helper.pid, SIGKILL);
		waitid(P_PID, helper.pid, &(siginfo_t){}, WEXITED | WNOWAIT);
		return helper.pid;
	default:
		return pid;
	}
}

static void open_target(const void *arg)
{
	const struct target *target = arg;
	struct perf_event_attr attr = instructions();
	pid_t pid = real_pid(target->pid);
	int fd = try_open(&attr, pid, target->cpu, target->group_fd, target->flags);

	say_result("open", fd);
	if (fd >= 0)
		say("cloexec=%d", !!(fcntl(fd, F_GETFD) & FD_CLOEXEC));
}

static void no_descriptor(void)
{
	struct perf_event_attr attr = instructions();
	struct rlimit few = { 0, 0 };

	setrlimit(RLIMIT_NOFILE, &few);
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

/* The lowest free descriptor, which may be 0. */
static void lowest_descriptor(void)
{
	struct perf_event_attr attr = instructions();

	close(0);
	say("fd=%d", try_open(&attr, 0, -1, -1, 0));
}

static void descriptor_flags(void)
{
	struct perf_event_attr attr = instructions();
	int fd = open_self(&attr);
	char byte = 0;

	say("flags=%#x", fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK | O_APPEND));
	say_result("write", write(fd, &byte, 1));
	say_result("lseek", lseek(fd, 0, SEEK_SET));
	say_result("pread", pread(fd, &byte, 1, 0));
	say_result("ftruncate", ftruncate(fd, 0));
	say_result("nonblock", fcntl(fd, F_SETFL, O_NONBLOCK));
}

static void many_at_once(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	int n = 0;

	while (n < 1000 && try_open(&attr, 0, -1, -1, 0) >= 0)
		n++;
	say("opened=%d", n);
}

static void leader_and_no_group(void)
{
	struct perf_event_attr attr = instructions();
	int leader = open_self(&attr);
	uint64_t words[8];
	int fd;

	attr.read_format = PERF_FORMAT_GROUP;
	fd = try_open(&attr, 0, -1, leader, PERF_FLAG_FD_NO_GROUP);
	say_result("open", fd);
	say("bytes=%zd", read(fd, words, sizeof(words)));
}

static const struct simple_case simple[] = {
	{ "no-descriptor", no_descriptor },
	{ "lowest-descriptor", lowest_descriptor },
	{ "descriptor-flags", descriptor_flags },
	{ "a-thousand", many_at_once },
	{ "leader-and-no-group", leader_and_no_group },
};

/**
 * theme_target - tasks and CPUs to count
 */
void theme_target(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		run_case("target", targets[i].name, open_target, &targets[i]);
	run_simple("target", simple, ARRAY_SIZE(simple));
}
