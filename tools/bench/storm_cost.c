// SPDX-License-Identifier: GPL-2.0
/*
 * storm_cost: what an unprivileged user that does its worst costs the switches,
 * opens and closes of another user on the same CPU.
 *
 *	storm_cost perf|pmuring
 *
 * The storm is a process of its own, of ordinary priority. The victim has a real-time
 * priority: it sleeps until a moment that it knows, and so interrupts the storm
 * anywhere. Then it measures one open, one close and one round trip between two of its
 * threads, each of which has an event. What it has to wait for, since the storm holds
 * it, is part of the price.
 *
 * Printed are means: one wait in a hundred counts. "latest wake-up" is the longest time
 * from that moment to the victim's first instruction, during which the storm kept the CPU.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "ring_reader.h"

#define ROUNDS		400
#define WARM_UP		20
#define PAUSE_NS	1000000
/* The pauses differ, so that they end at different places of the storm. */
#define STEP_NS		7919
#define STEPS		97
#define NOBODY		65534
#define RINGS		2
#define RING_PAGES	8
#define WRITERS		1000
/* perf has no limit; pmuring has one of its own, below this */
#define MOST_EVENTS	2080

static struct perf_event_attr counting = {
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

static struct perf_event_attr inherited = {
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.exclude_kernel = 1,
	.exclude_hv = 1,
	.inherit = 1,
};

static int must_open(struct perf_event_attr *attr)
{
	int fd = bench_open(attr, -1);

	if (fd < 0)
		bench_fail("cannot open an event");
	return fd;
}

/**
 * struct storm - what another user does all the time
 * @name: for the rows
 * @prepare: opens what it needs
 * @strike: does it once
 */
struct storm {
	const char *name;
	void (*prepare)(void);
	void (*strike)(void);
};

static void open_and_close(void)
{
	close(must_open(&counting));
}

static void open_and_close_with_maps(void)
{
	struct perf_event_attr attr = counting;

	attr.mmap = 1;
	close(must_open(&attr));
}

static void open_most(void)
{
	for (int i = 0; i < MOST_EVENTS; i++)
		if (bench_open(&inherited, -1) < 0 && errno == EMFILE)
			return;
}

static void fork_and_wait(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		bench_fail("fork");
}

static int rings[RINGS], writers[WRITERS];

static void open_writers(void)
{
	static struct ring mapped[RINGS];

	for (int i = 0; i < RINGS; i++) {
		rings[i] = must_open(&counting);
		if (ring_map(&mapped[i], rings[i], RING_PAGES))
			bench_fail("cannot map a ring");
	}
	for (int i = 0; i < WRITERS; i++)
		writers[i] = must_open(&counting);
}

static void set_outputs(void)
{
	for (int ring = 0; ring < RINGS; ring++)
		for (int i = 0; i < WRITERS; i++)
			if (ioctl(writers[i], PERF_EVENT_IOC_SET_OUTPUT, rings[ring]))
				bench_fail("SET_OUTPUT");
}

static void prepare_nothing(void)
{
}

static void strike_nothing(void)
{
	pause();
}

static const struct storm storms[] = {
	{ "calm", prepare_nothing, strike_nothing },
	{ "open + close", prepare_nothing, open_and_close },
	{ "SET_OUTPUT", open_writers, set_outputs },
	{ "map events", prepare_nothing, open_and_close_with_maps },
	{ "fork most events", open_most, fork_and_wait },
};

static void rage(const void *arg, int ready)
{
	const struct storm *storm = arg;
	const struct sched_param ordinary = { .sched_priority = 0 };

	if (sched_setscheduler(0, SCHED_OTHER, &ordinary))
		bench_fail("sched_setscheduler");
	if (setgid(NOBODY) || setuid(NOBODY))
		bench_fail("cannot become another user");
	storm->prepare();
	if (write(ready, "", 1) != 1)
		bench_fail("write");
	for (;;)
		storm->strike();
}

static void end(const struct storm *storm, pid_t pid)
{
	if (waitpid(pid, NULL, WNOHANG))
		bench_fail(storm->name);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int to_partner, to_victim;

/* Throws back whatever comes, for as long as the program lives. */
static void *play_partner(void *arg)
{
	(void)arg;
	must_open(&counting);
	bench_throw(to_victim);
	for (;;) {
		bench_catch(to_partner);
		bench_throw(to_victim);
	}
	return NULL;
}

static void start_partner(void)
{
	pthread_t thread;

	to_partner = eventfd(0, EFD_CLOEXEC);
	to_victim = eventfd(0, EFD_CLOEXEC);
	if (to_partner < 0 || to_victim < 0)
		bench_fail("eventfd");
	errno = pthread_create(&thread, NULL, play_partner, NULL);
	if (errno)
		bench_fail("pthread_create");
	bench_catch(to_victim);
}

/* Under -icount a nanosecond of this clock is an instruction. */
static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Return: how much later than asked for the victim ran. */
static uint64_t sleep_for(uint64_t ns)
{
	uint64_t until = clock_ns() + ns;
	struct timespec at = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	if (errno)
		bench_fail("clock_nanosleep");
	return clock_ns() - until;
}

/**
 * struct prices - what the victim's steps have cost
 * @opens: opens
 * @closes: closes
 * @switches: switches
 * @latest: longest time to wake up
 */
struct prices {
	uint64_t opens;
	uint64_t closes;
	uint64_t switches;
	uint64_t latest;
};

static void pay(struct prices *prices, uint64_t late)
{
	uint64_t times[4];
	int fd;

	times[0] = bench_now();
	fd = must_open(&counting);
	times[1] = bench_now();
	close(fd);
	times[2] = bench_now();
	bench_throw(to_partner);
	bench_catch(to_victim);
	times[3] = bench_now();
	prices->opens += times[1] - times[0];
	prices->closes += times[2] - times[1];
	prices->switches += (times[3] - times[2]) / 2;
	if (late > prices->latest)
		prices->latest = late;
}

static void print_price(const struct storm *storm, const char *what, double price)
{
	char row[80];

	snprintf(row, sizeof(row), "storm: %s: %s", storm->name, what);
	bench_result(row, price);
}

static void measure(const struct storm *storm)
{
	struct prices prices = {}, warm_up = {};
	pid_t pid = bench_child(rage, storm);
	uint64_t late;

	for (int i = 0; i < WARM_UP + ROUNDS; i++) {
		late = sleep_for(PAUSE_NS + i % STEPS * STEP_NS);
		pay(i < WARM_UP ? &warm_up : &prices, late);
	}
	end(storm, pid);
	print_price(storm, "open", prices.opens / (double)ROUNDS);
	print_price(storm, "close", prices.closes / (double)ROUNDS);
	print_price(storm, "switch", prices.switches / (double)ROUNDS);
	print_price(storm, "latest wake-up", prices.latest);
}

static void become_victim(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	bench_raise_limits();
	must_open(&counting);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		bench_fail("cannot get a real-time priority (run as root)");
	/* its own event stays open: the storm's are never the first or the last */
	start_partner();
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv);
	become_victim();
	for (unsigned int i = 0; i < ARRAY_SIZE(storms); i++)
		measure(&storms[i]);
	return 0;
}
