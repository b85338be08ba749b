// SPDX-License-Identifier: GPL-2.0
/*
 * A task forks while its group grows and shrinks, and no child is missed. Each child
 * does its share of the work, and the leader's count includes all of it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define FORKS		200
#define SIBLINGS	400
#define MORE		16
#define ROUNDS		1000

static atomic_bool stop;
static atomic_ulong opened;
static pid_t target;

static int open_sibling(int leader)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	int fd;

	attr.inherit = 1;
	fd = door_open_event(&attr, target, -1, leader, 0);
	if (fd < 0)
		bail_out("the group does not grow");
	opened++;
	return fd;
}

static void *grow_and_shrink(void *data)
{
	int fds[MORE];

	cpu_pin(1);
	while (!stop) {
		for (int i = 0; i < MORE; i++)
			fds[i] = open_sibling(*(int *)data);
		for (int i = 0; i < MORE; i++)
			close(fds[i]);
	}
	return NULL;
}

static void fork_and_work(void)
{
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child < 0)
			bail_out("no process");
		if (!child) {
			work(ROUNDS);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

/* Return: the value of the leader, which alone is counting or a clock */
static uint64_t count_forks(struct perf_event_attr attr)
{
	int fd, siblings[SIBLINGS];
	pthread_t thread;
	uint64_t value;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = open_self(&attr);
	/* more siblings make the window of the copy longer */
	for (int i = 0; i < SIBLINGS; i++)
		siblings[i] = open_sibling(fd);
	pthread_create(&thread, NULL, grow_and_shrink, &fd);
	fork_and_work();
	stop = true;
	pthread_join(thread, NULL);
	value = read_value(fd);
	close(fd);
	for (int i = 0; i < SIBLINGS; i++)
		close(siblings[i]);
	return value;
}

int main(void)
{
	int log = kernel_log_open();
	uint64_t missed = module_info().not_inherited;

	if (cpu_possible() < 2 || !cpu_is_online(1))
		return skip_all("one CPU");
	plan(3 + 2);
	cpu_pin(0);
	target = getpid();
	if (pmu_is_there())
		ok(count_forks(hardware(PERF_COUNT_HW_INSTRUCTIONS)) >=
		   (uint64_t)FORKS * ROUNDS * WORK_ROUND, "each child is counted");
	else
		ok(count_forks(software(PERF_COUNT_SW_TASK_CLOCK)),
		   "no PMU: a clock counts each child");
	ok(opened > SIBLINGS + MORE,
	   "the group grows %lu times during the forks", (unsigned long)opened);
	is(module_info().not_inherited, missed, "no child event is missed");
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
