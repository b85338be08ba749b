// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the choice of counters and the table of pmu/x86/counters.c, on a table
 * of their own. Called by KUnit in task context.
 */
#include <kunit/test.h>

#include "pmu/x86/counters.h"

/* Four general counters, and the fixed one that counts cycles */
#define GENERAL	0xfULL
#define FIXED1	BIT_ULL(33)

static void pick_takes_fixed_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, 0, -1), 33);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, 0x7, -1), 33);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(BIT_ULL(47) | BIT_ULL(31), 0, -1), 47);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(BIT_ULL(32) | BIT_ULL(0), 0, -1), 32);
}

static void pick_takes_the_lowest_general(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, 0, -1), 0);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, 0x1, -1), 1);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, 0x5, -1), 1);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, FIXED1 | 0x1, -1), 1);
}

static void pick_keeps_the_last(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, 0, 3), 3);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, 0x7, 33), 33);
	/* Taken meanwhile, or not allowed */
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL | FIXED1, 0x8, 3), 33);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, 0x8, 3), 0);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, 0, 33), 0);
}

static void pick_finds_none(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, GENERAL, -1), -1);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(GENERAL, GENERAL | FIXED1, 2), -1);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(FIXED1, FIXED1, 33), -1);
	KUNIT_EXPECT_EQ(test, pmr_counters_pick(0, 0, 0), -1);
}

/* Cycles are asked for until nothing is left: each counter once. */
static void pick_serves_all_counters(struct kunit *test)
{
	static const int order[] = { 33, 0, 1, 2, 3, -1 };
	u64 used = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		int idx = pmr_counters_pick(GENERAL | FIXED1, used, -1);

		KUNIT_ASSERT_EQ(test, idx, order[i]);
		if (idx >= 0)
			used |= BIT_ULL(idx);
	}
}

static struct pmr_counters *new_table(struct kunit *test)
{
	struct pmr_counters *counters = kunit_kzalloc(test, sizeof(*counters), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, counters);
	return counters;
}

static void occupy_enters(struct kunit *test)
{
	struct pmr_counters *counters = new_table(test);
	struct pmr_hw user = { .idx = -1, .last_idx = -1 };
	struct pmr_hw kernel = { .idx = -1, .last_idx = -1, .kernel = true };

	pmr_counters_occupy(counters, &user, 2);
	KUNIT_EXPECT_EQ(test, counters->active, 0x4ULL);
	KUNIT_EXPECT_EQ(test, counters->kernel, 0ULL);
	pmr_counters_occupy(counters, &kernel, 33);
	KUNIT_EXPECT_EQ(test, counters->active, 0x200000004ULL);
	KUNIT_EXPECT_EQ(test, counters->kernel, 0x200000000ULL);
	KUNIT_EXPECT_PTR_EQ(test, counters->hw[2], &user);
	KUNIT_EXPECT_PTR_EQ(test, counters->hw[33], &kernel);
	KUNIT_EXPECT_EQ(test, user.idx, 2);
	KUNIT_EXPECT_EQ(test, user.last_idx, 2);
	KUNIT_EXPECT_EQ(test, kernel.idx, 33);
}

static void vacate_leaves_the_others(struct kunit *test)
{
	struct pmr_counters *counters = new_table(test);
	struct pmr_hw one = { .kernel = true }, other = { .kernel = true };

	pmr_counters_occupy(counters, &one, 0);
	pmr_counters_occupy(counters, &other, 47);
	pmr_counters_vacate(counters, &one);
	KUNIT_EXPECT_EQ(test, counters->active, BIT_ULL(47));
	KUNIT_EXPECT_EQ(test, counters->kernel, BIT_ULL(47));
	KUNIT_EXPECT_NULL(test, counters->hw[0]);
	KUNIT_EXPECT_PTR_EQ(test, counters->hw[47], &other);
	KUNIT_EXPECT_EQ(test, one.idx, -1);
	KUNIT_EXPECT_EQ(test, one.last_idx, 0);
	KUNIT_EXPECT_EQ(test, other.idx, 47);

	pmr_counters_vacate(counters, &other);
	KUNIT_EXPECT_EQ(test, counters->active, 0ULL);
	KUNIT_EXPECT_EQ(test, counters->kernel, 0ULL);
}

static struct kunit_case counters_cases[] = {
	KUNIT_CASE(pick_takes_fixed_first),
	KUNIT_CASE(pick_takes_the_lowest_general),
	KUNIT_CASE(pick_keeps_the_last),
	KUNIT_CASE(pick_finds_none),
	KUNIT_CASE(pick_serves_all_counters),
	KUNIT_CASE(occupy_enters),
	KUNIT_CASE(vacate_leaves_the_others),
	{}
};

static struct kunit_suite counters_suite = {
	.name = "pmuring_counters",
	.test_cases = counters_cases,
};

kunit_test_suite(counters_suite);
