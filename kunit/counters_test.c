// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the choice of counters and the table of pmu/x86/counters.c, on a table
 * of their own. Called by KUnit in task context.
 */
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/prandom.h>

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

static void occupy(struct pmr_counters *counters, struct pmr_hw *hw, int idx)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_counters_occupy(counters, hw, idx);
	local_irq_restore(flags);
}

static void vacate(struct pmr_counters *counters, struct pmr_hw *hw)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_counters_vacate(counters, hw);
	local_irq_restore(flags);
}

static void occupy_enters(struct kunit *test)
{
	struct pmr_counters *counters = new_table(test);
	struct pmr_hw user = { .idx = -1, .last_idx = -1 };
	struct pmr_hw kernel = { .idx = -1, .last_idx = -1, .kernel = true };

	occupy(counters, &user, 2);
	KUNIT_EXPECT_EQ(test, counters->active, 0x4ULL);
	KUNIT_EXPECT_EQ(test, counters->kernel, 0ULL);
	occupy(counters, &kernel, 33);
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

	occupy(counters, &one, 0);
	occupy(counters, &other, 47);
	vacate(counters, &one);
	KUNIT_EXPECT_EQ(test, counters->active, BIT_ULL(47));
	KUNIT_EXPECT_EQ(test, counters->kernel, BIT_ULL(47));
	KUNIT_EXPECT_NULL(test, counters->hw[0]);
	KUNIT_EXPECT_PTR_EQ(test, counters->hw[47], &other);
	KUNIT_EXPECT_EQ(test, one.idx, -1);
	KUNIT_EXPECT_EQ(test, one.last_idx, 0);
	KUNIT_EXPECT_EQ(test, other.idx, 47);

	vacate(counters, &other);
	KUNIT_EXPECT_EQ(test, counters->active, 0ULL);
	KUNIT_EXPECT_EQ(test, counters->kernel, 0ULL);
}

/* A few counters of both kinds, so that all assignments can be tried. */
static const u8 some[] = { 0, 1, 2, 3, 32, 33 };

#define EVENTS	8

/**
 * struct puzzle - events that want counters
 * @owner: who has which
 * @hws: events
 * @wants: those of @hws that have none
 * @full: as pmr_counters_assign() has it
 */
struct puzzle {
	struct pmr_hw *owner[PMR_COUNTERS_MAX];
	struct pmr_hw hws[EVENTS];
	struct pmr_hw *wants[EVENTS];
	u64 full;
};

/* Could the events from @first on have counters beside @used? Tries all. */
static bool solvable(const struct puzzle *puzzle, int first, int number, u64 used)
{
	int i;

	if (first == number)
		return true;
	for (i = 0; i < ARRAY_SIZE(some); i++)
		if (puzzle->hws[first].allowed & ~used & BIT_ULL(some[i]) &&
		    solvable(puzzle, first + 1, number, used | BIT_ULL(some[i])))
			return true;
	return false;
}

static u64 random_mask(struct rnd_state *random)
{
	u32 bits = prandom_u32_state(random), more = prandom_u32_state(random);
	u64 mask = 0;
	int i;

	/* narrow ones and wide ones */
	if (bits & BIT(31))
		bits &= more;
	for (i = 0; i < ARRAY_SIZE(some); i++)
		if (bits & BIT(i))
			mask |= BIT_ULL(some[i]);
	return mask ?: BIT_ULL(some[more % ARRAY_SIZE(some)]);
}

/* Each event is on one counter that it may use, and nobody else anywhere. */
static void expect_assigned(struct kunit *test, const struct puzzle *puzzle, int number)
{
	int i, owned = 0, found = 0;

	for (i = 0; i < PMR_COUNTERS_MAX; i++) {
		const struct pmr_hw *hw = puzzle->owner[i];

		if (!hw)
			continue;
		owned++;
		KUNIT_EXPECT_TRUE(test, hw->allowed & BIT_ULL(i));
		found |= BIT(hw - puzzle->hws);
	}
	KUNIT_EXPECT_EQ(test, owned, number);
	KUNIT_EXPECT_EQ(test, found, (int)BIT(number) - 1);
}

/* @present events have counters, the rest of @number comes together. */
static bool come_together(struct puzzle *puzzle, int present, int number)
{
	int i;

	for (i = present; i < number; i++)
		puzzle->wants[i - present] = &puzzle->hws[i];
	return pmr_counters_assign(puzzle->owner, puzzle->wants, number - present, &puzzle->full);
}

/* As many random events as can be, one after the other. */
static int fill_at_random(struct puzzle *puzzle, struct rnd_state *random, int most)
{
	int i, idx;

	memset(puzzle, 0, sizeof(*puzzle));
	for (i = 0; i < EVENTS; i++)
		puzzle->hws[i].allowed = random_mask(random);
	for (i = 0; i < most; i++) {
		for (idx = 0; idx < PMR_COUNTERS_MAX; idx++)
			if (puzzle->hws[i].allowed & BIT_ULL(idx) && !puzzle->owner[idx])
				break;
		if (idx == PMR_COUNTERS_MAX)
			break;
		puzzle->owner[idx] = &puzzle->hws[i];
	}
	return i;
}

static void assign_finds_what_there_is(struct kunit *test)
{
	struct puzzle *puzzle = kunit_kzalloc(test, sizeof(*puzzle), GFP_KERNEL);
	int round, present, number, solved = 0, rounds = 20000;
	struct rnd_state random;

	KUNIT_ASSERT_NOT_NULL(test, puzzle);
	prandom_seed_state(&random, 3);
	for (round = 0; round < rounds; round++) {
		present = fill_at_random(puzzle, &random, round % 5);
		number = present + 1 + round % (EVENTS - present);
		if (come_together(puzzle, present, number)) {
			expect_assigned(test, puzzle, number);
			solved++;
		} else {
			KUNIT_EXPECT_FALSE(test, solvable(puzzle, 0, number, 0));
		}
		if (test->status == KUNIT_FAILURE)
			break;
	}
	/* neither all nor none, or this would be no test */
	KUNIT_EXPECT_GT(test, solved, rounds / 5);
	KUNIT_EXPECT_LT(test, solved, rounds * 4 / 5);
}

/* With a free counter that the new event can use, nobody else moves. */
static void assign_moves_nobody_in_vain(struct kunit *test)
{
	struct puzzle *puzzle = kunit_kzalloc(test, sizeof(*puzzle), GFP_KERNEL);
	struct pmr_hw *before[PMR_COUNTERS_MAX];
	int round, present, i, moved = 0, tried = 0;
	struct rnd_state random;
	u64 used;

	KUNIT_ASSERT_NOT_NULL(test, puzzle);
	prandom_seed_state(&random, 5);
	for (round = 0; round < 5000; round++) {
		present = fill_at_random(puzzle, &random, 5);
		memcpy(before, puzzle->owner, sizeof(before));
		for (i = 0, used = 0; i < PMR_COUNTERS_MAX; i++)
			if (before[i])
				used |= BIT_ULL(i);
		if (!(puzzle->hws[present].allowed & ~used))
			continue;
		tried++;
		KUNIT_EXPECT_TRUE(test, come_together(puzzle, present, present + 1));
		for (i = 0; i < PMR_COUNTERS_MAX; i++)
			moved += before[i] && before[i] != puzzle->owner[i];
	}
	KUNIT_EXPECT_GT(test, tried, 500);
	KUNIT_EXPECT_EQ(test, moved, 0);
}

/* Where one has found no room, nobody else does who could go nowhere else. */
static void full_counters_are_full(struct kunit *test)
{
	struct puzzle *puzzle = kunit_kzalloc(test, sizeof(*puzzle), GFP_KERNEL);
	int round, present, refused = 0, tried = 0;
	struct rnd_state random;

	KUNIT_ASSERT_NOT_NULL(test, puzzle);
	prandom_seed_state(&random, 11);
	for (round = 0; round < 20000; round++) {
		present = fill_at_random(puzzle, &random, 2 + round % 5);
		if (come_together(puzzle, present, present + 1))
			continue;
		refused++;
		KUNIT_EXPECT_EQ(test, puzzle->hws[present].allowed & ~puzzle->full, 0ULL);
		/* any other that could go to these only; the refused one is gone */
		puzzle->hws[present].allowed = random_mask(&random) & puzzle->full;
		if (!puzzle->hws[present].allowed)
			continue;
		tried++;
		KUNIT_EXPECT_FALSE(test, solvable(puzzle, 0, present + 1, 0));
		if (test->status == KUNIT_FAILURE)
			break;
	}
	KUNIT_EXPECT_GT(test, refused, 2000);
	KUNIT_EXPECT_GT(test, tried, 1000);
}

/* The longest way there is: each counter's owner goes to the next one. */
static void assign_moves_everybody_if_need_be(struct kunit *test)
{
	struct pmr_hw **owner = kunit_kcalloc(test, PMR_COUNTERS_MAX, sizeof(*owner), GFP_KERNEL);
	struct pmr_hw *hws = kunit_kcalloc(test, PMR_COUNTERS_MAX, sizeof(*hws), GFP_KERNEL);
	struct pmr_hw *last = &hws[PMR_COUNTERS_MAX - 1];
	u64 full;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, owner);
	KUNIT_ASSERT_NOT_NULL(test, hws);
	for (i = 0; i < PMR_COUNTERS_MAX - 1; i++) {
		hws[i].allowed = BIT_ULL(i) | BIT_ULL(i + 1);
		owner[i] = &hws[i];
	}
	last->allowed = BIT_ULL(0);
	KUNIT_ASSERT_TRUE(test, pmr_counters_assign(owner, &last, 1, &full));
	KUNIT_EXPECT_PTR_EQ(test, owner[0], last);
	for (i = 0; i < PMR_COUNTERS_MAX - 1; i++)
		KUNIT_EXPECT_PTR_EQ(test, owner[i + 1], &hws[i]);
}

static struct kunit_case counters_cases[] = {
	KUNIT_CASE(pick_takes_fixed_first),
	KUNIT_CASE(pick_takes_the_lowest_general),
	KUNIT_CASE(pick_keeps_the_last),
	KUNIT_CASE(pick_finds_none),
	KUNIT_CASE(pick_serves_all_counters),
	KUNIT_CASE(occupy_enters),
	KUNIT_CASE(vacate_leaves_the_others),
	KUNIT_CASE(assign_finds_what_there_is),
	KUNIT_CASE(assign_moves_nobody_in_vain),
	KUNIT_CASE(assign_moves_everybody_if_need_be),
	KUNIT_CASE(full_counters_are_full),
	{}
};

static struct kunit_suite counters_suite = {
	.name = "pmuring_counters",
	.test_cases = counters_cases,
};

kunit_test_suite(counters_suite);
