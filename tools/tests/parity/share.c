// SPDX-License-Identifier: GPL-2.0
/*
 * Overcommitted resources: events that rotate on the counters, and samples beyond the
 * rate limit.
 */
#include <unistd.h>

#include "parity.h"
#include "workload.h"

/* more than any PMU has counters for branches */
#define EVENTS	16
/* of work, each an instruction of a nanosecond */
#define LONG	(200000000 / WORK_ROUND)

static int open_on(struct perf_event_attr attr, int leader)
{
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	return must_open(&attr, 0, -1, leader);
}

/* Each event runs, and its scaled count is that of an event that always ran. */
static void say_turns(const int *fd, int number)
{
	unsigned int ran = 0, whole = 0, scaled = 0;
	struct count count;
	double value;

	for (int i = 0; i < number; i++) {
		if (!read_count(fd[i], &count))
			give_up("read: %s", error_name(-1));
		ran += count.running > 0;
		whole += count.running == count.enabled;
		value = count.running ? (double)count.value * count.enabled / count.running : 0;
		scaled += value > LONG * 0.9 && value < LONG * 1.1;
	}
	say("events=%d ran=%u always=%u scaled-right=%u", number, ran, whole, scaled);
}

static void take_turns(void)
{
	int fd[EVENTS];

	for (int i = 0; i < EVENTS; i++)
		fd[i] = open_on(branches(), -1);
	work(LONG);
	say_turns(fd, EVENTS);
}

static void groups_take_turns(void)
{
	int fd[EVENTS];

	for (int i = 0; i < EVENTS; i += 4)
		for (int j = 0; j < 4; j++)
			fd[i + j] = open_on(branches(), j ? fd[i] : -1);
	work(LONG);
	say_turns(fd, EVENTS);
}

/* A pinned event does not rotate. */
static void pinned_among_many(void)
{
	struct perf_event_attr attr = branches();
	struct count count;
	int pinned;

	for (int i = 0; i < EVENTS; i++)
		open_on(branches(), -1);
	attr.pinned = 1;
	pinned = open_on(attr, -1);
	work(LONG / 4);
	read_count(pinned, &count);
	say("pinned=%s", count.running == count.enabled ? "always" : "sometimes");
}

static void enough_room(void)
{
	int fd[4];

	for (int i = 0; i < 4; i++)
		fd[i] = open_on(branches(), -1);
	work(LONG);
	say_turns(fd, 4);
}

/* Too many samples: THROTTLE, and UNTHROTTLE at the next tick. */
static void throttled(void)
{
	struct perf_event_attr attr = sampling(20000, PERF_SAMPLE_IP);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	must_map(&ring, fd, 128);
	work_counted(fd, LONG);
	drain(&ring, &tally, NULL, NULL);
	say("throttle=%s size=%u", tally.number[PERF_RECORD_THROTTLE] ? "some" : "none",
	    tally.size[PERF_RECORD_THROTTLE]);
	say("unthrottle=%s size=%u", tally.number[PERF_RECORD_UNTHROTTLE] ? "some" : "none",
	    tally.size[PERF_RECORD_UNTHROTTLE]);
	say("samples=%s", tally.number[PERF_RECORD_SAMPLE] < 200000000 / 20000 ? "fewer" : "all");
}

/* The count of an event while it is throttled. */
static void throttled_count(void)
{
	struct perf_event_attr attr = sampling(20000, PERF_SAMPLE_IP);
	struct count count;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	work_counted(fd, LONG);
	read_count(fd, &count);
	say("count=%s", count.value == (uint64_t)LONG * WORK_ROUND + WORK_TAIL ? "exact" : "less");
	say("times=%s", count.running == count.enabled ? "equal" : "differ");
}

static const struct simple_case turns[] = {
	{ "turns", take_turns },
	{ "turns-of-groups", groups_take_turns },
	{ "pinned", pinned_among_many },
	{ "enough-room", enough_room },
};

static const struct simple_case throttle[] = {
	{ "throttle", throttled },
	{ "throttle-count", throttled_count },
};

/**
 * theme_share - rotation and throttling
 */
void theme_share(void)
{
	run_simple("share", turns, ARRAY_SIZE(turns));
	rate_set(10000);
	run_simple("share", throttle, ARRAY_SIZE(throttle));
	rate_set(1000000);
}
