// SPDX-License-Identifier: GPL-2.0
/*
 * Tests frequency mode on events of known rates, in a time of its own: the period
 * arithmetic and the steering are those of the module, the counter, the clock and
 * the tick are simulated. Called by KUnit in task context.
 */
#include <kunit/test.h>
#include <linux/time64.h>

#include "pmu/period.h"
#include "sample/freq.h"

#define MS	NSEC_PER_MSEC

/**
 * struct world - one event and its surroundings
 * @event: event
 * @now: ns
 * @next_tick: when the tick comes
 * @rate: events per second
 * @rest: of an event that has not happened yet, in events times NSEC_PER_SEC
 * @count: what the counter shows
 * @samples: overflows
 * @stood_for: sum of their periods
 * @first: time of the first one since this was set to 0
 * @cuts: periods that a tick cut
 */
struct world {
	struct pmr_event event;
	u64 now;
	u64 next_tick;
	u64 rate;
	u64 rest;
	u64 count;
	u64 samples;
	u64 stood_for;
	u64 first;
	unsigned int cuts;
};

static u64 count_now(const struct pmr_hw *hw)
{
	return container_of(hw, struct world, event.hw)->count;
}

static const struct pmr_pmu simulated = { .count = count_now };

static struct world *new_world(struct kunit *test, u64 rate, u64 freq)
{
	struct world *world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	struct perf_event_attr *attr;

	KUNIT_ASSERT_NOT_NULL(test, world);
	attr = &world->event.attr;
	attr->type = PERF_TYPE_RAW;
	attr->freq = 1;
	attr->sample_freq = freq;
	world->event.hw.pmu = &simulated;
	world->event.hw.sampling = true;
	pmr_period_set(&world->event.hw, pmr_freq_first_period(attr));
	world->rate = rate;
	world->now = 1000 * MS;
	world->next_tick = world->now + TICK_NSEC;
	pmr_freq_start(&world->event, world->now);
	return world;
}

static void fold(struct world *world)
{
	struct pmr_hw *hw = &world->event.hw;

	hw->period_left -= world->count - hw->count;
	hw->count = world->count;
}

static void overflow(struct world *world)
{
	struct pmr_hw *hw = &world->event.hw;

	fold(world);
	if (!pmr_period_renew(hw))
		return;
	world->samples++;
	world->stood_for += hw->last_period;
	if (!world->first)
		world->first = world->now;
	pmr_freq_overflow(&world->event, world->now);
}

static void tick(struct world *world)
{
	world->next_tick += TICK_NSEC;
	if (!pmr_freq_tick(&world->event, world->now))
		return;
	fold(world);
	pmr_period_cut(&world->event.hw, pmr_freq_period(&world->event),
		       pmr_freq_period(&world->event));
	world->cuts++;
}

static void pass(struct world *world, u64 ns)
{
	u64 events = world->rest + ns * world->rate;

	world->now += ns;
	world->count += div_u64(events, NSEC_PER_SEC);
	world->rest = events % NSEC_PER_SEC;
}

/* What is left of the period, at least of the shortest that a counter takes. */
static u64 until_overflow(const struct world *world)
{
	const struct pmr_hw *hw = &world->event.hw;
	s64 left = hw->period_left - (s64)(world->count - hw->count);

	if (!world->rate)
		return U64_MAX;
	left = clamp_t(s64, left, 1, NSEC_PER_SEC);
	return DIV64_U64_ROUND_UP(left * NSEC_PER_SEC - world->rest, world->rate);
}

static void run(struct world *world, u64 ns)
{
	u64 end = world->now + ns;

	while (world->now < end) {
		u64 due = until_overflow(world);
		u64 step = min3(due, world->next_tick - world->now, end - world->now);

		pass(world, step);
		if (step == due)
			overflow(world);
		if (world->now == world->next_tick)
			tick(world);
	}
}

static u64 samples_in(struct world *world, u64 ns)
{
	u64 before = world->samples;

	run(world, ns);
	return world->samples - before;
}

static void expect_near(struct kunit *test, u64 got, u64 want, u64 percent, const char *what,
			u64 rate, u64 freq)
{
	u64 slack = max_t(u64, want * percent / 100, 1);

	KUNIT_EXPECT_LE_MSG(test, got, want + slack, "%s: rate %llu, freq %llu", what, rate, freq);
	KUNIT_EXPECT_GE_MSG(test, got, want - slack, "%s: rate %llu, freq %llu", what, rate, freq);
}

static const u64 rates[] = {
	40000, 100000, 1000000, 20000000, 500000000, 4000000000ULL,
};

static const u64 freqs[] = { 1000, 4000, 10000 };

/* Steady work: right within 20 ms, as far as a whole number of events can be. */
static void settles_in_20_ms(struct kunit *test)
{
	u64 period;
	int r, f;

	for (r = 0; r < ARRAY_SIZE(rates); r++) {
		for (f = 0; f < ARRAY_SIZE(freqs); f++) {
			struct world *world = new_world(test, rates[r], freqs[f]);

			period = DIV_ROUND_CLOSEST_ULL(rates[r], freqs[f]);
			run(world, 20 * MS);
			/* Some guesses are 4000 times too low. */
			KUNIT_EXPECT_LE_MSG(test, world->samples, freqs[f] / 50 + 50,
					    "storm: rate %llu, freq %llu", rates[r], freqs[f]);
			expect_near(test, world->event.hw.period, period, 10, "period",
				    rates[r], freqs[f]);
			expect_near(test, samples_in(world, 1000 * MS), rates[r] / period, 5,
				    "samples", rates[r], freqs[f]);
		}
	}
}

/* An event that is rarer than its samples should be: each is one. */
static void one_event_is_the_least(struct kunit *test)
{
	struct world *world = new_world(test, 100, 4000);

	run(world, 100 * MS);
	KUNIT_EXPECT_EQ(test, world->event.hw.period, 1);
	KUNIT_EXPECT_EQ(test, samples_in(world, 1000 * MS), 100);
}

/* Samples tell what they stand for, whatever the period did. */
static void periods_add_up(struct kunit *test)
{
	struct world *world = new_world(test, 500000000, 4000);
	static const u64 phases[] = { 500000000, 5000000, 3000000000ULL, 20000, 1000000000 };
	int i;

	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		world->rate = phases[i];
		run(world, 37 * MS);
		fold(world);
		KUNIT_EXPECT_EQ(test, world->stood_for + world->event.hw.period -
				world->event.hw.period_left, world->count);
	}
	KUNIT_EXPECT_GT(test, world->cuts, 0);
}

/* 100 times fewer events: no long silence. */
static void follows_a_falling_rate(struct kunit *test)
{
	int f;

	for (f = 0; f < ARRAY_SIZE(freqs); f++) {
		struct world *world = new_world(test, 1000000000, freqs[f]);

		run(world, 1000 * MS);
		world->rate /= 100;
		world->first = 0;
		run(world, 20 * MS);
		KUNIT_EXPECT_NE(test, world->first, 0);
		expect_near(test, world->event.hw.period, world->rate / freqs[f], 10, "period",
			    world->rate, freqs[f]);
		expect_near(test, samples_in(world, 1000 * MS), freqs[f], 5, "samples",
			    world->rate, freqs[f]);
	}
}

/* 100 times more: few samples too many. */
static void follows_a_rising_rate(struct kunit *test)
{
	int f;

	for (f = 0; f < ARRAY_SIZE(freqs); f++) {
		struct world *world = new_world(test, 10000000, freqs[f]);

		run(world, 1000 * MS);
		world->rate *= 100;
		KUNIT_EXPECT_LE_MSG(test, samples_in(world, 20 * MS), freqs[f] / 50 + 30,
				    "freq %llu", freqs[f]);
		expect_near(test, world->event.hw.period, world->rate / freqs[f], 10, "period",
			    world->rate, freqs[f]);
		expect_near(test, samples_in(world, 1000 * MS), freqs[f], 5, "samples",
			    world->rate, freqs[f]);
	}
}

/* Rates far below the tick's, from a guess that is 10 times too high or low. */
static void low_frequencies_settle(struct kunit *test)
{
	static const u64 low[] = { 10, 49, 100 };
	int f, up;

	for (f = 0; f < ARRAY_SIZE(low); f++) {
		for (up = 0; up < 2; up++) {
			u64 rate = up ? 100000000 : 1000000;
			struct world *world = new_world(test, rate, low[f]);

			run(world, 1000 * MS);
			expect_near(test, samples_in(world, 10000 * MS), 10 * low[f], 5, "samples",
				    rate, low[f]);
		}
	}
}

/* Runs for 1 ms in 10: each second of running time has its samples. */
static void absence_does_not_count(struct kunit *test)
{
	struct world *world = new_world(test, 500000000, 4000);
	u64 before;
	int i;

	run(world, 100 * MS);
	before = world->samples;
	for (i = 0; i < 1000; i++) {
		fold(world);
		world->now += 9 * MS;
		world->next_tick = max(world->next_tick, world->now + 1);
		pmr_freq_start(&world->event, world->now);
		run(world, 1 * MS);
	}
	expect_near(test, world->samples - before, 4000, 5, "samples", 500000000, 4000);
}

/* Its counter overflows as soon as it runs again, before the event has started. */
static void an_overflow_before_the_start_does_not_count_absence(struct kunit *test)
{
	struct world *world = new_world(test, 500000000, 4000);
	int i;

	run(world, 100 * MS);
	for (i = 0; i < 10; i++) {
		fold(world);
		world->event.hw.period_left = 0;
		pmr_freq_stop(&world->event);
		world->now += 1000 * MS;
		world->next_tick = world->now + TICK_NSEC;
		overflow(world);
		pmr_freq_start(&world->event, world->now);
		KUNIT_EXPECT_LE(test, samples_in(world, 1 * MS), 5);
		run(world, 10 * MS);
	}
	expect_near(test, world->event.hw.period, 500000000 / 4000, 5, "period", 500000000, 4000);
}

/* An idle CPU's event keeps its period, so that it does not storm afterwards. */
static void standstill_teaches_nothing(struct kunit *test)
{
	struct world *world = new_world(test, 500000000, 1000);
	u64 period;

	run(world, 100 * MS);
	period = pmr_freq_period(&world->event);
	world->rate = 0;
	run(world, 1000 * MS);
	KUNIT_EXPECT_EQ(test, pmr_freq_period(&world->event), period);
	KUNIT_EXPECT_EQ(test, world->cuts, 0);
}

static void a_new_frequency_begins_at_once(struct kunit *test)
{
	struct world *world = new_world(test, 500000000, 1000);
	u64 period;

	run(world, 100 * MS);
	period = pmr_freq_set(&world->event, 5000);
	KUNIT_EXPECT_EQ(test, world->event.attr.sample_freq, 5000);
	expect_near(test, period, 100000, 1, "period", 500000000, 5000);
	period = pmr_freq_set(&world->event, 100);
	expect_near(test, period, 5000000, 1, "period", 500000000, 100);
}

/* A frequency of anything and an event of any rate must not divide out of range. */
static void extremes_stay_in_range(struct kunit *test)
{
	static const u64 values[] = { 0, 1, 256, BIT_ULL(32), BIT_ULL(40), BIT_ULL(48),
				      S64_MAX, U64_MAX };
	static const u64 frequencies[] = { 1, 100000, NSEC_PER_SEC, U32_MAX, U64_MAX };
	struct world *world = new_world(test, 1000, 1000);
	int e, f, c, n;
	u64 period;

	for (f = 0; f < ARRAY_SIZE(frequencies); f++) {
		for (e = 2; e < 6; e++)
			for (c = 0; c < ARRAY_SIZE(values); c++)
				for (n = 1; n < ARRAY_SIZE(values); n++) {
					period = pmr_freq_steer(values[e], frequencies[f],
								values[c], values[n],
								n % 4 + 1);
					KUNIT_EXPECT_GE(test, period, 256);
					KUNIT_EXPECT_LE(test, period, BIT_ULL(48));
				}
		for (c = 1; c < ARRAY_SIZE(frequencies); c++) {
			world->event.freq_period = BIT_ULL(48);
			world->event.attr.sample_freq = frequencies[c];
			period = pmr_freq_set(&world->event, frequencies[f]);
			KUNIT_EXPECT_GE(test, period, 1);
			KUNIT_EXPECT_LE(test, period, BIT_ULL(40));
		}
	}
}

/* Clocks tick at the frequency itself, and not more often than perf's. */
static void clocks_are_not_steered(struct kunit *test)
{
	struct world *world = new_world(test, 1000, 4000);
	struct perf_event_attr *attr = &world->event.attr;

	KUNIT_EXPECT_TRUE(test, pmr_freq_steers(&world->event));
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_PAGE_FAULTS;
	KUNIT_EXPECT_TRUE(test, pmr_freq_steers(&world->event));
	attr->config = PERF_COUNT_SW_TASK_CLOCK;
	KUNIT_EXPECT_FALSE(test, pmr_freq_steers(&world->event));
	KUNIT_EXPECT_EQ(test, pmr_freq_first_period(attr), 250000);
	KUNIT_EXPECT_EQ(test, pmr_freq_set(&world->event, 1000), 1000000);
	KUNIT_EXPECT_EQ(test, pmr_freq_set(&world->event, 1000000), 10000);
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	KUNIT_EXPECT_FALSE(test, pmr_freq_steers(&world->event));
}

static struct kunit_case freq_cases[] = {
	KUNIT_CASE(settles_in_20_ms),
	KUNIT_CASE(one_event_is_the_least),
	KUNIT_CASE(periods_add_up),
	KUNIT_CASE(follows_a_falling_rate),
	KUNIT_CASE(follows_a_rising_rate),
	KUNIT_CASE(low_frequencies_settle),
	KUNIT_CASE(absence_does_not_count),
	KUNIT_CASE(an_overflow_before_the_start_does_not_count_absence),
	KUNIT_CASE(standstill_teaches_nothing),
	KUNIT_CASE(a_new_frequency_begins_at_once),
	KUNIT_CASE(extremes_stay_in_range),
	KUNIT_CASE(clocks_are_not_steered),
	{}
};

static struct kunit_suite freq_suite = {
	.name = "pmuring_freq",
	.test_cases = freq_cases,
};

kunit_test_suite(freq_suite);
