// SPDX-License-Identifier: GPL-2.0
/*
 * What the measuring programs share; see bench.h. Owns which contestant this
 * process measures.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "door.h"

#define MOST_FILES	16384
#define STACK_SIZE	(64 * 1024)

static const char *contestant = "nobody";
static bool is_pmuring;

/**
 * bench_fail - end the program because its numbers would be invalid
 * @what: what went wrong; errno says why, unless it is 0
 */
void bench_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s%s%s\n", program_invocation_short_name, contestant, what,
		errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

static void stay_on_cpu_0(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bench_fail("cannot run on CPU 0");
}

/* devtmpfs makes the node in its own time */
static void wait_for_door(void)
{
	for (int i = 0; i < 100 && door_fd() < 0; i++)
		usleep(10000);
	if (door_fd() < 0)
		bench_fail(door_explain_node(errno));
}

/**
 * bench_begin - parse the contestant and prepare the process
 * @argc: as main() got it
 * @argv: as main() got it
 */
void bench_begin(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "perf") && strcmp(argv[1], "pmuring"))) {
		fprintf(stderr, "usage: %s perf|pmuring\n", program_invocation_short_name);
		exit(1);
	}
	contestant = argv[1];
	is_pmuring = !strcmp(contestant, "pmuring");
	stay_on_cpu_0();
	if (is_pmuring)
		wait_for_door();
	/* otherwise a child would print the parent's buffered output again */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/**
 * bench_open - open an event of the calling task, on whatever CPU it runs
 * @attr: what to count or sample; its size is filled in
 * @group_fd: leader, or -1
 *
 * Return: the event's descriptor, or -1 with errno
 */
int bench_open(struct perf_event_attr *attr, int group_fd)
{
	attr->size = sizeof(*attr);
	if (is_pmuring)
		return door_open_event(attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
	return syscall(SYS_perf_event_open, attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/**
 * bench_raise_limits - as many descriptors as a crowd needs; for root only
 */
void bench_raise_limits(void)
{
	struct rlimit limit = { MOST_FILES, MOST_FILES };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		bench_fail("cannot raise RLIMIT_NOFILE");
}

/* sleeps with its event until the process is killed */
static void *stand(void *arg)
{
	if (bench_open(arg, -1) < 0)
		bench_fail("one of a crowd cannot open its event");
	for (;;)
		pause();
}

struct crowd {
	struct perf_event_attr *attr;
	unsigned int tasks;
};

static void gather(const void *arg, int ready)
{
	const struct crowd *crowd = arg;
	unsigned int tasks = crowd->tasks;
	pthread_attr_t small;
	pthread_t thread;

	bench_raise_limits();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_SIZE);
	while (tasks--) {
		errno = pthread_create(&thread, &small, stand, crowd->attr);
		if (errno)
			bench_fail("pthread_create");
		/* otherwise all would start before they open their events */
		sched_yield();
	}
	/* behind all of them: they are of equal priority and run in turn */
	sleep(1);
	if (write(ready, "", 1) != 1)
		bench_fail("write");
	for (;;)
		pause();
}

/**
 * bench_throw - wake the thread that catches from an eventfd
 * @fd: eventfd
 */
void bench_throw(int fd)
{
	if (eventfd_write(fd, 1))
		bench_fail("eventfd_write");
}

/**
 * bench_catch - wait for a throw to an eventfd
 * @fd: eventfd
 */
void bench_catch(int fd)
{
	eventfd_t balls;

	if (eventfd_read(fd, &balls))
		bench_fail("eventfd_read");
}

/**
 * bench_child - start a process that works until it is killed
 * @run: what it does
 * @arg: for @run
 *
 * Return: its pid, when it has begun
 */
pid_t bench_child(bench_child_fn run, const void *arg)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		bench_fail("pipe");
	pid = fork();
	if (!pid)
		run(arg, ready[1]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		bench_fail("a child has not begun");
	close(ready[0]);
	return pid;
}

/**
 * bench_crowd - start another process with many sleeping threads
 * @attr: the event that each opens on itself
 * @tasks: how many threads
 *
 * Return: its pid, for bench_end_crowd()
 */
pid_t bench_crowd(struct perf_event_attr *attr, unsigned int tasks)
{
	const struct crowd crowd = { .attr = attr, .tasks = tasks };

	return bench_child(gather, &crowd);
}

/**
 * bench_end_crowd - end that process and wait until it is gone
 * @pid: from bench_crowd()
 */
void bench_end_crowd(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/**
 * bench_result - print one number
 * @row: name of the measured row
 * @value: the number
 */
void bench_result(const char *row, double value)
{
	printf("%s\t%s\t%.1f\n", row, contestant, value);
}

/**
 * bench_not_offered - print that the contestant does not offer a row's events
 * @row: name of the row
 * @attr: the event that did not open; errno says why
 */
void bench_not_offered(const char *row, const struct perf_event_attr *attr)
{
	printf("%s\t%s\t-\t%s\n", row, contestant,
	       is_pmuring ? door_explain_event(errno, attr, 0, -1) : strerror(errno));
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/**
 * bench_median - median of many measurements
 * @values: the measurements; they are sorted here
 * @count: how many, at least one
 *
 * A timer tick adds thousands of instructions to one measurement in a few
 * hundred. The mean would carry them, the median does not.
 *
 * Return: the median
 */
double bench_median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}
