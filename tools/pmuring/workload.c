// SPDX-License-Identifier: GPL-2.0
/*
 * The command that record and stat start. The module has no enable_on_exec
 * yet, so the child asks to be traced: the kernel then stops it when its exec
 * is done, with the new image mapped and none of it run. The events are opened
 * there, and a detach lets it go.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"
#include "workload.h"

/* what the child could not do, sent through a pipe that its exec closes */
struct child_error {
	int trace;
	int err;
};

static void __attribute__((noreturn)) run_child(char **argv, int pipe_fd)
{
	struct child_error error = { 0 };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* held without a parent it would stay for ever */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		error.trace = 1;
	else
		execvp(argv[0], argv);
	error.err = errno;
	if (write(pipe_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int report_child(const struct child_error *error, const char *name)
{
	if (error->trace)
		return fail("cannot hold the command at its start: %s; sysctl kernel.yama.ptrace_scope must be below 3, or watch it with -a",
			    strerror(error->err));
	return fail("cannot run '%s': %s", name, strerror(error->err));
}

/* waits for the stop after exec; other signals go on to the child */
static int wait_for_exec(struct workload *workload)
{
	int status;

	for (;;) {
		if (waitpid(workload->pid, &status, 0) < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (!WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGTRAP)
			return 0;
		ptrace(PTRACE_CONT, workload->pid, NULL, (long)WSTOPSIG(status));
	}
}

/**
 * workload_prepare - start a command and hold it
 * @workload: filled in
 * @argv: the command, looked up in PATH
 *
 * Return: 0, or -1 after a message to the user
 */
int workload_prepare(struct workload *workload, char **argv)
{
	struct child_error error = { 0 };
	int fds[2], ret;

	memset(workload, 0, sizeof(*workload));
	if (pipe2(fds, O_CLOEXEC))
		return fail("cannot make a pipe: %s", strerror(errno));
	workload->pid = fork();
	if (!workload->pid)
		run_child(argv, fds[1]);
	close(fds[1]);
	if (workload->pid < 0) {
		close(fds[0]);
		return fail("cannot start a process: %s", strerror(errno));
	}
	ret = wait_for_exec(workload);
	if (ret) {
		workload->ended = true;
		if (read(fds[0], &error, sizeof(error)) == sizeof(error))
			report_child(&error, argv[0]);
		else
			fail("'%s' ended before it began", argv[0]);
	}
	close(fds[0]);
	return ret;
}

/**
 * workload_go - let the held command run
 * @workload: prepared
 *
 * Return: 0, or -1 after a message to the user
 */
int workload_go(struct workload *workload)
{
	if (ptrace(PTRACE_DETACH, workload->pid, NULL, NULL))
		return fail("cannot release the command: %s", strerror(errno));
	return 0;
}

static bool has_threads_or_children(pid_t pid)
{
	char path[64], *text;
	bool found;

	/* a second entry in task/ is task/<other tid> */
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = read_file(path, NULL);
	if (!text)
		return false;
	found = strstr(text, "\nThreads:\t") && !strstr(text, "\nThreads:\t1\n");
	free(text);
	if (found)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	text = read_file(path, NULL);
	found = text && *text;
	free(text);
	return found;
}

/* a zombie still tells the page faults of the children it waited for */
static bool had_children(pid_t pid)
{
	char path[64], *text, *at;
	unsigned long faults = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_file(path, NULL);
	at = text ? strrchr(text, ')') : NULL;
	if (at)
		sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %lu", &faults);
	free(text);
	return faults;
}

/**
 * workload_look - see whether the command has ended, and what it has started
 * @workload: running
 */
void workload_look(struct workload *workload)
{
	siginfo_t info = { 0 };

	if (!workload->pid || workload->ended)
		return;
	if (waitid(P_PID, workload->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid) {
		workload->has_children = workload->has_children ||
					 has_threads_or_children(workload->pid);
		return;
	}
	workload->has_children = workload->has_children || had_children(workload->pid);
	waitpid(workload->pid, &workload->status, 0);
	workload->ended = true;
}

/**
 * workload_stop - end the command, if it has not ended by itself
 * @workload: in any state
 */
void workload_stop(struct workload *workload)
{
	if (!workload->pid || workload->ended)
		return;
	kill(workload->pid, SIGTERM);
	/* one that was never released cannot act on the signal */
	ptrace(PTRACE_DETACH, workload->pid, NULL, (long)SIGTERM);
	waitpid(workload->pid, &workload->status, 0);
	workload->ended = true;
}

/**
 * workload_exit_code - what the tool should exit with
 * @workload: in any state
 *
 * Return: as a shell reports the command: its status, or 128 + signal
 */
int workload_exit_code(const struct workload *workload)
{
	if (!workload->pid || !workload->ended)
		return 0;
	if (WIFSIGNALED(workload->status))
		return 128 + WTERMSIG(workload->status);
	return WEXITSTATUS(workload->status);
}
