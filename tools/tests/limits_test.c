// SPDX-License-Identifier: GPL-2.0
/*
 * Limits on open events: max_events per user, including all processes and user
 * namespaces of that user, max_inherited per task, and a limit per task or CPU. Only the
 * last applies with CAP_PERFMON.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"

#define ALICE	1000
#define BOB	1001
#define SUBUID	200000
#define LIMIT	10

/* as in kmod/core/context.h */
static int most_per_task(void)
{
	return 2048 + 32 * cpu_possible();
}

/* as in kmod/api/params.c */
static int most_inherited(void)
{
	return 128 + 16 * cpu_possible();
}

static bool inherit;

static int open_one(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.inherit = inherit,
	};

	return door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens events until one is refused. Returns how many there were; errno says why. */
static int open_all(int most)
{
	int number = 0;

	while (number < most && open_one() >= 0)
		number++;
	return number;
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
		_exit(255);
}

/*
 * in_child - the exit status of a function in a process of its own
 * @uid: its user
 * @fn: the function
 */
static int in_child(uid_t uid, int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become(uid);
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int count_events(void)
{
	int number = open_all(2 * LIMIT);

	return number == 2 * LIMIT || errno == EMFILE ? number : 255;
}

static int close_and_count_again(void)
{
	int last = -1, fd;

	while ((fd = open_one()) >= 0)
		last = fd;
	close(last);
	return count_events();
}

/* A failed open must return its charge. */
static int fail_and_count(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = 999,
		.exclude_kernel = 1,
	};

	for (int i = 0; i < 3 * LIMIT; i++)
		if (door_open_event(&attr, 0, -1, -1, 0) >= 0 || errno != ENOENT)
			return 255;
	return count_events();
}

static int share_with_child(void)
{
	int number = open_all(LIMIT - 3), status;
	pid_t pid = fork();

	if (!pid)
		_exit(count_events());
	waitpid(pid, &status, 0);
	return number == LIMIT - 3 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void write_or_exit(const char *path, const char *text)
{
	if (!file_write(path, text))
		_exit(255);
}

static void map_ids(pid_t pid)
{
	char path[64], text[64];

	snprintf(text, sizeof(text), "0 %d 1\n1 %d 1\n", ALICE, SUBUID);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	write_or_exit(path, text);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	write_or_exit(path, text);
}

/*
 * A user of a namespace that Alice made: another kuid, of which she can have
 * thousands. Only root can map it; root does, from outside.
 */
static int in_namespace(void)
{
	int ready[2], mapped[2], status;
	char byte = 0;
	pid_t pid;

	if (pipe(ready) || pipe(mapped))
		return 255;
	pid = fork();
	if (!pid) {
		become(ALICE);
		if (open_all(LIMIT - 4) != LIMIT - 4 || unshare(CLONE_NEWUSER) ||
		    write(ready[1], &byte, 1) != 1 || read(mapped[0], &byte, 1) != 1 ||
		    setresgid(1, 1, 1) || setresuid(1, 1, 1))
			_exit(255);
		_exit(count_events());
	}
	if (read(ready[0], &byte, 1) != 1)
		return 255;
	map_ids(pid);
	if (write(mapped[1], &byte, 1) != 1)
		return 255;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void test_users(void)
{
	is(in_child(ALICE, count_events), LIMIT, "a user can have max_events open: EMFILE");
	is(in_child(ALICE, count_events), LIMIT,
	   "a user can have max_events open again after closing them");
	is(in_child(ALICE, close_and_count_again), 1, "closing one event allows one more open");
	is(in_child(ALICE, fail_and_count), LIMIT, "failed opens do not count");
	is(in_child(ALICE, share_with_child), 3, "the processes of a user share max_events");
	is(in_namespace(), 4, "users of a namespace count for the user that created it");
	is(in_child(0, count_events), 2 * LIMIT, "max_events does not apply with CAP_PERFMON");
	is(in_child(BOB, count_events), LIMIT, "another user has a limit of its own");
}

/* Exit status: 0, or what is wrong. */
static int inherited_are_limited(void)
{
	int last, number, most = most_inherited();

	inherit = true;
	number = open_all(most - 1);
	last = open_one();
	if (number != most - 1 || last < 0)
		return 1;
	if (open_one() >= 0 || errno != EMFILE)
		return 2;
	inherit = false;
	if (open_one() < 0)
		return 3;
	inherit = true;
	close(last);
	return open_one() < 0 ? 4 : 0;
}

static int children_are_limited(void)
{
	int status = 0;
	pid_t pid;

	inherit = true;
	open_all(most_inherited() - 1);
	pid = fork();
	if (!pid)
		_exit(open_all(5));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int more_are_inherited(void)
{
	inherit = true;
	return open_all(most_inherited() + 5) == most_inherited() + 5;
}

static void test_inherited(void)
{
	is(in_child(ALICE, inherited_are_limited), 0,
	   "a task can have %d inherited events: EMFILE", most_inherited());
	is(in_child(ALICE, children_are_limited), 1, "inherited copies count");
	is(in_child(0, more_are_inherited), 1, "max_inherited does not apply with CAP_PERFMON");
}

static void test_task(void)
{
	struct rlimit files = { 8192, 8192 };
	int number;

	setrlimit(RLIMIT_NOFILE, &files);
	number = open_all(most_per_task() + 10);
	is(errno, EMFILE, "the limit of events per task gives EMFILE");
	is(number, most_per_task(), "the limit per task is 2048 plus 32 per CPU");
}

int main(void)
{
	long before = module_parameter("max_events");

	plan(14);
	ok(before == 65536, "max_events is 65536");
	if (!module_set_parameter("max_events", LIMIT) || chmod("/dev/pmuring", 0666))
		bail_out("cannot prepare");
	test_users();
	module_set_parameter("max_events", before);
	test_inherited();
	chmod("/dev/pmuring", 0600);
	test_task();
	return done();
}
