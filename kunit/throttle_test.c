// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the limits of sample/throttle.c: samples per event, time per CPU. Called
 * by KUnit in task context, while no event exists.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
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

/* Rounded up, or a low rate would leave nothing of a tick. */
static void a_rate_is_a_number_per_tick(struct kunit *test)
{
	static const struct {
		u32 rate, per_tick;
	} cases[] = {
		{ 1, 1 }, { HZ, 1 }, { HZ + 1, 2 }, { 20 * HZ, 20 },
		{ U32_MAX, U32_MAX / HZ + 1 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(cases[i].rate), 0);
		KUNIT_EXPECT_EQ_MSG(test, pmr_throttle_per_tick, cases[i].per_tick, "rate %u",
				    cases[i].rate);
	}
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

	for (i = 0; i < 2; i++) {
		events[i].tick = now - 1;
		events[i].tick_samples = 3;
	}
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

static int samples_until_throttled(struct pmr_event *event, u64 cycles)
{
	int samples;

	for (samples = 1; !pmr_throttle_account(event, cycles) && samples < 10000; samples++)
		;
	return samples;
}

static void count_cheap_samples(struct pmr_event *events, int *result)
{
	result[0] = samples_until_throttled(&events[0], 0);
}

static void the_limit_ends_a_tick(struct kunit *test)
{
	int samples;

	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(5 * HZ), 0);
	within_a_tick(test, count_cheap_samples, &samples);
	KUNIT_EXPECT_EQ(test, samples, 5);
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
	KUNIT_EXPECT_EQ(test, samples, 10000);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_percent(100), 0);
	within_a_tick(test, count_dear_samples, &samples);
	KUNIT_EXPECT_EQ(test, samples, 10000);
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
		events[i % 2].tick_samples = 0;
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
	KUNIT_CASE(a_rate_is_a_number_per_tick),
	KUNIT_CASE(the_limit_ends_a_tick),
	KUNIT_CASE(time_is_limited),
	KUNIT_CASE(time_is_not_limited_by_0_and_100),
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
