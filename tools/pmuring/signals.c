// SPDX-License-Identifier: GPL-2.0
/*
 * SIGINT, SIGTERM and SIGHUP ask a run to end, SIGCHLD tells that the command
 * has. All four are blocked and read from a signalfd, which record and stat
 * poll beside their events.
 */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "signals.h"

/**
 * signals_open - block the signals and make them readable
 *
 * Return: the signalfd, or -1 with errno
 */
int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/**
 * signals_stop_asked - take what has come
 * @fd: the signalfd
 *
 * Return: true if one of them asks the run to end
 */
bool signals_stop_asked(int fd)
{
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		stop = stop || info.ssi_signo != SIGCHLD;
	return stop;
}
