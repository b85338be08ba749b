// SPDX-License-Identifier: GPL-2.0
/*
 * switch_cost: the cost of a context switch with events on the tasks.
 *
 *	switch_cost perf|pmuring
 *
 * Two threads on one CPU, left and right, throw a ball to and fro by two
 * eventfds; each throw ends in one context switch. The left one measures each
 * round trip. It prints half of the median: the cost of one direction, including the
 * kernel's own switch and the eventfds. scripts/bench/table.py subtracts the row
 * without events.
 *
 * All rounds must take the same path through the kernel. Hence threads (the cost of an
 * address space switch depends on its PCID), eventfds (pipes update access times),
 * real-time priority (no preemption), and pauses for kernel threads (waiting ones change
 * the cost of a switch). The events count user mode only, so that the measured kernel
 * instructions do not change them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "ring_reader.h"

#define ROUNDS		2000
#define WARM_UP		200
#define THROWS		(WARM_UP + ROUNDS)
/* rounds without a pause */
#define RALLY		20
#define PAUSE_US	5000
/* minimum user instructions of a throw and a catch */
#define THROW_LENGTH	10
#define MAX_EVENTS	1000
/* more events than this rotate */
#define MAX_AT_ONCE	8
#define CROWD		2000
/* too long to overflow: sample_cost measures samples */
#define PERIOD		100000007
#define RING_PAGES	8

/* tasks that open events */
enum { LEFT = 1, RIGHT = 2, PARENT = 4 };

/**
 * struct row - one arrangement of events
 * @name: name of the result
 * @who: tasks that open events before the first throw
 * @events: how many each of them opens
 * @inherit: left and right inherit their parent's
 * @sampling: the events sample, each into its own ring
 * @crowd: number of sleeping tasks of another process, with an event each
 */
struct row {
	const char *name;
	unsigned int who;
	unsigned int events;
	bool inherit;
	bool sampling;
	unsigned int crowd;
};

static const struct row rows[] = {
	{ .name = "switch: no event yet" },
	{ .name = "switch: 1 event", .who = LEFT | RIGHT, .events = 1 },
	{ .name = "switch: 4 events", .who = LEFT | RIGHT, .events = 4 },
	{ .name = "switch: 8 events", .who = LEFT | RIGHT, .events = 8 },
	{ .name = "switch: 4 events on one task", .who = LEFT, .events = 4 },
	{ .name = "switch: 1 event on a sleeper", .who = PARENT, .events = 1 },
	{ .name = "switch: 1 event inherited", .who = PARENT, .events = 1, .inherit = true },
	{ .name = "switch: 4 events inherited", .who = PARENT, .events = 4, .inherit = true },
	{ .name = "switch: 4 sampling events", .who = LEFT | RIGHT, .events = 4, .sampling = true },
	{ .name = "switch: 1000 events on one task", .who = LEFT, .events = MAX_EVENTS },
	{ .name = "switch: 2000 other tasks with events", .crowd = CROWD },
	{ .name = "switch: no event any more" },
};

/**
 * struct events - the open events of one thread
 * @fds: their descriptors
 * @rings: their rings, if they sample
 * @count: how many
 */
struct events {
	int fds[MAX_EVENTS];
	struct ring rings[MAX_EVENTS];
	unsigned int count;
};

static struct perf_event_attr attr_of(const struct row *row)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = row->inherit,
	};

	if (row->sampling) {
		attr.sample_period = PERIOD;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				   PERF_SAMPLE_PERIOD;
	}
	return attr;
}

static void open_events(struct events *events, const struct row *row)
{
	struct perf_event_attr attr = attr_of(row);
	unsigned int i;

	for (i = 0; i < row->events; i++) {
		events->fds[i] = bench_open(&attr, -1);
		if (events->fds[i] < 0)
			bench_fail("cannot open an event");
		if (row->sampling && ring_map(&events->rings[i], events->fds[i], RING_PAGES))
			bench_fail("cannot map a ring");
	}
	events->count = row->events;
}

/* An event that waits for a counter costs less than one that counts. */
static void check_events(const struct events *events, uint64_t count)
{
	struct { uint64_t count, enabled, running; } values;
	unsigned int i;

	for (i = 0; i < events->count; i++) {
		if (read(events->fds[i], &values, sizeof(values)) != sizeof(values))
			bench_fail("cannot read an event");
		errno = 0;
		if (values.count < count && events->count <= MAX_AT_ONCE)
			bench_fail("an event has not counted what was measured");
		if (values.enabled != values.running && events->count <= MAX_AT_ONCE)
			bench_fail("an event was not on a counter all the time");
	}
}

/**
 * struct side - one of the two threads
 * @row: what it has to do
 * @in: eventfd from which it catches
 * @out: eventfd to which it throws
 * @thread: its thread
 */
struct side {
	const struct row *row;
	int in;
	int out;
	pthread_t thread;
};

/* The first throw signals that its events are open. */
static void *play_right(void *arg)
{
	const struct side *side = arg;
	static struct events events;

	if (side->row->who & RIGHT)
		open_events(&events, side->row);
	bench_throw(side->out);
	for (int i = 0; i < THROWS; i++) {
		bench_catch(side->in);
		bench_throw(side->out);
	}
	check_events(&events, THROWS * THROW_LENGTH);
	return NULL;
}

static unsigned long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static double measure(const struct side *side)
{
	static uint64_t cost[THROWS];
	unsigned long before = switches(), rounds;

	for (int i = 0; i < THROWS; i++) {
		uint64_t begin;

		if (i % RALLY == 0)
			usleep(PAUSE_US);
		begin = bench_now();
		bench_throw(side->out);
		bench_catch(side->in);
		cost[i] = bench_now() - begin;
	}
	errno = 0;
	rounds = switches() - before - THROWS / RALLY;
	if (rounds < THROWS || rounds > THROWS * 101 / 100)
		bench_fail("a round trip was not two context switches");
	return bench_median(cost + WARM_UP, ROUNDS) / 2;
}

static void *play_left(void *arg)
{
	const struct side *side = arg;
	static struct events events;
	double cost;

	if (side->row->who & LEFT)
		open_events(&events, side->row);
	bench_catch(side->in);
	cost = measure(side);
	check_events(&events, THROWS * THROW_LENGTH);
	bench_result(side->row->name, cost);
	return NULL;
}

static void play_both(const struct row *row)
{
	int to_left = eventfd(0, EFD_CLOEXEC), to_right = eventfd(0, EFD_CLOEXEC);
	struct side left = { .row = row, .in = to_left, .out = to_right };
	struct side right = { .row = row, .in = to_right, .out = to_left };

	if (to_left < 0 || to_right < 0)
		bench_fail("eventfd");
	errno = pthread_create(&right.thread, NULL, play_right, &right);
	if (!errno)
		errno = pthread_create(&left.thread, NULL, play_left, &left);
	if (errno)
		bench_fail("pthread_create");
	pthread_join(left.thread, NULL);
	pthread_join(right.thread, NULL);
}

/* The parent of both, in a process of its own, with which its events end. */
static void play(const struct row *row)
{
	const struct sched_param param = { .sched_priority = 1 };
	static struct events events;

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		bench_fail("cannot get a real-time priority (run as root)");
	if (row->who & PARENT)
		open_events(&events, row);
	play_both(row);
	check_events(&events, row->inherit ? 2 * THROWS * THROW_LENGTH : 1);
	exit(0);
}

static void play_in_child(const struct row *row)
{
	struct perf_event_attr attr = attr_of(row);
	pid_t crowd = row->crowd ? bench_crowd(&attr, row->crowd) : 0;
	int status;
	pid_t pid = fork();

	if (!pid)
		play(row);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		bench_fail("fork");
	if (crowd)
		bench_end_crowd(crowd);
	if (status)
		exit(1);
}

static bool is_offered(const struct row *row)
{
	struct perf_event_attr attr = attr_of(row);
	int fd;

	if (!row->events)
		return true;
	fd = bench_open(&attr, -1);
	if (fd < 0)
		bench_not_offered(row->name, &attr);
	else
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv);
	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!is_offered(&rows[i]))
			continue;
		/* perf leaves its hooks in the scheduler for one more second */
		if (!rows[i].events && !rows[i].crowd)
			sleep(3);
		play_in_child(&rows[i]);
	}
	return 0;
}
