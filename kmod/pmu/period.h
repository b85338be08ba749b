/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Period arithmetic: pure functions on a struct pmr_hw that the caller owns
 * (its CPU with interrupts off, or the NMI). Any context, no locks.
 *
 * Counters count up and overflow when they wrap, so a counter that is to
 * overflow after n events is loaded with -n (SDM vol. 3B, 20.2).
 */
#ifndef PMR_PERIOD_H
#define PMR_PERIOD_H

#include <linux/math64.h>
#include <linux/minmax.h>

#include "pmu/pmu.h"

/* A counter that is loaded with -1 may wrap without an interrupt. */
#define PMR_PERIOD_MIN	2

/**
 * pmr_raw_delta() - events between two readings of a counter
 * @prev: earlier value
 * @now: later value
 * @mask: the bits that the counter has
 *
 * Right as long as the counter has not gone round completely.
 */
static inline u64 pmr_raw_delta(u64 prev, u64 now, u64 mask)
{
	return (now - prev) & mask;
}

/* Counters wrap to 0 from the top half, where every load starts. */
static inline bool pmr_has_wrapped(const struct pmr_hw *hw, u64 raw)
{
	return !(raw & (hw->mask ^ (hw->mask >> 1)));
}

/**
 * pmr_period_load() - events to program until the next PMI
 * @hw: event
 * @max: most that the counter takes
 *
 * A long period takes several rounds. One that is already due, because the
 * event was stopped between its overflow and the PMI, gets the shortest load:
 * the PMI comes at once and @hw->period_left still knows how late it is.
 */
static inline u64 pmr_period_load(const struct pmr_hw *hw, u64 max)
{
	/*
	 * Going on where it was keeps the user page's offset below @max: clients
	 * extend the sign of the offset as they do with the counter's.
	 */
	if (!hw->sampling)
		return hw->count <= max - PMR_PERIOD_MIN ? max - hw->count : max;
	if (unlikely(hw->throttled))
		return max;
	return clamp_t(s64, hw->period_left, PMR_PERIOD_MIN, max);
}

/**
 * pmr_period_fold() - account what a counter has counted
 * @hw: event
 * @raw: value of its counter
 * @mask: the bits that the counter has
 */
static inline void pmr_period_fold(struct pmr_hw *hw, u64 raw, u64 mask)
{
	u64 delta = pmr_raw_delta(hw->prev_raw, raw, mask);

	/*
	 * An NMI may do this while a read of the same CPU is under way, which finds that
	 * @hw->reloads has moved on and reads again.
	 */
	data_race(hw->count += delta);		/* one instruction */
	WRITE_ONCE(hw->prev_raw, raw);
	data_race(hw->period_left -= delta);	/* one instruction */
}

/**
 * pmr_period_renew() - start the next period if this one has ended
 * @hw: sampling event, folded
 *
 * When more than one period has gone by, because the period is shorter than
 * the way to the handler, one sample stands for all of them: @hw->last_period
 * tells, so that the sum of all PERIOD fields stays the count.
 *
 * Return: true if a sample is due.
 */
static inline bool pmr_period_renew(struct pmr_hw *hw)
{
	u64 ended = hw->period, more = 0;

	if (hw->period_left > 0)
		return false;
	if (unlikely(hw->next_period)) {
		WRITE_ONCE(hw->period, hw->next_period);
		hw->next_period = 0;
	}
	if (unlikely(hw->period_left <= -(s64)hw->period))
		more = div64_u64(-hw->period_left, hw->period) * hw->period;
	data_race(hw->period_left += hw->period + more);	/* pmr_freq_tick() reads it */
	hw->last_period = ended + more;
	return true;
}

/**
 * pmr_period_set() - begin a new period now
 * @hw: sampling event that is not running
 * @period: 1 to 2^63 - 1
 */
static inline void pmr_period_set(struct pmr_hw *hw, u64 period)
{
	hw->period = period;
	hw->next_period = 0;
	hw->period_left = period;
	hw->last_period = period;
}

/**
 * pmr_period_cut() - let the running period end after so many more events
 * @hw: sampling event that is not running, folded
 * @left: 1 to 2^63 - 1
 * @next: length of the periods that follow
 *
 * The sample at its end stands for all that was counted since the last one.
 */
static inline void pmr_period_cut(struct pmr_hw *hw, u64 left, u64 next)
{
	hw->period += left - hw->period_left;
	hw->next_period = next;
	hw->period_left = left;
}

#endif /* PMR_PERIOD_H */
