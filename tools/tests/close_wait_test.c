// SPDX-License-Identifier: GPL-2.0
/*
 * close() of an inherited event does not wait until what others' children have left
 * behind is accounted for. There are many of them, and a thread keeps their event
 * busy, which holds the accounting up.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "events.h"
#include "follower.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

#define CHILDREN	250
#define SIBLINGS	31
#define ATTEMPTS	30

/* A process group of children that all sleep until they are ended. */
static void bear(int go, int told)
{
	setpgid(0, 0);
	wait_for_go(go);
	for (int i = 0; i < CHILDREN; i++)
		if (!fork())
			for (;;)
				pause();
	tell(told, 0);
	for (;;)
		pause();
}

static struct perf_event_attr inherited(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);

	attr.inherit = 1;
	attr.disabled = 0;
	return attr;
}

static bool has_hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	poll(&pfd, 1, 0);
	return pfd.revents & POLLHUP;
}

static void open_fork_close(void)
{
	struct perf_event_attr attr = inherited();
	int fd = open_self(&attr);
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	close(fd);
}

/* The children, too, which have become this process's own. */
static void end_all(struct follower *follower)
{
	kill(-follower->pid, SIGKILL);
	follower_ends(follower);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* Return: true if an event was closed before the others' children were done with. */
static bool others_remain(void)
{
	struct perf_event_attr attr = inherited();
	struct follower follower;
	struct busy busy;
	struct ring ring;
	bool remain;
	int fd;

	busy_create(&busy);
	follower_start(&follower, bear);
	fd = open_event(&attr, follower.pid, 0);
	map_ring(&ring, fd, 1);
	busy_start(&busy, fd, follower.pid, 0, 1, SIBLINGS);
	follower_go(&follower);
	follower_tells(&follower);
	end_all(&follower);
	open_fork_close();
	remain = !has_hung_up(fd);
	busy_end(&busy);
	while (!has_hung_up(fd))
		sleep_ms(1);
	ring_unmap(&ring);
	close(fd);
	return remain;
}

int main(void)
{
	int log = kernel_log_open();
	bool remain = false;

	if (cpu_possible() < 2 || !cpu_is_online(1))
		return skip_all("one CPU");
	plan(1 + 2);
	cpu_pin(0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* In one of three attempts the others are done with by then; waiting fails in each. */
	for (int i = 0; i < ATTEMPTS && !remain; i++)
		remain = others_remain();
	ok(remain, "close does not wait for what other events' children left behind");
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
