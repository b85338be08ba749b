// SPDX-License-Identifier: GPL-2.0
/*
 * Owns frequency mode: the period that makes an event overflow attr.sample_freq
 * times a second.
 *
 * pmr_freq_overflow(): NMI, or interrupts off for software events. start, tick,
 * set: on the CPU of the event (or on any, while its context is out),
 * interrupts off, its context locked; the NMI may come in between. No locks,
 * two divisions.
 *
 * What is known of an event is looked at in windows, which begin when it starts
 * to count, at each overflow and at each tick: so many events in so many ns.
 * A window never spans a time in which the event did not run: it is gone when the
 * event stops, since the first overflow may come before the event is said to have
 * started. Each is averaged
 * into the estimate, with a weight that is its length, and so many intervals
 * between samples for all that was before. So an event that comes in bursts still has
 * as many samples as it should, on average; after the rate has risen, some
 * samples come too early, each of which makes the period longer by a third;
 * and after it has fallen, so that the tick sees no sample for long, the past
 * counts less.
 *
 * The new period becomes that of the next sample; only one that is far too
 * long is cut while it runs.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "sample/freq.h"

/* Periods are estimated in fractions of an event, or short ones would get stuck. */
#define FRACTION_BITS	8
#define FRACTION	BIT_ULL(FRACTION_BITS)

/* No event is so frequent; they keep the products below within 64 bits. */
#define COUNT_MAX	BIT_ULL(40)
#define PERIOD_MAX	BIT_ULL(40)
#define WINDOW_MAX	BIT_ULL(40)
#define ESTIMATE_MAX	(PERIOD_MAX << FRACTION_BITS)

/* Weight of the past, in halves of an interval; without a sample for long. */
#define MEMORY		6
#define MEMORY_SILENT	1

/* Rates far below the tick's still have to be found in less than a second. */
#define MEMORY_MAX_NS	(64 * NSEC_PER_MSEC)

/* The shortest period of a clock, as in perf. */
#define CLOCK_PERIOD_MIN	(10 * NSEC_PER_USEC)

/*
 * Events per second to begin with. Too low a guess costs a few samples that come
 * too early, too high a one a silence of some ticks.
 */
static u64 first_rate(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		return 1000;
	if (attr->type != PERF_TYPE_HARDWARE)
		return 1000000;
	switch (attr->config) {
	case PERF_COUNT_HW_CPU_CYCLES:
	case PERF_COUNT_HW_INSTRUCTIONS:
	case PERF_COUNT_HW_REF_CPU_CYCLES:
		return 1000000000;
	case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
	case PERF_COUNT_HW_BUS_CYCLES:
	case PERF_COUNT_HW_STALLED_CYCLES_FRONTEND:
	case PERF_COUNT_HW_STALLED_CYCLES_BACKEND:
		return 100000000;
	default:
		return 1000000;
	}
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/**
 * pmr_freq_first_period() - what an event with attr.freq starts with
 * @attr: checked attr, sample_freq not 0
 *
 * Return: a period, fixed for the clocks and a guess for all others.
 */
u64 pmr_freq_first_period(const struct perf_event_attr *attr)
{
	if (is_clock(attr))
		return max_t(u64, NSEC_PER_SEC / attr->sample_freq, CLOCK_PERIOD_MIN);
	return max_t(u64, first_rate(attr) / attr->sample_freq, 1);
}

static u64 interval(u64 freq)
{
	return max_t(u64, NSEC_PER_SEC / freq, 1);
}

/**
 * pmr_freq_steer() - the average of an estimate and of what was just seen
 * @estimate: period, in fractions
 * @freq: samples per second
 * @count: events in the window
 * @ns: its length
 * @memory: weight of the estimate, in halves of an interval between samples
 *
 * Return: the new estimate, never less than one event.
 */
u64 pmr_freq_steer(u64 estimate, u64 freq, u64 count, u64 ns, u32 memory)
{
	u64 past = min_t(u64, memory * interval(freq) / 2, MEMORY_MAX_NS);
	u64 all = past + clamp_t(u64, ns, 1, WINDOW_MAX);

	count = min(count, COUNT_MAX) << FRACTION_BITS;
	estimate = mul_u64_u64_div_u64(estimate, past, all) +
		   mul_u64_u64_div_u64(count, interval(freq), all);
	return clamp_t(u64, estimate, FRACTION, ESTIMATE_MAX);
}

static u64 estimate_of(const struct pmr_event *event)
{
	return READ_ONCE(event->freq_period) ?:
	       min(READ_ONCE(event->hw.period), PERIOD_MAX) << FRACTION_BITS;
}

/**
 * pmr_freq_period() - the period that is right as far as is known
 * @event: event whose period follows its rate
 */
u64 pmr_freq_period(const struct pmr_event *event)
{
	return (estimate_of(event) + FRACTION / 2) >> FRACTION_BITS;
}

/*
 * Without a stamp there is no window: an NMI that comes in between leaves the
 * half-written one alone, and begins its own.
 */
static void begin_window(struct pmr_event *event, u64 count, u64 now)
{
	WRITE_ONCE(event->freq_stamp, 0);
	barrier();	/* an NMI from here on sees no window */
	WRITE_ONCE(event->freq_count, count);
	barrier();	/* an NMI from here on sees all of it */
	WRITE_ONCE(event->freq_stamp, now);
}

/* An event that stands still says nothing about its rate when it does not. */
static void end_window(struct pmr_event *event, u64 count, u64 now, bool overflow)
{
	u64 freq = event->attr.sample_freq;
	u64 stamp = READ_ONCE(event->freq_stamp);
	s64 events = count - READ_ONCE(event->freq_count);
	s64 ns = now - stamp;

	if (stamp && events > 0 && ns > 0) {
		bool silent = !overflow && ns >= 2 * interval(freq);

		WRITE_ONCE(event->freq_period,
			   pmr_freq_steer(estimate_of(event), freq, events, ns,
					  silent ? MEMORY_SILENT : MEMORY));
		WRITE_ONCE(event->hw.next_period, pmr_freq_period(event));
	}
	begin_window(event, count, now);
}

/**
 * pmr_freq_start() - an event begins to count
 * @event: event whose period follows its rate
 * @now: local_clock()
 */
void pmr_freq_start(struct pmr_event *event, u64 now)
{
	begin_window(event, event->hw.count, now);
}

/**
 * pmr_freq_overflow() - an event has overflowed
 * @event: event whose period follows its rate, folded
 * @now: local_clock()
 */
void pmr_freq_overflow(struct pmr_event *event, u64 now)
{
	end_window(event, event->hw.count, now, true);
}

/**
 * pmr_freq_tick() - look at an event that may not have overflowed for long
 * @event: active event whose period follows its rate
 * @now: local_clock()
 *
 * Return: true if its period must be cut: the caller begins one of
 * pmr_freq_period().
 */
bool pmr_freq_tick(struct pmr_event *event, u64 now)
{
	struct pmr_hw *hw = &event->hw;
	u64 count = hw->pmu->count(hw);
	s64 left = READ_ONCE(hw->period_left) - (s64)(count - READ_ONCE(hw->count));

	end_window(event, count, now, false);
	return left > (s64)(2 * pmr_freq_period(event));
}

/**
 * pmr_freq_set() - PERF_EVENT_IOC_PERIOD in frequency mode
 * @event: event with attr.freq
 * @freq: samples per second, not 0
 *
 * Return: the period that the caller has to begin.
 */
u64 pmr_freq_set(struct pmr_event *event, u64 freq)
{
	u64 before = interval(event->attr.sample_freq);
	u64 estimate = estimate_of(event);

	WRITE_ONCE(event->attr.sample_freq, freq);
	if (!pmr_freq_steers(event))
		return pmr_freq_first_period(&event->attr);
	estimate = min(estimate, U64_MAX / interval(freq));
	WRITE_ONCE(event->freq_period, clamp_t(u64, estimate * interval(freq) / before,
					       FRACTION, ESTIMATE_MAX));
	return pmr_freq_period(event);
}
