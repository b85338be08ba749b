// SPDX-License-Identifier: GPL-2.0
/*
 * Every sample has a task name, whatever the tasks did while `pmuring record`
 * attached to them. The test traces the tool and stops it at its system calls.
 * At each stop the watched process starts a task, which keeps the current name
 * of the process, and then renames itself. So a task starts and a name changes in
 * every window of the attach.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "tap.h"
#include "workload.h"

/* PERIOD divides the work of a task 16.5 times */
#define PERIOD		"100003"
#define ROUNDS		103130
#define SAMPLES		16

#define TASKS_MAX	120
#define FILE_NAME	"/tmp/attach.data"

/* from the test to the watched process and back; the last two reach its tasks */
static int order[2], answer[2], go[2], worked[2];

static void work_when_told(void)
{
	char byte;

	if (read(go[0], &byte, 1) < 0)
		_exit(2);
	work(ROUNDS);
	if (write(worked[1], "", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

static void *thread(void *data)
{
	work_when_told();
	return data;
}

static void start_task(bool threads)
{
	pthread_t id;

	if (threads) {
		if (pthread_create(&id, NULL, thread, NULL))
			_exit(2);
	} else if (!fork()) {
		work_when_told();
	}
}

/* one task for each byte of the test, by the names t0, t1 ... */
static void watched(bool threads)
{
	char name[16] = "t0", byte;

	setpgid(0, 0);
	close(go[1]);
	prctl(PR_SET_NAME, name);
	for (int n = 1; read(order[0], &byte, 1) == 1; n++) {
		start_task(threads);
		snprintf(name, sizeof(name), "t%d", n);
		prctl(PR_SET_NAME, name);
		if (write(answer[1], "", 1) != 1)
			break;
	}
	_exit(2);
}

static pid_t start_watched(bool threads)
{
	pid_t pid;

	/* the tool must not inherit the pipe: closing the last writer starts the work */
	if (pipe2(order, O_CLOEXEC) || pipe2(answer, O_CLOEXEC) || pipe2(go, O_CLOEXEC) ||
	    pipe2(worked, O_CLOEXEC))
		bail_out("no pipe");
	pid = fork();
	if (!pid)
		watched(threads);
	close(order[0]);
	close(answer[1]);
	close(go[0]);
	close(worked[1]);
	return pid;
}

static void end_watched(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(order[1]);
	close(answer[0]);
	close(worked[0]);
}

static pid_t start_tool(char *const argv[])
{
	pid_t pid = fork();

	if (!pid) {
		/* the leak checker of a tool with sanitizers cannot be traced */
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Return: the system call that the tool is about to do, or -1; ended: -2 */
static long next_call(pid_t tool, struct __ptrace_syscall_info *info)
{
	int status;

	if (ptrace(PTRACE_SYSCALL, tool, 0, 0) || waitpid(tool, &status, 0) != tool ||
	    !WIFSTOPPED(status))
		return -2;
	if (WSTOPSIG(status) != (SIGTRAP | 0x80))
		return -1;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tool, sizeof(*info), info) <= 0 ||
	    info->op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return info->entry.nr;
}

static bool is_step(long call, const struct __ptrace_syscall_info *info)
{
	return call == SYS_openat || call == SYS_ioctl ||
	       (call == SYS_mmap && (int)info->entry.args[4] >= 0);
}

static void have_task(void)
{
	char byte;

	if (write(order[1], "", 1) != 1 || read(answer[0], &byte, 1) != 1)
		bail_out("the watched process starts no task");
}

/*
 * Has a task started at each @stride-th call of the tool, from its first ioctl()
 * until it sleeps. Return: how many; -1 if it ended before.
 */
static int attach(pid_t tool, int stride)
{
	struct __ptrace_syscall_info info;
	bool begun = false;
	int steps = 0, tasks = 0;
	long call;

	waitpid(tool, NULL, 0);
	ptrace(PTRACE_SETOPTIONS, tool, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while ((call = next_call(tool, &info)) != SYS_poll) {
		if (call == -2)
			return -1;
		begun = begun || call == SYS_ioctl;
		if (!begun || !is_step(call, &info) || steps++ % stride || tasks == TASKS_MAX)
			continue;
		have_task();
		tasks++;
	}
	ptrace(PTRACE_DETACH, tool, 0, 0);
	return tasks;
}

/* all tasks work; then the recording ends */
static int work_and_stop(pid_t tool, int tasks)
{
	char byte;
	int status;

	close(go[1]);
	for (int i = 0; i < tasks; i++)
		if (read(worked[0], &byte, 1) != 1)
			bail_out("a task does not work");
	kill(tool, SIGINT);
	if (waitpid(tool, &status, 0) != tool || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/**
 * struct found - what the report says
 * @samples: of work(), by the number in the task's name
 * @nameless: of threads without a name
 */
struct found {
	unsigned int samples[TASKS_MAX];
	unsigned int nameless;
};

static void read_report(struct found *found)
{
	char line[512], comm[64], symbol[64];
	unsigned int n, task;
	FILE *report = popen("pmuring report -i " FILE_NAME
			     " -gnone -n -s comm,symbol --percent-limit 0", "r");

	memset(found, 0, sizeof(*found));
	while (report && fgets(line, sizeof(line), report)) {
		if (sscanf(line, " %*f%% %u %63s [.] %63s", &n, comm, symbol) != 3)
			continue;
		if (comm[0] == ':') {
			diag("%.80s", line);
			found->nameless += n;
		}
		if (sscanf(comm, "t%u", &task) == 1 && task < TASKS_MAX && !strcmp(symbol, "work"))
			found->samples[task] += n;
	}
	if (report)
		pclose(report);
}

/*
 * A CPU's counter goes on with other tasks between the time slices of one, so each
 * slice may end one sample more or less: the work of a task takes three at most.
 *
 * @first: the first task that has to be there; -1: any
 */
static void check(const struct found *found, int tasks, int first)
{
	unsigned int slack = first < 0 ? 1 : 3;
	int wrong = 0;

	if (first < 0)
		while (++first < tasks && !found->samples[first])
			;
	for (int i = first; i < tasks; i++) {
		if (found->samples[i] + slack >= SAMPLES && found->samples[i] <= SAMPLES + slack)
			continue;
		diag("t%d of %d, first t%d: %u samples", i, tasks, first, found->samples[i]);
		wrong++;
	}
	is(found->nameless, 0, "every sample has a task name");
	ok(first < tasks, "tasks started during the attach are sampled");
	is(wrong, 0, "later tasks are sampled under their own names");
}

static void record(const char *what, char *option, bool threads, int stride)
{
	char pid[16], *argv[] = { "pmuring", "record", "-q", "-o", FILE_NAME, "-e",
				  "instructions:u", "-c", PERIOD, option, pid, NULL };
	pid_t watched = start_watched(threads), tool;
	struct found found;
	int tasks;

	snprintf(pid, sizeof(pid), "%d", watched);
	if (!strcmp(option, "-a"))
		argv[ARRAY_SIZE(argv) - 2] = NULL;
	tool = start_tool(argv);
	tasks = attach(tool, stride);
	between(tasks, 5, TASKS_MAX - 1, "%s: tasks start at the tool's system calls", what);
	is(tasks < 0 ? -1 : work_and_stop(tool, tasks), 0, "the recording succeeds");
	read_report(&found);
	check(&found, tasks, option[1] == 'a' ? 0 : -1);
	unlink(FILE_NAME);
	end_watched(watched);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(4 * 5);
	record("record -p, processes", "-p", false, 1);
	record("record -p, threads", "-p", true, 4);
	record("record -t, processes", "-t", false, 1);
	record("record -a", "-a", false, 8);
	return done();
}
