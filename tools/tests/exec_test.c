// SPDX-License-Identifier: GPL-2.0
/*
 * Events and exec: enable_on_exec works once; remove_on_exec; failing execs. The
 * executed program has a known length.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "follower.h"
#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		10000

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

static void work_and_spin(int go, int told)
{
	(void)told;
	wait_for_go(go);
	work(ROUNDS);
	spin();
}

static void child_spins(int go, int told)
{
	(void)told;
	wait_for_go(go);
	work(ROUNDS);
	if (!fork())
		spin();
	wait(NULL);
	_exit(0);
}

static void enable_on_exec(void)
{
	struct perf_event_attr attr = on_exec();
	struct follower follower;
	int fd, perf;

	follower_start(&follower, work_and_spin);
	fd = open_event(&attr, follower.pid, -1);
	follower_go(&follower);
	is(follower_ends(&follower), 0, "enable_on_exec: the program runs");
	is_spin(read_value(fd), "enable_on_exec: the whole program is counted");
	close(fd);

	follower_start(&follower, work_and_spin);
	perf = perf_open(&attr, follower.pid, -1);
	follower_go(&follower);
	follower_ends(&follower);
	is_spin(read_value(perf), "enable_on_exec: perf counts the whole program too");
	close(perf);

	attr.inherit = 1;
	follower_start(&follower, child_spins);
	fd = open_event(&attr, follower.pid, -1);
	follower_go(&follower);
	follower_ends(&follower);
	is_spin(read_value(fd), "enable_on_exec, inherited: only the child that execs is counted");
	close(fd);
}

/* exec this program, which spins on request */
static void exec_twice(int go, int told)
{
	char go_text[12], told_text[12];

	snprintf(go_text, sizeof(go_text), "%d", go);
	snprintf(told_text, sizeof(told_text), "%d", told);
	wait_for_go(go);
	execl("/proc/self/exe", "exec_test", go_text, told_text, NULL);
}

static void once(void)
{
	struct perf_event_attr attr = on_exec();
	struct follower follower;
	uint64_t value;
	int fd;

	follower_start(&follower, exec_twice);
	fd = open_event(&attr, follower.pid, -1);
	follower_go(&follower);
	follower_tells(&follower);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	value = read_value(fd);
	ok(value > 0, "enable_on_exec: the first exec enables");
	follower_go(&follower);
	is(follower_ends(&follower), 0, "enable_on_exec: a second exec succeeds");
	is(read_value(fd), value, "enable_on_exec: a second exec does not enable again");
	close(fd);
}

static void fails(int go, int told)
{
	wait_for_go(go);
	execl("/nonexistent", "no", NULL);
	execl("/proc/self/status", "no", NULL);
	execl("/proc", "no", NULL);
	syscall(SYS_execve, spin_path(), 8, NULL);
	tell(told, errno);
	wait_for_go(go);
	spin();
}

static void failing(void)
{
	struct perf_event_attr attr = on_exec(), removed = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	struct ring ring;
	uint64_t value;
	int fd, other;

	removed.remove_on_exec = 1;
	removed.disabled = 0;
	follower_start(&follower, fails);
	fd = open_event(&attr, follower.pid, -1);
	other = open_event(&removed, follower.pid, -1);
	map_ring(&ring, other, 1);
	follower_go(&follower);
	is(follower_tells(&follower), EFAULT, "the last failing exec returns EFAULT");
	is(read_value(fd), 0, "a failing exec does not enable");
	is(revents(other), 0, "a failing exec does not remove");
	value = read_value(other);
	follower_go(&follower);
	is(follower_ends(&follower), 0, "an exec after failing ones succeeds");
	is_spin(read_value(fd), "an exec after failing ones enables");
	is(revents(other), POLLHUP, "an exec after failing ones removes");
	between(read_value(other), value, value + 1000,
		"remove_on_exec removes before the first instruction");
	ring_unmap(&ring);
	close(fd);
	close(other);
}

/* Return: the count that the event keeps after exec */
static uint64_t remove_with(int inherit)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.remove_on_exec = 1;
	attr.inherit = inherit;
	attr.disabled = 0;
	follower_start(&follower, exec_twice);
	fd = open_event(&attr, follower.pid, 0);
	map_ring(&ring, fd, 1);
	is(revents(fd), 0, "remove_on_exec: no POLLHUP before the exec");
	follower_go(&follower);
	follower_tells(&follower);
	is(revents(fd), POLLHUP, "remove_on_exec: POLLHUP after the exec, while the task lives");
	value = read_value(fd);
	ok(value > 0 && value < SPIN, "remove_on_exec: the count of the old program is kept");
	gives(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0,
	      "remove_on_exec: ENABLE of a removed event succeeds");
	gives(door_open_event(&attr, follower.pid, 0, fd, 0), ENODEV,
	      "remove_on_exec: a removed event cannot lead a group");
	follower_go(&follower);
	follower_ends(&follower);
	is(read_value(fd), value, "remove_on_exec: the count stays the same after ENABLE");
	ring_unmap(&ring);
	close(fd);
	return value;
}

static void remove_on_exec(void)
{
	struct perf_event_attr attr = on_exec();

	attr.remove_on_exec = 1;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL,
	      "remove_on_exec with enable_on_exec is refused");
	remove_with(0);
	remove_with(1);
}

/* the child's exec removes the child event; the parent event stays */
static void removed_copy(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.remove_on_exec = 1;
	attr.inherit = 1;
	attr.disabled = 0;
	follower_start(&follower, child_spins);
	fd = open_event(&attr, follower.pid, 0);
	map_ring(&ring, fd, 1);
	follower_go(&follower);
	follower_ends(&follower);
	value = read_value(fd);
	between(value, ROUNDS * WORK_ROUND, SPIN / 2,
		"exec removes a child event and adds its count");
	is(revents(fd), POLLHUP, "the parent event reports POLLHUP when its task ends");
	ring_unmap(&ring);
	close(fd);
}

int main(int argc, char **argv)
{
	int log = kernel_log_open();

	if (argc > 2) {
		tell(atoi(argv[2]), getpid());
		wait_for_go(atoi(argv[1]));
		spin();
		return 1;
	}
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(4 + 3 + 7 + 1 + 2 * 6 + 2 + 2);
	cpu_pin(0);
	enable_on_exec();
	once();
	failing();
	remove_on_exec();
	removed_copy();
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
