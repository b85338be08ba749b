// SPDX-License-Identifier: GPL-2.0
/*
 * Tests core/group.c, schedule.c and wait.c on a PMU of a few equal counters, in
 * a time of their own: who counts beside whom, and for how long. Called by KUnit
 * in task context while no event is open; the context that is tested takes the
 * place of a task's on this CPU, with interrupts off.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "core/context.h"
#include "core/wait.h"

#define COUNTERS	4
#define EVENTS		100
#define TURN		TICK_NSEC

static unsigned int used, asked;

static bool add(struct pmr_hw *const *hws, unsigned int number)
{
	unsigned int i;

	asked++;
	if (used + number > COUNTERS)
		return false;
	used += number;
	for (i = 0; i < number; i++)
		hws[i]->idx = i;
	return true;
}

static void del(struct pmr_hw *hw)
{
	hw->idx = -1;
	used--;
}

static u64 count(const struct pmr_hw *hw)
{
	return 0;
}

static const struct pmr_pmu simulated = {
	.gp_counters = COUNTERS,
	.gp_usable = COUNTERS,
	.add = add,
	.del = del,
	.count = count,
};

/**
 * struct world - a task's context and its events
 * @context: the context
 * @events: events
 * @number: how many
 * @now: the clock
 */
struct world {
	struct pmr_context context;
	struct pmr_event events[EVENTS];
	int number;
	u64 now;
};

static const struct pmr_pmu *pmu_before;

static int group_init(struct kunit *test)
{
	struct world *world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);

	if (!world)
		return -ENOMEM;
	pmu_before = pmr_pmu;
	pmr_pmu = &simulated;
	used = 0;
	asked = 0;
	pmr_context_init(&world->context);
	world->context.task = current;
	world->now = 1000 * TURN;
	test->priv = world;
	return 0;
}

static void group_exit(struct kunit *test)
{
	pmr_pmu = pmu_before;
}

static struct pmr_event *attach_for(struct world *world, struct pmr_event *leader, int state,
				    int cpu)
{
	struct pmr_event *event = &world->events[world->number++];

	pmr_event_init_common(event);
	event->top = event;
	event->hw.pmu = &simulated;
	event->context = &world->context;
	event->cpu = cpu;
	event->state = state;
	event->since = world->context.time;
	raw_spin_lock_irq(&world->context.lock);
	pmr_group_attach(event, leader ?: event);
	raw_spin_unlock_irq(&world->context.lock);
	return event;
}

static struct pmr_event *attach(struct world *world, struct pmr_event *leader, int state)
{
	return attach_for(world, leader, state, -1);
}

static void attach_for_cpu(struct world *world, int cpu)
{
	attach_for(world, NULL, PMR_STATE_INACTIVE, cpu);
}

/* As enabling and disabling do while the context is out. */
static void set_state(struct world *world, struct pmr_event *leader, int state)
{
	raw_spin_lock_irq(&world->context.lock);
	pmr_group_update_times(leader, world->context.time);
	leader->state = state;
	pmr_wait_place(leader);
	raw_spin_unlock_irq(&world->context.lock);
}

static struct pmr_event *attach_group(struct world *world, int size)
{
	struct pmr_event *leader = attach(world, NULL, PMR_STATE_INACTIVE);

	while (--size)
		attach(world, leader, PMR_STATE_INACTIVE);
	return leader;
}

static void set_clock(u64 now)
{
	__this_cpu_write(pmr_clock_held, now);
}

/* The context is in for a while, as that of a task that runs for so long. */
static void slice(struct world *world, u64 ns)
{
	unsigned long flags;

	local_irq_save(flags);
	set_clock(world->now);
	this_cpu_write(pmr_task_context, &world->context);
	raw_spin_lock(&world->context.lock);
	pmr_schedule_in(&world->context);
	raw_spin_unlock(&world->context.lock);
	pmr_schedule_fill();
	world->now += ns;
	set_clock(world->now);
	raw_spin_lock(&world->context.lock);
	pmr_schedule_out(&world->context);
	raw_spin_unlock(&world->context.lock);
	this_cpu_write(pmr_task_context, NULL);
	set_clock(0);
	local_irq_restore(flags);
}

static u64 share(const struct pmr_event *event)
{
	return div64_u64(event->running * 1000, event->enabled);
}

/* Times of members are those of their leader, and nobody has more than there is. */
static void expect_consistent(struct kunit *test, struct world *world)
{
	u64 ran = 0;
	int i;

	/* as who reads them does */
	raw_spin_lock_irq(&world->context.lock);
	for (i = 0; i < world->number; i++)
		pmr_event_update_times(&world->events[i], world->context.time);
	raw_spin_unlock_irq(&world->context.lock);
	for (i = 0; i < world->number; i++) {
		const struct pmr_event *event = &world->events[i];

		KUNIT_EXPECT_LE(test, event->running, event->enabled);
		KUNIT_EXPECT_EQ(test, event->running, event->leader->running);
		KUNIT_EXPECT_EQ(test, event->enabled, world->context.time);
		ran += event->running;
	}
	KUNIT_EXPECT_LE(test, ran, COUNTERS * world->context.time);
	KUNIT_EXPECT_EQ(test, used, 0);
}

static void all_count_if_they_fit(struct kunit *test)
{
	struct world *world = test->priv;
	int i;

	attach_group(world, 3);
	attach_group(world, 1);
	for (i = 0; i < 10; i++)
		slice(world, TURN);
	expect_consistent(test, world);
	KUNIT_EXPECT_EQ(test, world->events[0].running, 10 * (u64)TURN);
	KUNIT_EXPECT_EQ(test, world->events[3].running, 10 * (u64)TURN);
}

static void a_group_that_cannot_fit_holds_up_nobody(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *big = attach_group(world, COUNTERS + 1);
	struct pmr_event *small = attach_group(world, 1);
	int i;

	for (i = 0; i < 10; i++)
		slice(world, TURN);
	expect_consistent(test, world);
	KUNIT_EXPECT_EQ(test, big->running, 0ULL);
	KUNIT_EXPECT_EQ(test, small->running, 10 * (u64)TURN);
}

static void a_sibling_that_is_off_takes_no_counter(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *leader = attach_group(world, COUNTERS);
	struct pmr_event *off = attach(world, leader, PMR_STATE_OFF);

	slice(world, TURN);
	KUNIT_EXPECT_EQ(test, leader->running, (u64)TURN);
	KUNIT_EXPECT_EQ(test, off->enabled, 0ULL);
}

/* Slices of any length, most of them shorter than a turn. */
static void run_at_random(struct world *world, u64 turns)
{
	u64 end = world->now + turns * TURN;
	struct rnd_state random;

	prandom_seed_state(&random, 7);
	while (world->now < end)
		slice(world, prandom_u32_state(&random) % (TURN * 3 / 2));
}

/* All are of one size, so that all should have the same. */
static void expect_equal_shares(struct kunit *test, int groups, int size, u64 want)
{
	struct world *world = test->priv;
	int i;

	for (i = 0; i < groups; i++)
		attach_group(world, size);
	run_at_random(world, 1000);
	expect_consistent(test, world);
	for (i = 0; i < world->number; i++) {
		KUNIT_EXPECT_GE_MSG(test, share(&world->events[i]), want - 5, "event %d", i);
		KUNIT_EXPECT_LE_MSG(test, share(&world->events[i]), want + 5, "event %d", i);
	}
}

static void five_share_four_counters(struct kunit *test)
{
	expect_equal_shares(test, 5, 1, 800);
}

static void twelve_share_four_counters(struct kunit *test)
{
	expect_equal_shares(test, 12, 1, 333);
}

static void pairs_share_four_counters(struct kunit *test)
{
	expect_equal_shares(test, 5, 2, 400);
}

static void triples_take_turns(struct kunit *test)
{
	expect_equal_shares(test, 3, 3, 333);
}

/* Half of the time the 3 with a 1; otherwise the 2 with both: and the 1s by turns. */
static void unequal_sizes(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *three = attach_group(world, 3), *two = attach_group(world, 2);
	struct pmr_event *ones[] = { attach_group(world, 1), attach_group(world, 1) };

	run_at_random(world, 1000);
	expect_consistent(test, world);
	KUNIT_EXPECT_GE(test, share(three), 495ULL);
	KUNIT_EXPECT_LE(test, share(three), 505ULL);
	KUNIT_EXPECT_GE(test, share(two), 495ULL);
	KUNIT_EXPECT_LE(test, share(two), 505ULL);
	KUNIT_EXPECT_GE(test, share(ones[0]), 745ULL);
	KUNIT_EXPECT_LE(test, share(ones[0]), 755ULL);
	KUNIT_EXPECT_GE(test, share(ones[1]), 745ULL);
	KUNIT_EXPECT_LE(test, share(ones[1]), 755ULL);
}

/* Long ago it had all it wanted; that is no debt. */
static void who_comes_later_has_no_more(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *old, *new;
	u64 before;

	old = attach_group(world, COUNTERS);
	run_at_random(world, 1000);
	new = attach_group(world, COUNTERS);
	before = old->running;
	run_at_random(world, 100);
	KUNIT_EXPECT_GE(test, share(new), 450ULL);
	KUNIT_EXPECT_LE(test, share(new), 550ULL);
	KUNIT_EXPECT_GE(test, old->running - before, 45 * (u64)TURN);
}

/* The first turn decides, until another begins: counters are not exchanged for less. */
static void within_a_turn_nobody_changes(struct kunit *test)
{
	struct world *world = test->priv;
	u64 running;
	int i;

	for (i = 0; i < 5; i++)
		attach_group(world, 1);
	slice(world, TURN / 100);
	running = world->events[0].running;
	for (i = 0; i < 50; i++)
		slice(world, TURN / 100);
	KUNIT_EXPECT_EQ(test, running, (u64)TURN / 100);
	KUNIT_EXPECT_EQ(test, world->events[0].running, 51 * ((u64)TURN / 100));
	KUNIT_EXPECT_EQ(test, world->events[4].running, 0ULL);
}

static void attach_singles(struct world *world, int number)
{
	while (number--)
		attach(world, NULL, PMR_STATE_INACTIVE);
}

/* However many wait, a turn costs as much as there are counters. */
static void a_full_pmu_is_asked_no_more(struct kunit *test)
{
	struct world *world = test->priv;
	int i;

	attach_singles(world, EVENTS);
	for (i = 1; i <= 10; i++) {
		slice(world, TURN);
		KUNIT_EXPECT_EQ(test, asked, (unsigned int)i * COUNTERS);
	}
}

static void a_hundred_wait_in_line(struct kunit *test)
{
	struct world *world = test->priv;
	int i;

	attach_singles(world, EVENTS);
	for (i = 0; i < 3 * EVENTS / COUNTERS; i++)
		slice(world, TURN);
	expect_consistent(test, world);
	for (i = 0; i < EVENTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, world->events[i].running, 3 * (u64)TURN, "event %d", i);
}

/* Enabled all the time, but for another CPU: it neither waits nor counts. */
static void a_group_for_another_cpu_does_not_compete(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *event = &world->events[0];
	int i;

	attach_singles(world, COUNTERS);
	attach_for_cpu(world, nr_cpu_ids);
	for (i = 0; i < 10; i++)
		slice(world, TURN);
	expect_consistent(test, world);
	KUNIT_EXPECT_EQ(test, world->context.waiting, 0U);
	KUNIT_EXPECT_EQ(test, event[0].running, 10 * (u64)TURN);
	KUNIT_EXPECT_EQ(test, event[COUNTERS].running, 0ULL);
}

/* Off for long, it comes back with no claim to what it has missed. */
static void who_is_enabled_again_has_no_more(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *one, *two;
	u64 before;

	one = attach_group(world, COUNTERS);
	two = attach_group(world, COUNTERS);
	run_at_random(world, 100);
	set_state(world, one, PMR_STATE_OFF);
	run_at_random(world, 1000);
	set_state(world, one, PMR_STATE_INACTIVE);
	before = two->running;
	run_at_random(world, 200);
	KUNIT_EXPECT_GE(test, two->running - before, 90 * (u64)TURN);
	KUNIT_EXPECT_LE(test, two->running - before, 110 * (u64)TURN);
}

static int number_of_siblings(struct world *world, struct pmr_event *event)
{
	struct pmr_event *sibling;
	int number = 0;

	raw_spin_lock_irq(&world->context.lock);
	pmr_for_each_sibling(sibling, event)
		number++;
	raw_spin_unlock_irq(&world->context.lock);
	return number;
}

/* A walk from a sibling would come by the head of the list that it is in, as an event. */
static void only_leaders_have_siblings(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_event *leader = attach_group(world, 3);

	KUNIT_EXPECT_EQ(test, number_of_siblings(world, leader), 2);
	KUNIT_EXPECT_EQ(test, number_of_siblings(world, leader + 1), 0);
	KUNIT_EXPECT_EQ(test, number_of_siblings(world, leader + 2), 0);
	KUNIT_EXPECT_EQ(test, number_of_siblings(world, attach_group(world, 1)), 0);
}

static struct kunit_case group_cases[] = {
	KUNIT_CASE(all_count_if_they_fit),
	KUNIT_CASE(a_group_that_cannot_fit_holds_up_nobody),
	KUNIT_CASE(a_sibling_that_is_off_takes_no_counter),
	KUNIT_CASE(five_share_four_counters),
	KUNIT_CASE(twelve_share_four_counters),
	KUNIT_CASE(pairs_share_four_counters),
	KUNIT_CASE(triples_take_turns),
	KUNIT_CASE(unequal_sizes),
	KUNIT_CASE(who_comes_later_has_no_more),
	KUNIT_CASE(within_a_turn_nobody_changes),
	KUNIT_CASE(a_full_pmu_is_asked_no_more),
	KUNIT_CASE(a_hundred_wait_in_line),
	KUNIT_CASE(a_group_for_another_cpu_does_not_compete),
	KUNIT_CASE(who_is_enabled_again_has_no_more),
	KUNIT_CASE(only_leaders_have_siblings),
	{}
};

static struct kunit_suite group_suite = {
	.name = "pmuring_groups",
	.init = group_init,
	.exit = group_exit,
	.test_cases = group_cases,
};

kunit_test_suite(group_suite);
