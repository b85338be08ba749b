// SPDX-License-Identifier: GPL-2.0
/*
 * See follower.h. Called by the tests and their children.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "follower.h"
#include "tap.h"

/**
 * wait_for_go - wait for the next order
 * @go: where it comes from
 */
void wait_for_go(int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(9);
}

/**
 * tell - send a number
 * @fd: pipe to the reader
 * @pid: the number
 */
void tell(int fd, pid_t pid)
{
	if (write(fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(8);
}

/**
 * follower_start - start a process
 * @follower: filled in
 * @fn: what it does
 */
void follower_start(struct follower *follower, act fn)
{
	int go[2], told[2];

	if (pipe(go) || pipe(told))
		bail_out("no pipe");
	follower->pid = fork();
	if (!follower->pid) {
		close(go[1]);
		close(told[0]);
		fn(go[0], told[1]);
		_exit(7);
	}
	close(go[0]);
	close(told[1]);
	follower->go = go[1];
	follower->tell = told[0];
}

/**
 * follower_go - let it do the next thing
 * @follower: the process
 */
void follower_go(const struct follower *follower)
{
	if (write(follower->go, "g", 1) != 1)
		bail_out("the process takes no order");
}

/**
 * follower_tells - wait until it tells something
 * @follower: the process
 *
 * Return: what it tells
 */
pid_t follower_tells(const struct follower *follower)
{
	pid_t pid;

	if (read(follower->tell, &pid, sizeof(pid)) != sizeof(pid))
		bail_out("the process tells nothing");
	return pid;
}

/**
 * follower_ends - wait until it ends
 * @follower: the process
 *
 * Return: its status, of wait(2)
 */
int follower_ends(const struct follower *follower)
{
	int status;

	waitpid(follower->pid, &status, 0);
	close(follower->go);
	close(follower->tell);
	return status;
}

/**
 * spin_path - where the program of known length is
 *
 * Return: its path
 */
const char *spin_path(void)
{
	static char path[PATH_MAX];

	if (readlink("/proc/self/exe", path, sizeof(path) - 8) < 0)
		bail_out("where am I?");
	strcpy(strrchr(path, '/') + 1, "spin");
	return path;
}

/**
 * spin - execute it
 */
void spin(void)
{
	execl(spin_path(), "spin", NULL);
}
