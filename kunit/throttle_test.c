// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the rate limit of sample/throttle.c. Called by KUnit in task context,
 * while no event exists.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "sample/sample.h"

static u32 rate_before;

static int throttle_init(struct kunit *test)
{
	rate_before = pmr_throttle_rate();
	return 0;
}

static void throttle_exit(struct kunit *test)
{
	pmr_throttle_set_rate(rate_before);
}

static void the_default_is_linuxs(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_throttle_rate(), 100000);
}

static void a_rate_of_zero_is_refused(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(5000), 0);
	KUNIT_EXPECT_EQ(test, pmr_throttle_set_rate(0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pmr_throttle_rate(), 5000);
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

/* Counts the samples until the limit, which all have to fall into one tick. */
static void the_limit_ends_a_tick(struct kunit *test)
{
	struct pmr_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	unsigned long start;
	int samples, tries = 100;

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_EQ(test, pmr_throttle_set_rate(5 * HZ), 0);
	do {
		start = jiffies;
		event->tick = start - 1;
		event->tick_samples = 3;
		for (samples = 1; !pmr_throttle_account(event) && samples < 100; samples++)
			;
	} while (time_after(jiffies, start) && --tries);
	KUNIT_ASSERT_GT(test, tries, 0);
	KUNIT_EXPECT_EQ(test, samples, 5);
}

static struct kunit_case throttle_cases[] = {
	KUNIT_CASE(the_default_is_linuxs),
	KUNIT_CASE(a_rate_of_zero_is_refused),
	KUNIT_CASE(a_rate_is_a_number_per_tick),
	KUNIT_CASE(the_limit_ends_a_tick),
	{}
};

static struct kunit_suite throttle_suite = {
	.name = "pmuring_throttle",
	.init = throttle_init,
	.exit = throttle_exit,
	.test_cases = throttle_cases,
};

kunit_test_suite(throttle_suite);
