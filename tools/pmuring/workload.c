// SPDX-License-Identifier: GPL-2.0
/*
 * The command that record and stat start. A child waits for a byte on a pipe
 * and then execs; a second pipe, which the exec closes, tells whether it could.
 * Called by session.c, one thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"
#include "workload.h"

static void __attribute__((noreturn)) run_child(char **argv, int go_fd, int error_fd)
{
	sigset_t none;
	char go;
	int err;

	/* the end of the pipe without a byte: the parent has given up, or died */
	if (read(go_fd, &go, 1) != 1)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static void close_pipe(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

/* what execvp() will find; asked early, while nothing has been written yet */
static bool can_run(const char *name)
{
	char *dirs, *rest, *dir;
	bool found = false;

	if (strchr(name, '/'))
		return !access(name, X_OK);
	dirs = xstrdup(getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin");
	rest = dirs;
	while (!found && (dir = strsep(&rest, ":"))) {
		char *path = xasprintf("%s/%s", *dir ? dir : ".", name);

		found = !access(path, X_OK);
		free(path);
	}
	free(dirs);
	return found;
}

/**
 * workload_prepare - start a process that will become the command
 * @workload: filled in
 * @argv: the command, looked up in PATH
 *
 * Return: 0, or -1 after a message to the user
 */
int workload_prepare(struct workload *workload, char **argv)
{
	int go[2], error[2];

	memset(workload, 0, sizeof(*workload));
	if (!can_run(argv[0]))
		return fail("cannot run '%s': %s", argv[0], strerror(errno));
	if (pipe2(go, O_CLOEXEC))
		return fail("cannot make a pipe: %s", strerror(errno));
	if (pipe2(error, O_CLOEXEC)) {
		close_pipe(go);
		return fail("cannot make a pipe: %s", strerror(errno));
	}
	workload->pid = fork();
	if (!workload->pid) {
		close(go[1]);
		run_child(argv, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	workload->name = argv[0];
	workload->go_fd = go[1];
	workload->error_fd = error[0];
	if (workload->pid > 0)
		return 0;
	workload->pid = 0;
	close(go[1]);
	close(error[0]);
	return fail("cannot start a process: %s", strerror(errno));
}

static void reap(struct workload *workload)
{
	while (wait4(workload->pid, &workload->status, 0, &workload->usage) < 0 && errno == EINTR)
		;
	workload->ended = true;
}

/**
 * workload_go - let the process become the command
 * @workload: prepared
 *
 * Return: 0 when its exec is done, or -1 after a message to the user
 */
int workload_go(struct workload *workload)
{
	ssize_t got;
	int err = 0;

	if (write(workload->go_fd, "", 1) != 1)
		return fail("cannot release '%s': %s", workload->name, strerror(errno));
	close(workload->go_fd);
	workload->go_fd = -1;
	do
		got = read(workload->error_fd, &err, sizeof(err));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(err))
		return 0;
	reap(workload);
	return fail("cannot run '%s': %s", workload->name, strerror(err));
}

/**
 * workload_look - see whether the command has ended
 * @workload: running, or none
 */
void workload_look(struct workload *workload)
{
	siginfo_t info = { 0 };

	if (!workload->pid || workload->ended)
		return;
	if (!waitid(P_PID, workload->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
		reap(workload);
}

/**
 * workload_stop - end the command, if it has not ended by itself
 * @workload: in any state
 */
void workload_stop(struct workload *workload)
{
	if (!workload->pid)
		return;
	if (workload->go_fd >= 0)
		close(workload->go_fd);
	else if (!workload->ended)
		kill(workload->pid, SIGTERM);
	if (!workload->ended)
		reap(workload);
	close(workload->error_fd);
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
