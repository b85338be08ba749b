// SPDX-License-Identifier: GPL-2.0
/*
 * PERIOD and REFRESH, by the resulting samples.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define ROUNDS	10000
#define PERIOD	16000

static int open_ring(struct ring *ring, struct perf_event_attr *attr)
{
	int fd;

	attr->read_format = FORMAT_TIMES;
	fd = open_self(attr);
	must_map(ring, fd, 8);
	return fd;
}

static void say_work(struct ring *ring, int fd)
{
	work_counted(fd, ROUNDS);
	say("samples=%u", tally_number(ring, PERF_RECORD_SAMPLE));
}

static void set_period(int fd, uint64_t period)
{
	say_result("period", ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
}

static void change_while_off(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	say_work(&ring, fd);
	set_period(fd, PERIOD / 2);
	say_work(&ring, fd);
	set_period(fd, PERIOD * 4);
	say_work(&ring, fd);
}

/* The rest of the old period is dropped. */
static void change_is_immediate(void)
{
	struct perf_event_attr attr = sampling(1ULL << 40, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	enable(fd);
	work(ROUNDS);
	set_period(fd, PERIOD);
	work(ROUNDS);
	disable(fd);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
}

static void refused_changes_nothing(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	set_period(fd, 0);
	set_period(fd, 1ULL << 63);
	set_period(fd, ~0ULL);
	say_work(&ring, fd);
}

static void of_frequency(void)
{
	struct perf_event_attr attr = sampling(1000, PERF_SAMPLE_IP);
	int fd;

	attr.freq = 1;
	fd = open_self(&attr);
	set_period(fd, 0);
	set_period(fd, 4000);
	set_period(fd, 1000000);
	set_period(fd, 1000001);
	set_period(fd, 1ULL << 63);
}

static void of_software(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	int fd = open_self(&attr);

	set_period(fd, 1000);
	attr.sample_period = 1000000;
	fd = open_self(&attr);
	set_period(fd, 0);
	set_period(fd, 2000000);
	set_period(fd, 1ULL << 63);
}

static void of_sibling(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	int leader = open_self(&attr);
	int sibling = must_open(&attr, 0, -1, leader);

	set_period(sibling, PERIOD * 2);
	set_period(leader, 0);
}

static void very_short(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	for (uint64_t period = 1; period <= 256; period *= 4)
		set_period(fd, period);
}

/* REFRESH n: n overflows, then off. */
static void refresh(int n, unsigned int add)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	say_result("refresh", ioctl(fd, PERF_EVENT_IOC_REFRESH, n));
	if (add)
		say_result("again", ioctl(fd, PERF_EVENT_IOC_REFRESH, add));
	work(ROUNDS);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
	say_poll("poll", fd);
	say_behaviour("then", fd);
}

static void refresh_0(void)
{
	refresh(0, 0);
}

static void refresh_1(void)
{
	refresh(1, 0);
}

static void refresh_3(void)
{
	refresh(3, 0);
}

static void refresh_sum(void)
{
	refresh(2, 3);
}

static void refresh_many(void)
{
	refresh(1000, 0);
}

static void refresh_negative(void)
{
	refresh(-1, 0);
}

static void refresh_after_limit(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	for (int i = 0; i < 3; i++) {
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		work(ROUNDS);
		say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
		say_behaviour("then", fd);
	}
}

static void enable_after_limit(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_ring(&ring, &attr);

	ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
	work(ROUNDS);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
	enable(fd);
	work(ROUNDS);
	disable(fd);
	say("enabled=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
}

static void refresh_inherited(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	int fd;

	attr.inherit = 1;
	fd = open_self(&attr);
	say_result("refresh", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
}

static void refresh_without_ring(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct count count;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
	work(ROUNDS);
	read_count(fd, &count);
	say("count=%s", count.value < PERIOD * 2 ? "short" :
	    count.value < PERIOD * 2 + 1000 ? "two-periods" : "more");
	say_behaviour("then", fd);
}

static const struct simple_case simple[] = {
	{ "while-off", change_while_off },
	{ "immediate", change_is_immediate },
	{ "refused", refused_changes_nothing },
	{ "frequency", of_frequency },
	{ "software", of_software },
	{ "sibling", of_sibling },
	{ "very-short", very_short },
};

static const struct simple_case refreshes[] = {
	{ "0", refresh_0 },
	{ "1", refresh_1 },
	{ "3", refresh_3 },
	{ "sum", refresh_sum },
	{ "many", refresh_many },
	{ "negative", refresh_negative },
	{ "after-limit", refresh_after_limit },
	{ "enable-after-limit", enable_after_limit },
	{ "inherited", refresh_inherited },
	{ "without-ring", refresh_without_ring },
};

/**
 * theme_period - PERIOD and REFRESH
 */
void theme_period(void)
{
	run_simple("period", simple, ARRAY_SIZE(simple));
	run_simple("refresh", refreshes, ARRAY_SIZE(refreshes));
}
