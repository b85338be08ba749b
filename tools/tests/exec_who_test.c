// SPDX-License-Identifier: GPL-2.0
/*
 * Exec by a thread that is not the group leader, by the owner of an event, and of a
 * setuid program.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follower.h"
#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		10000
#define NOBODY		65534

static const char suid_path[] = "/tmp/exec_who_test-spin";

static int revents(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	poll(&pfd, 1, 0);
	return pfd.revents;
}

static void is_spin(uint64_t got, const char *what)
{
	between(got, SPIN, SPIN + machine_slack(SPIN), "%s", what);
}

static struct perf_event_attr on_exec(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	attr.enable_on_exec = 1;
	return attr;
}

struct thread {
	int go;
	int told;
};

static void *thread_spins(void *data)
{
	struct thread *thread = data;

	tell(thread->told, gettid());
	wait_for_go(thread->go);
	work(ROUNDS);
	spin();
	_exit(6);
}

static void *thread_waits(void *data)
{
	for (;;)
		work(*(int *)data);
	return NULL;
}

static void threads(int go, int told)
{
	struct thread thread = { go, told };
	pthread_t other, spinner;
	int rounds = ROUNDS;

	pthread_create(&other, NULL, thread_waits, &rounds);
	pthread_create(&spinner, NULL, thread_spins, &thread);
	for (;;)
		pause();
}

static void exec_by_thread(void)
{
	struct perf_event_attr attr = on_exec(), leader = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	struct ring ring;
	uint64_t value;
	int fds[2];
	pid_t tid;

	leader.disabled = 0;
	follower_start(&follower, threads);
	tid = follower_tells(&follower);
	fds[0] = open_event(&attr, tid, -1);
	fds[1] = open_event(&leader, follower.pid, -1);
	map_ring(&ring, fds[1], 1);
	follower_go(&follower);
	is(follower_ends(&follower), 0, "a non-leader thread execs");
	is_spin(read_value(fds[0]), "a non-leader thread's event counts the program");
	is(revents(fds[1]), POLLHUP, "the leader's event ends with the leader");
	value = read_value(fds[1]);
	ok(value < SPIN / 2, "the leader's event does not count the program");
	ring_unmap(&ring);
	close(fds[0]);
	close(fds[1]);
}

static void *thread_opens(void *data)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	char text[12];

	(void)data;
	attr.disabled = 0;
	snprintf(text, sizeof(text), "%d", door_open_event(&attr, 0, -1, -1, 0));
	execl("/proc/self/exe", "exec_who_test", text, NULL);
	_exit(4);
}

static void opens_and_execs(int go, int told)
{
	pthread_t thread;

	(void)go;
	(void)told;
	pthread_create(&thread, NULL, thread_opens, NULL);
	for (;;)
		pause();
}

/* Return: 0 if the event opened by this thread before its exec obeys its owner after it */
static int disable_own(int fd)
{
	uint64_t value = read_value(fd);

	work(ROUNDS);
	if (read_value(fd) < value + ROUNDS * WORK_ROUND)
		return 1;
	if (ioctl(door_fd(), PMURING_IOC_TASK_DISABLE))
		return 2;
	value = read_value(fd);
	work(ROUNDS);
	return read_value(fd) == value ? 0 : 3;
}

static void owner_execs(void)
{
	struct follower follower;

	follower_start(&follower, opens_and_execs);
	is(follower_ends(&follower), 0, "a thread still owns its events after exec");
}

static void become_root(int go, int told)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(5);
	tell(told, 0);
	wait_for_go(go);
	execl(suid_path, "spin", NULL);
}

static bool make_suid(void)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), "cp %s %s", spin_path(), suid_path);
	return !system(command) && !chown(suid_path, 0, 0) && !chmod(suid_path, 04755);
}

/* a user's event must not count a setuid program of another user */
static void gains_rights(int (*open)(const struct perf_event_attr *attr, pid_t pid, int cpu),
			 const char *whose)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	int fd;

	attr.disabled = 0;
	follower_start(&follower, become_root);
	follower_tells(&follower);
	fd = open(&attr, follower.pid, -1);
	follower_go(&follower);
	is(follower_ends(&follower), 0, "a setuid program runs");
	between(read_value(fd), 1, SPIN / 2, "%s: a setuid program is not counted", whose);
	close(fd);
}

int main(int argc, char **argv)
{
	int log = kernel_log_open();

	if (argc == 2)
		return disable_own(atoi(argv[1]));
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(4 + 1 + 2 * 2 + 2);
	cpu_pin(0);
	exec_by_thread();
	owner_execs();
	if (make_suid()) {
		gains_rights(perf_open, "perf");
		gains_rights(open_event, "pmuring");
	} else {
		skip(4, "cannot create a setuid program");
	}
	unlink(suid_path);
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
