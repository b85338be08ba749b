// SPDX-License-Identifier: GPL-2.0
/*
 * Inherited events: the work of a tree of processes and threads is counted exactly,
 * in whatever order they exit, and live children follow the ioctls on the event. The
 * kernel's perf has the same counts.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deputy.h"
#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		2000
#define CHILDREN_MAX	4

typedef int (*opener)(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		      uint64_t flags);

static int kernel_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       uint64_t flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

static struct perf_event_attr inherited(uint64_t config)
{
	struct perf_event_attr attr = hardware(config);

	attr.inherit = 1;
	return attr;
}

static void is_work(uint64_t got, uint64_t rounds, const char *what)
{
	uint64_t want = rounds * WORK_ROUND, slack = machine_slack(want);

	between(got + slack, want, want + 2 * slack, "%s: the count is exact", what);
}

/**
 * struct shape - of a family
 * @depth: generations below the first
 * @children: of each but the last
 * @wait: parents wait for their children, or end first
 * @early: children are forked before their parent works, or after
 */
struct shape {
	int depth;
	int children;
	bool wait;
	bool early;
};

static void grow(const struct shape *shape, int depth, uint64_t rounds);

static void bear(const struct shape *shape, int depth, uint64_t rounds, pid_t *pids)
{
	for (int i = 0; depth && i < shape->children; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			bail_out("no process");
		if (!pids[i]) {
			grow(shape, depth - 1, rounds);
			_exit(0);
		}
	}
}

static void grow(const struct shape *shape, int depth, uint64_t rounds)
{
	pid_t pids[CHILDREN_MAX];

	if (shape->early)
		bear(shape, depth, rounds, pids);
	work(rounds);
	if (!shape->early)
		bear(shape, depth, rounds, pids);
	for (int i = 0; depth && shape->wait && i < shape->children; i++)
		waitpid(pids[i], NULL, 0);
}

/* every member holds the pipe; it breaks when the last one exits */
static void live(const struct shape *shape, uint64_t rounds)
{
	int alive[2];
	char byte;

	if (pipe(alive))
		bail_out("no pipe");
	if (!fork()) {
		close(alive[0]);
		grow(shape, shape->depth, rounds);
		_exit(0);
	}
	close(alive[1]);
	if (read(alive[0], &byte, 1))
		bail_out("a process writes");
	close(alive[0]);
	waitpid(-1, NULL, 0);
}

static uint64_t count_life(opener open, const struct shape *shape, uint64_t rounds)
{
	struct perf_event_attr attr = inherited(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t value;

	if (fd < 0)
		bail_out("cannot open an inherited event");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	live(shape, rounds);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	value = read_value(fd);
	close(fd);
	return value;
}

static uint64_t members(const struct shape *shape)
{
	uint64_t all = 1, generation = 1;

	for (int i = 0; i < shape->depth; i++) {
		generation *= shape->children;
		all += generation;
	}
	return all;
}

static void family(const struct shape *shape, const char *what)
{
	uint64_t a, b, perf;

	live(shape, 1);
	a = count_life(door_open_event, shape, ROUNDS);
	b = count_life(door_open_event, shape, 2 * ROUNDS);
	perf = count_life(kernel_open, shape, ROUNDS);
	is_work(b - a, members(shape) * ROUNDS, what);
	between(a + machine_slack(a), perf, perf + 2 * machine_slack(a), "perf has the same count");
}

static void families(void)
{
	static const struct shape deep_wait = { 6, 1, true, true };
	static const struct shape deep_leave = { 6, 1, false, true };
	static const struct shape deep_late = { 6, 1, false, false };
	static const struct shape wide_wait = { 2, 4, true, true };
	static const struct shape wide_leave = { 2, 4, false, false };

	family(&deep_wait, "six generations that wait for their children");
	family(&deep_leave, "six generations that end before their children");
	family(&deep_late, "six generations that end right after they fork");
	family(&wide_wait, "four children with four children each");
	family(&wide_leave, "four children with four each, parents end first");
}

static void *thread_work(void *rounds)
{
	work(*(uint64_t *)rounds);
	return NULL;
}

/* a thread and a process, both of which work */
static uint64_t count_both(struct perf_event_attr attr, uint64_t rounds)
{
	int fd = open_self(&attr);
	pthread_t thread;
	uint64_t value;
	pid_t pid;

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	pthread_create(&thread, NULL, thread_work, &rounds);
	/* to join one that has ended is always the same work */
	sleep_ms(20);
	pthread_join(thread, NULL);
	pid = fork();
	if (!pid) {
		work(rounds);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	value = read_value(fd);
	close(fd);
	return value;
}

static void threads(void)
{
	struct perf_event_attr attr = inherited(PERF_COUNT_HW_INSTRUCTIONS);

	count_both(attr, 1);
	is_work(count_both(attr, 9 * ROUNDS) - count_both(attr, ROUNDS), 16 * ROUNDS,
		"inherit: a thread and a process");
	attr.inherit_thread = 1;
	is_work(count_both(attr, 9 * ROUNDS) - count_both(attr, ROUNDS), 8 * ROUNDS,
		"inherit_thread: the thread alone");
	attr.inherit = 0;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL, "inherit_thread without inherit");
	attr.inherit_thread = 0;
	is_work(count_both(attr, 9 * ROUNDS) - count_both(attr, ROUNDS), 0, "neither: none");
}

static uint64_t run(struct deputies *chain, int fd, uint64_t rounds)
{
	uint64_t before = read_value(fd);

	deputies_run(chain, rounds);
	return read_value(fd) - before;
}

/* what two runs differ by is the work alone */
static void more(struct deputies *chain, int fd, uint64_t rounds, const char *what)
{
	uint64_t once = run(chain, fd, ROUNDS);

	is_work(run(chain, fd, ROUNDS + rounds) - once, rounds, what);
}

static void live_children(void)
{
	struct perf_event_attr attr = inherited(PERF_COUNT_HW_INSTRUCTIONS);
	struct deputies chain;
	uint64_t value;
	int fd;

	attr.disabled = 0;
	deputies_start(&chain);
	fd = open_event(&attr, chain.first, -1);
	more(&chain, fd, ROUNDS, "the task itself");
	for (int i = 0; i < 6; i++)
		deputies_fork(&chain);
	more(&chain, fd, ROUNDS, "a live descendant of the sixth generation");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	is(run(&chain, fd, ROUNDS), 0, "DISABLE reaches a live descendant");
	deputies_fork(&chain);
	is(run(&chain, fd, ROUNDS), 0, "a child forked while disabled does not count");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	more(&chain, fd, ROUNDS, "ENABLE reaches live descendants");
	switch_event(fd, PERF_EVENT_IOC_RESET);
	is(read_value(fd), 0, "RESET clears the count of all");
	more(&chain, fd, ROUNDS, "descendants count on after RESET");
	for (int i = 0; i < 7; i++) {
		value = read_value(fd);
		deputies_kill(&chain, i);
		is(read_value(fd), value, "the exit of ancestor %d keeps the count", i);
	}
	more(&chain, fd, ROUNDS, "the last descendant without its ancestors");
	value = read_value(fd);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	more(&chain, fd, ROUNDS, "DISABLE and ENABLE after the task's exit");
	close(fd);
	deputies_end(&chain);
}

/* RESET keeps the counts of exited children, as in perf */
static uint64_t after_reset(opener open)
{
	struct perf_event_attr attr = inherited(PERF_COUNT_HW_INSTRUCTIONS);
	struct deputies chain;
	uint64_t value;
	int fd;

	attr.disabled = 0;
	deputies_start(&chain);
	fd = open(&attr, chain.first, -1, -1, PERF_FLAG_FD_CLOEXEC);
	deputies_fork(&chain);
	deputies_run(&chain, ROUNDS);
	deputies_kill(&chain, 1);
	/* the child's count is added shortly after its exit */
	sleep_ms(50);
	switch_event(fd, PERF_EVENT_IOC_RESET);
	value = read_value(fd);
	close(fd);
	deputies_end(&chain);
	return value;
}

static void reset_after_end(void)
{
	uint64_t value = after_reset(door_open_event);

	between(value, ROUNDS * WORK_ROUND, 2 * ROUNDS * WORK_ROUND,
		"RESET keeps the count of an exited child");
	between(value + machine_slack(value), after_reset(kernel_open), value + 2 *
		machine_slack(value), "perf has the same count");
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(10 + 4 + 16 + 2 + 2);
	cpu_pin(0);
	families();
	threads();
	live_children();
	reset_after_end();
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
