// SPDX-License-Identifier: GPL-2.0
/*
 * A fork allocates memory for inherited events. The memory cgroup of the forking task
 * is charged for it, not the cgroup of the task that opened the events.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "follower.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

#define THREADS		200
#define EVENTS		8
/* an event is larger than that */
#define EVENT_BYTES	512

#define ROOT		"/tmp/fork_charge_test-cgroup"
#define GROUP		ROOT "/charged"

static void *waits(void *data)
{
	(void)data;
	for (;;)
		pause();
	return NULL;
}

static void make_threads(int go, int told)
{
	pthread_attr_t attr;
	pthread_t thread;

	wait_for_go(go);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, &attr, waits, NULL))
			_exit(1);
	tell(told, 0);
	wait_for_go(go);
	_exit(0);
}

/* Return: bytes of kernel objects that the group is charged for */
static uint64_t charged(void)
{
	char text[8192], *line;

	if (!whole_file(GROUP "/memory.stat", text, sizeof(text)))
		bail_out("no memory.stat");
	line = strstr(text, "\nslab_unreclaimable ");
	if (!line)
		bail_out("no slab_unreclaimable");
	return strtoull(line + strlen("\nslab_unreclaimable "), NULL, 10);
}

/* Return: bytes charged for the threads of a process with @events from another process */
static uint64_t cost(int events)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	struct follower follower;
	int fds[EVENTS];
	uint64_t before, after;
	char pid[12];

	attr.inherit = 1;
	follower_start(&follower, make_threads);
	snprintf(pid, sizeof(pid), "%d", follower.pid);
	if (!file_write(GROUP "/cgroup.procs", pid))
		bail_out("the process does not join");
	for (int i = 0; i < events; i++)
		fds[i] = open_event(&attr, follower.pid, -1);
	before = charged();
	follower_go(&follower);
	follower_tells(&follower);
	after = charged();
	for (int i = 0; i < events; i++)
		close(fds[i]);
	follower_go(&follower);
	follower_ends(&follower);
	return after - before;
}

static bool make_group(void)
{
	mkdir(ROOT, 0755);
	return !mount("cgroup2", ROOT, "cgroup2", 0, NULL) &&
	       file_write(ROOT "/cgroup.subtree_control", "+memory") &&
	       (!mkdir(GROUP, 0755) || !access(GROUP, F_OK));
}

int main(void)
{
	int log = kernel_log_open();
	uint64_t without, with;

	if (!make_group())
		return skip_all("no memory cgroups");
	plan(1 + 2);
	cost(EVENTS);
	without = cost(0);
	with = cost(EVENTS);
	ok(with > without + (uint64_t)THREADS * EVENTS * EVENT_BYTES,
	   "a fork is charged for inherited events: %lu threads %llu, with %d events %llu",
	   (unsigned long)THREADS, (unsigned long long)without, EVENTS, (unsigned long long)with);
	sleep_ms(50);
	rmdir(GROUP);
	umount(ROOT);
	rmdir(ROOT);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
