// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the period arithmetic of pmu/period.h. Called by KUnit in task context.
 */
#include <kunit/test.h>
#include <linux/random.h>

#include "pmu/period.h"

#define MASK32	0x00000000ffffffffULL
#define MASK40	0x000000ffffffffffULL
#define MASK48	0x0000ffffffffffffULL

static void delta_is_modulo_the_width(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0x10, 0x15, MASK32), 5ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0xffffff00, 0x10, MASK32), 0x110ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0xfffffffff0, 0x5, MASK40), 0x15ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0xffffffffffff, 0, MASK48), 1ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0x123456789abc, 0x123456789abc, MASK48), 0ULL);
	/* From the lowest to the highest value and from there to one below. */
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0, MASK40, MASK40), MASK40);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(5, 4, MASK40), MASK40);
}

static void delta_ignores_bits_above_the_width(struct kunit *test)
{
	/* -16 and its 32-bit form stand for the same place of a counter. */
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(-16LL, 4, MASK32), 20ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(-16LL, 4, MASK48), 20ULL);
	KUNIT_EXPECT_EQ(test, pmr_raw_delta(0xfffffff0, 0xabcd000000000004, MASK32), 20ULL);
}

static void load_is_what_is_left(struct kunit *test)
{
	struct pmr_hw hw = { .sampling = true, .period = 1000, .period_left = 1000 };

	KUNIT_EXPECT_EQ(test, pmr_period_load(&hw, 0x7fffffff), 1000ULL);
	hw.period_left = 0x7fffffff;
	KUNIT_EXPECT_EQ(test, pmr_period_load(&hw, 0x7fffffff), 0x7fffffffULL);
	hw.period_left = 0x80000000;
	KUNIT_EXPECT_EQ(test, pmr_period_load(&hw, 0x7fffffff), 0x7fffffffULL);
	hw.period_left = S64_MAX;
	KUNIT_EXPECT_EQ(test, pmr_period_load(&hw, 0x7fffffffffff), 0x7fffffffffffULL);
}

static void load_is_two_at_least(struct kunit *test)
{
	static const s64 left[] = { 2, 1, 0, -1, -1000, S64_MIN };
	struct pmr_hw hw = { .sampling = true, .period = 1000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(left); i++) {
		hw.period_left = left[i];
		KUNIT_EXPECT_EQ_MSG(test, pmr_period_load(&hw, 0x7fffffff), 2ULL,
				    "%lld left", left[i]);
	}
}

static void load_without_samples_is_the_longest(struct kunit *test)
{
	struct pmr_hw counting = { .sampling = false };
	struct pmr_hw throttled = { .sampling = true, .throttled = true, .period_left = 10 };

	KUNIT_EXPECT_EQ(test, pmr_period_load(&counting, 0x7fffffff), 0x7fffffffULL);
	KUNIT_EXPECT_EQ(test, pmr_period_load(&throttled, 0x7fffffff), 0x7fffffffULL);
}

static void fold_accounts_across_the_wrap(struct kunit *test)
{
	struct pmr_hw hw = {
		.sampling = true, .count = 1000, .prev_raw = MASK48 - 99, .period_left = 100,
	};

	pmr_period_fold(&hw, 7, MASK48);
	KUNIT_EXPECT_EQ(test, hw.count, 1107ULL);
	KUNIT_EXPECT_EQ(test, hw.prev_raw, 7ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, -7LL);
	pmr_period_fold(&hw, 7, MASK48);
	KUNIT_EXPECT_EQ(test, hw.count, 1107ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, -7LL);
}

static void renew_counts_the_periods_gone_by(struct kunit *test)
{
	static const struct {
		u64 period;
		s64 before, after;
		u64 stands_for;
	} cases[] = {
		{ 100, 0, 100, 100 },
		{ 100, -30, 70, 100 },
		{ 100, -99, 1, 100 },
		{ 100, -100, 100, 200 },
		{ 100, -101, 99, 200 },
		{ 100, -250, 50, 300 },
		{ 1, 0, 1, 1 },
		{ 1, -5, 1, 6 },
		{ S64_MAX, 0, S64_MAX, S64_MAX },
		{ S64_MAX, -5, S64_MAX - 5, S64_MAX },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pmr_hw hw = {
			.sampling = true, .period = cases[i].period, .period_left = cases[i].before,
		};

		KUNIT_EXPECT_TRUE_MSG(test, pmr_period_renew(&hw), "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, hw.period_left, cases[i].after, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, hw.last_period, cases[i].stands_for, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, hw.period, cases[i].period, "case %d", i);
	}
}

static void renew_waits_for_the_end(struct kunit *test)
{
	struct pmr_hw hw = { .sampling = true, .period = 9, .period_left = 1, .last_period = 9 };

	KUNIT_EXPECT_FALSE(test, pmr_period_renew(&hw));
	KUNIT_EXPECT_EQ(test, hw.period_left, 1LL);
	KUNIT_EXPECT_EQ(test, hw.last_period, 9ULL);
}

static void set_begins_anew(struct kunit *test)
{
	struct pmr_hw hw = { .period = 7, .period_left = -3, .last_period = 14, .count = 5 };

	pmr_period_set(&hw, 12);
	KUNIT_EXPECT_EQ(test, hw.period, 12ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 12LL);
	KUNIT_EXPECT_EQ(test, hw.last_period, 12ULL);
	KUNIT_EXPECT_EQ(test, hw.count, 5ULL);
}

/* Loads a counter of 32 bits, lets it wrap to @raw, and does what a PMI does. */
static bool run_round(struct pmr_hw *hw, u64 raw, u64 *loaded)
{
	*loaded = pmr_period_load(hw, 0x7fffffff);
	hw->prev_raw = -*loaded & MASK32;
	pmr_period_fold(hw, raw, MASK32);
	return pmr_period_renew(hw);
}

static void a_long_period_takes_rounds(struct kunit *test)
{
	struct pmr_hw hw = { .sampling = true };
	u64 loaded;

	/* Three loads of 2^31 - 1 and 10 more */
	pmr_period_set(&hw, 6442450951ULL);
	KUNIT_EXPECT_FALSE(test, run_round(&hw, 0, &loaded));
	KUNIT_EXPECT_EQ(test, loaded, 2147483647ULL);
	KUNIT_EXPECT_FALSE(test, run_round(&hw, 0, &loaded));
	KUNIT_EXPECT_EQ(test, loaded, 2147483647ULL);
	KUNIT_EXPECT_FALSE(test, run_round(&hw, 0, &loaded));
	KUNIT_EXPECT_EQ(test, loaded, 2147483647ULL);
	KUNIT_EXPECT_TRUE(test, run_round(&hw, 3, &loaded));
	KUNIT_EXPECT_EQ(test, loaded, 10ULL);
	KUNIT_EXPECT_EQ(test, hw.count, 6442450954ULL);
	KUNIT_EXPECT_EQ(test, hw.last_period, 6442450951ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 6442450948LL);
}

/* What the samples stand for, plus what the open period has had, is the count. */
static void periods_add_up_to_the_count(struct kunit *test)
{
	static const u64 periods[] = { 1, 2, 3, 100, 4001, 3000000000ULL };
	struct rnd_state rnd;
	int i, round;

	prandom_seed_state(&rnd, 20);
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		struct pmr_hw hw = { .sampling = true };
		u64 samples = 0, loaded;

		pmr_period_set(&hw, periods[i]);
		for (round = 0; round < 1000; round++)
			if (run_round(&hw, prandom_u32_state(&rnd) % 1000, &loaded))
				samples += hw.last_period;
		KUNIT_EXPECT_GT(test, samples, 0ULL);
		KUNIT_EXPECT_GT(test, hw.period_left, 0LL);
		KUNIT_EXPECT_EQ_MSG(test, samples + hw.period - hw.period_left, hw.count,
				    "period %llu", periods[i]);
	}
}

/* A new length begins with the next period; the sample tells the old one. */
static void next_period_comes_after_this_one(struct kunit *test)
{
	struct pmr_hw hw = { .sampling = true };

	pmr_period_set(&hw, 1000);
	hw.next_period = 300;
	hw.period_left = -10;
	KUNIT_EXPECT_TRUE(test, pmr_period_renew(&hw));
	KUNIT_EXPECT_EQ(test, hw.last_period, 1000ULL);
	KUNIT_EXPECT_EQ(test, hw.period, 300ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 290LL);
	KUNIT_EXPECT_EQ(test, hw.next_period, 0ULL);

	/* More have gone by already: those are of the new length. */
	pmr_period_set(&hw, 1000);
	hw.next_period = 300;
	hw.period_left = -610;
	KUNIT_EXPECT_TRUE(test, pmr_period_renew(&hw));
	KUNIT_EXPECT_EQ(test, hw.last_period, 1600ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 290LL);

	hw.next_period = 50;
	pmr_period_set(&hw, 200);
	KUNIT_EXPECT_EQ(test, hw.next_period, 0ULL);
}

static void cut_forgets_nothing(struct kunit *test)
{
	struct pmr_hw hw = { .sampling = true };

	pmr_period_set(&hw, 1000000);
	hw.period_left = 999000;
	pmr_period_cut(&hw, 70, 70);
	KUNIT_EXPECT_EQ(test, hw.period_left, 70LL);
	hw.period_left -= 75;
	KUNIT_EXPECT_TRUE(test, pmr_period_renew(&hw));
	KUNIT_EXPECT_EQ(test, hw.last_period, 1070ULL);
	KUNIT_EXPECT_EQ(test, hw.period, 70ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 65LL);
}

static struct kunit_case period_cases[] = {
	KUNIT_CASE(delta_is_modulo_the_width),
	KUNIT_CASE(delta_ignores_bits_above_the_width),
	KUNIT_CASE(load_is_what_is_left),
	KUNIT_CASE(load_is_two_at_least),
	KUNIT_CASE(load_without_samples_is_the_longest),
	KUNIT_CASE(fold_accounts_across_the_wrap),
	KUNIT_CASE(renew_counts_the_periods_gone_by),
	KUNIT_CASE(renew_waits_for_the_end),
	KUNIT_CASE(set_begins_anew),
	KUNIT_CASE(next_period_comes_after_this_one),
	KUNIT_CASE(cut_forgets_nothing),
	KUNIT_CASE(a_long_period_takes_rounds),
	KUNIT_CASE(periods_add_up_to_the_count),
	{}
};

static struct kunit_suite period_suite = {
	.name = "pmuring_period",
	.test_cases = period_cases,
};

kunit_test_suite(period_suite);
