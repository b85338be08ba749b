// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the limits of sample/throttle.c: samples per event, time per CPU. Called
 * by KUnit in task context, while no event exists.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <asm/tsc.h>

#include "sample/throttle.h"

static u32 rate_before, percent_before;

static int throttle_init(struct kunit *test)
{
	rate_before = pmr_throttle_rate();
	percent_before = pmr_throttle_percent();
	return 0;
}

static void throttle_exit(struct kunit *test)
{
	pmr_throttle_set_rate(rate_before);
	pmr_throttle_set_percent(percent_before);
}

static void the_defaults_are_linuxs(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_throttle_rate(), 100000);
	KUNIT_EXPECT_EQ(test, pmr_throttle_percent(), 25);
}

static void a_rate_of_zero_is_refused(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(5000), 0);
	KUNIT_EXPECT_EQ(test, pmr_throttle_set_rate(0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pmr_throttle_rate(), 5000);
}

static void more_than_all_time_is_refused(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(100), 0);
	KUNIT_EXPECT_EQ(test, pmr_throttle_set_percent(101), -EINVAL);
	KUNIT_EXPECT_EQ(test, pmr_throttle_percent(), 100);
}

#define TICKS	(4 * HZ)

/**
 * struct steady - an event that would sample at a steady rate, and its ticks
 * @throttle: its budget
 * @tick: jiffies
 * @spacing: between two samples, in 1/@ask of a tick
 * @next: when the next sample is due, from the beginning of the tick, likewise
 * @throttled: it is throttled
 * @samples: samples taken
 * @throttles: how often it was throttled
 * @most: samples in one tick at most, after the first second
 */
struct steady {
	struct pmr_throttle throttle;
	unsigned long tick;
	u64 ask;
	u64 next;
	bool throttled;
	u64 samples;
	u64 throttles;
	u64 most;
};

/* A tick is @ask long, and samples are HZ apart: @ask of them in a second. */
static u64 one_tick(struct steady *steady)
{
	u64 samples = 0;

	if (steady->throttled && pmr_throttle_is_over(&steady->throttle, steady->tick)) {
		steady->throttled = false;
		steady->throttle.told = false;
		steady->next = HZ;
	}
	for (; !steady->throttled && steady->next <= steady->ask; steady->next += HZ) {
		samples++;
		if (steady->throttle.tick != steady->tick)
			pmr_throttle_refill(&steady->throttle, steady->tick);
		if (!pmr_throttle_count(&steady->throttle))
			continue;
		steady->throttled = true;
		steady->throttle.told = true;
		steady->throttles++;
	}
	steady->next -= steady->throttled ? 0 : steady->ask;
	steady->tick++;
	return samples;
}

static void run_steady(struct steady *steady, u64 ask)
{
	unsigned long ticks;
	u64 samples;

	*steady = (struct steady) { .tick = jiffies, .ask = ask, .next = HZ };
	for (ticks = 0; ticks < TICKS; ticks++) {
		samples = one_tick(steady);
		steady->samples += samples;
		if (ticks > HZ)
			steady->most = max(steady->most, samples);
	}
}

static const u32 limits[] = { 1, 100, HZ, HZ + 1, 1000, 4 * HZ, 4000, 10000, 100000 };

/* Asked for in hundredths of the limit: at and below it, all samples. */
static void up_to_the_limit_nothing_is_throttled(struct kunit *test)
{
	static const u32 hundredths[] = { 50, 75, 90, 99, 100 };
	struct steady steady;
	u64 ask;
	int l, i;

	for (l = 0; l < ARRAY_SIZE(limits); l++) {
		KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(limits[l]), 0);
		for (i = 0; i < ARRAY_SIZE(hundredths); i++) {
			ask = div_u64((u64)limits[l] * hundredths[i], 100);
			if (!ask)
				continue;
			run_steady(&steady, ask);
			KUNIT_EXPECT_EQ_MSG(test, steady.throttles, 0, "limit %u, ask %llu",
					    limits[l], ask);
			KUNIT_EXPECT_EQ_MSG(test, steady.samples, ask * TICKS / HZ,
					    "limit %u, ask %llu", limits[l], ask);
		}
	}
}

/* Above it, the limit: what the first two ticks have left is all there is beyond. */
static void above_the_limit_samples_are_the_limit(struct kunit *test)
{
	static const u32 hundredths[] = { 101, 102, 105, 110, 150, 200, 300, 500, 1000, 2000 };
	struct steady steady;
	u64 ask, limit;
	int l, i;

	for (l = 0; l < ARRAY_SIZE(limits); l++) {
		KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(limits[l]), 0);
		limit = (u64)limits[l] * TICKS / HZ;
		for (i = 0; i < ARRAY_SIZE(hundredths); i++) {
			ask = (u64)limits[l] * hundredths[i] / 100;
			run_steady(&steady, ask);
			KUNIT_EXPECT_GE_MSG(test, steady.samples, limit, "limit %u, ask %llu",
					    limits[l], ask);
			KUNIT_EXPECT_LE_MSG(test, steady.samples, limit + 2 * limits[l] / HZ + 2,
					    "limit %u, ask %llu", limits[l], ask);
		}
	}
}

/* An event that asks for far too much has its samples in each tick. */
static void each_tick_has_its_samples(struct kunit *test)
{
	struct steady steady;
	u64 throttles;
	int l;

	for (l = 0; l < ARRAY_SIZE(limits); l++) {
		KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(limits[l]), 0);
		run_steady(&steady, 20ULL * limits[l]);
		throttles = min_t(u64, limits[l], HZ) * TICKS / HZ;
		KUNIT_EXPECT_LE_MSG(test, steady.most, DIV_ROUND_UP(limits[l], HZ), "limit %u",
				    limits[l]);
		KUNIT_EXPECT_GE_MSG(test, steady.throttles, throttles - 2, "limit %u", limits[l]);
		KUNIT_EXPECT_LE_MSG(test, steady.throttles, throttles + 2, "limit %u", limits[l]);
	}
}

/* What PERF_EVENT_IOC_PERIOD adds is taken from the next tick, and not from the next hour. */
static void a_debt_is_paid_within_two_seconds(struct kunit *test)
{
	struct pmr_throttle throttle = { .tick = jiffies - 1, .samples = 1000000, .told = true };
	int l, ticks;

	for (l = 0; l < ARRAY_SIZE(limits); l++) {
		struct pmr_throttle debt = throttle;

		KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(limits[l]), 0);
		for (ticks = 1; !pmr_throttle_is_over(&debt, throttle.tick + ticks); ticks++)
			KUNIT_ASSERT_LE(test, ticks, 2 * HZ);
		KUNIT_EXPECT_LE_MSG(test, ticks, 2 + DIV_ROUND_UP(HZ, limits[l]), "limit %u",
				    limits[l]);
	}
}

/* The last overflow of PERF_EVENT_IOC_REFRESH is no throttling: no tick to wait for. */
static void who_was_not_told_may_begin_at_once(struct kunit *test)
{
	struct pmr_throttle throttle = { .tick = jiffies, .samples = 1000, .told = false };

	KUNIT_EXPECT_TRUE(test, pmr_throttle_is_over(&throttle, throttle.tick));
	throttle.told = true;
	KUNIT_EXPECT_FALSE(test, pmr_throttle_is_over(&throttle, throttle.tick));
}

/* Gives two events that the limits have not seen in this tick. */
static struct pmr_event *two_events(struct kunit *test)
{
	struct pmr_event *events = kunit_kcalloc(test, 2, sizeof(*events), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, events);
	return events;
}

static void start_afresh(struct pmr_event *events, unsigned long now)
{
	int i;

	for (i = 0; i < 2; i++)
		events[i].throttle = (struct pmr_throttle) { .tick = now - 1 };
	this_cpu_ptr(&pmr_sampling_time)->tick = now - 1;
}

typedef void (*tick_fn)(struct pmr_event *events, int *result);

/* Runs a function within one tick of one CPU. */
static void within_a_tick(struct kunit *test, tick_fn fn, int *result)
{
	struct pmr_event *events = two_events(test);
	unsigned long start, end;
	int tries = 100;

	do {
		preempt_disable();
		start = jiffies;
		start_afresh(events, start);
		fn(events, result);
		end = jiffies;
		preempt_enable();
	} while (start != end && --tries);
	KUNIT_ASSERT_GT(test, tries, 0);
}

/* Ten times what a limit of time lets through, and still done within a tick under KCSAN. */
#define MANY	1000

static int samples_until_throttled(struct pmr_event *event, u64 cycles)
{
	int samples;

	for (samples = 1; !pmr_throttle_account(event, cycles) && samples < MANY; samples++)
		;
	return samples;
}

static void count_cheap_samples(struct pmr_event *events, int *result)
{
	result[0] = samples_until_throttled(&events[0], 0);
}

/* The one that passes the limit is a sample yet. */
static void the_limit_ends_a_tick(struct kunit *test)
{
	int samples;

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(5 * HZ), 0);
	within_a_tick(test, count_cheap_samples, &samples);
	KUNIT_EXPECT_EQ(test, samples, 6);
}

/* What a hundredth of a tick takes, the module's own addition included. */
static u64 hundredth(void)
{
	return (u64)tsc_khz * 10 / HZ - pmr_throttle_overhead;
}

static void count_dear_samples(struct pmr_event *events, int *result)
{
	result[0] = samples_until_throttled(&events[0], hundredth());
}

/* 25 hundredths are allowed, the next one is too much; but for rounding. */
static void time_is_limited(struct kunit *test)
{
	int samples;

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(U32_MAX), 0);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(25), 0);
	within_a_tick(test, count_dear_samples, &samples);
	KUNIT_EXPECT_GE(test, samples, 26);
	KUNIT_EXPECT_LE(test, samples, 27);

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(50), 0);
	within_a_tick(test, count_dear_samples, &samples);
	KUNIT_EXPECT_GE(test, samples, 51);
	KUNIT_EXPECT_LE(test, samples, 52);
}

static void time_is_not_limited_by_0_and_100(struct kunit *test)
{
	int samples;

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(U32_MAX), 0);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(0), 0);
	within_a_tick(test, count_dear_samples, &samples);
	KUNIT_EXPECT_EQ(test, samples, MANY);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(100), 0);
	within_a_tick(test, count_dear_samples, &samples);
	KUNIT_EXPECT_EQ(test, samples, MANY);
}

/* The first sample finds the tick new; what it leads to takes all that is left. */
static void wake_readers(struct pmr_event *events, int *result)
{
	int i;

	result[0] = pmr_throttle_account(&events[0], hundredth());
	for (i = 0; i < 23; i++)
		pmr_throttle_charge(hundredth());
	result[1] = pmr_throttle_account(&events[0], hundredth());
	pmr_throttle_charge(hundredth());
	result[2] = pmr_throttle_account(&events[0], hundredth());
}

static void what_follows_is_limited(struct kunit *test)
{
	int result[3];

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(U32_MAX), 0);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(25), 0);
	within_a_tick(test, wake_readers, result);
	KUNIT_EXPECT_FALSE(test, result[0]);
	KUNIT_EXPECT_FALSE(test, result[1]);
	KUNIT_EXPECT_TRUE(test, result[2]);
}

static void one_samples_more_than_the_other(struct pmr_event *events, int *result)
{
	int i;

	for (i = 0; i < 24; i++)
		pmr_throttle_account(&events[0], hundredth());
	/* The second event takes the time beyond the limit. */
	result[0] = pmr_throttle_account(&events[1], hundredth());
	result[1] = pmr_throttle_account(&events[1], hundredth());
	result[2] = pmr_throttle_account(&events[1], hundredth());
	/* The first one has had most of it. */
	result[3] = pmr_throttle_account(&events[0], hundredth());
	result[4] = samples_until_throttled(&events[1], hundredth());
}

static void who_samples_most_pays(struct kunit *test)
{
	int result[5];

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(U32_MAX), 0);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(25), 0);
	within_a_tick(test, one_samples_more_than_the_other, result);
	KUNIT_EXPECT_FALSE(test, result[0]);
	KUNIT_EXPECT_FALSE(test, result[1]);
	KUNIT_EXPECT_FALSE(test, result[2]);
	KUNIT_EXPECT_TRUE(test, result[3]);
	/* Then a quarter of the limit is left for the others. */
	KUNIT_EXPECT_GE(test, result[4], 6);
	KUNIT_EXPECT_LE(test, result[4], 8);
}

static void throttle_again_and_again(struct pmr_event *events, int *result)
{
	int i, samples = 0;

	for (i = 0; i < 20; i++) {
		samples += samples_until_throttled(&events[i % 2], hundredth());
		events[i % 2].throttle.samples = 0;
	}
	result[0] = samples;
}

/* However many there are: 25 and half of it, and one for each throttling. */
static void many_events_do_not_take_more(struct kunit *test)
{
	int samples;

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(U32_MAX), 0);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(25), 0);
	within_a_tick(test, throttle_again_and_again, &samples);
	KUNIT_EXPECT_GE(test, samples, 25 + 20);
	KUNIT_EXPECT_LE(test, samples, 38 + 20);
}

static struct kunit_case throttle_cases[] = {
	KUNIT_CASE(the_defaults_are_linuxs),
	KUNIT_CASE(a_rate_of_zero_is_refused),
	KUNIT_CASE(more_than_all_time_is_refused),
	KUNIT_CASE(up_to_the_limit_nothing_is_throttled),
	KUNIT_CASE(above_the_limit_samples_are_the_limit),
	KUNIT_CASE(each_tick_has_its_samples),
	KUNIT_CASE(a_debt_is_paid_within_two_seconds),
	KUNIT_CASE(who_was_not_told_may_begin_at_once),
	KUNIT_CASE(the_limit_ends_a_tick),
	KUNIT_CASE(time_is_limited),
	KUNIT_CASE(time_is_not_limited_by_0_and_100),
	KUNIT_CASE(what_follows_is_limited),
	KUNIT_CASE(who_samples_most_pays),
	KUNIT_CASE(many_events_do_not_take_more),
	{}
};

static struct kunit_suite throttle_suite = {
	.name = "pmuring_throttle",
	.init = throttle_init,
	.exit = throttle_exit,
	.test_cases = throttle_cases,
};

kunit_test_suite(throttle_suite);
