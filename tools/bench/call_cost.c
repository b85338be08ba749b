// SPDX-License-Identifier: GPL-2.0
/*
 * call_cost: the cost of system calls on events of the calling task, from one user
 * instruction to the next.
 *
 *	call_cost perf|pmuring
 *
 * Prints the median minus that of an empty call. The clock runs on
 * while the CPU is idle, so a call that sleeps is charged for its sleep.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"

#define WARM_UP		20
#define MAX_ROUNDS	1000
#define GROUP		8
#define CROWD		2000

static struct perf_event_attr single = {
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

static struct perf_event_attr member = {
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		       PERF_FORMAT_ID | PERF_FORMAT_GROUP,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

static bool do_nothing(int fd)
{
	return fd == -1;
}

/* Reading an event that waits for a counter would be cheaper. */
static bool do_read(int fd)
{
	struct { uint64_t count, enabled, running; } values;

	return read(fd, &values, sizeof(values)) == sizeof(values) &&
	       values.enabled == values.running;
}

static bool do_read_group(int fd)
{
	struct {
		uint64_t number, enabled, running;
		struct { uint64_t count, id; } events[GROUP];
	} values;

	return read(fd, &values, sizeof(values)) == sizeof(values) &&
	       values.number == GROUP && values.enabled == values.running;
}

static bool do_disable_enable(int fd)
{
	return !ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static bool do_open_close(int fd)
{
	(void)fd;
	fd = bench_open(&single, -1);
	return fd >= 0 && !close(fd);
}

/**
 * struct row - one call
 * @name: name of the result
 * @attr: the events that are open meanwhile
 * @events: how many, in one group
 * @call: what is measured; is given the leader, returns false and errno if it failed
 * @rounds: how often
 * @crowd: number of sleeping tasks of another process, with an event each
 */
struct row {
	const char *name;
	struct perf_event_attr *attr;
	unsigned int events;
	bool (*call)(int fd);
	unsigned int rounds;
	unsigned int crowd;
};

static const struct row nothing = { "", &single, 0, do_nothing, MAX_ROUNDS, 0 };

static const struct row rows[] = {
	{ "call: read", &single, 1, do_read, MAX_ROUNDS, 0 },
	{ "call: read a group of 8", &member, GROUP, do_read_group, MAX_ROUNDS, 0 },
	{ "call: disable + enable", &single, 1, do_disable_enable, MAX_ROUNDS, 0 },
	{ "call: open + close, one more", &single, 1, do_open_close, 300, 0 },
	{ "call: open + close, the only one", &single, 0, do_open_close, 50, 0 },
	{ "call: open + close, 2000 other tasks with events", &single, 1, do_open_close, 300,
	  CROWD },
};

static double measure(const struct row *row, int fd)
{
	static uint64_t cost[WARM_UP + MAX_ROUNDS];
	unsigned int rounds = WARM_UP + row->rounds;

	errno = 0;
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t begin = bench_now();

		if (!row->call(fd))
			bench_fail(row->name);
		cost[i] = bench_now() - begin;
	}
	return bench_median(cost + WARM_UP, row->rounds);
}

static void measure_row(const struct row *row, double loop)
{
	int fds[GROUP] = { -1 };
	pid_t crowd = row->crowd ? bench_crowd(row->attr, row->crowd) : 0;
	unsigned int opened;

	for (opened = 0; opened < row->events; opened++) {
		fds[opened] = bench_open(row->attr, opened ? fds[0] : -1);
		if (fds[opened] < 0)
			break;
	}
	if (opened == row->events)
		bench_result(row->name, measure(row, fds[0]) - loop);
	else
		bench_not_offered(row->name, row->attr);
	while (opened--)
		close(fds[opened]);
	if (crowd)
		bench_end_crowd(crowd);
}

int main(int argc, char **argv)
{
	double loop;

	bench_begin(argc, argv);
	loop = measure(&nothing, -1);
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++)
		measure_row(&rows[i], loop);
	return 0;
}
