/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Throttling: what an overflow counts against the rate limit of its event and
 * the CPU-time limit of its CPU. Inline, because each overflow passes here: NMI,
 * or interrupts off for software events; no locks.
 */
#ifndef PMR_THROTTLE_H
#define PMR_THROTTLE_H

#include <linux/jiffies.h>
#include <linux/percpu.h>

#include "core/event.h"

/**
 * struct pmr_sampling_time - what sampling may still cost one CPU in this tick
 * @tick: jiffies of the tick
 * @left: TSC cycles; when none are left, the event with the most overflows is
 *	throttled
 * @grace: what that throttling adds to @left
 * @most: overflows of that event in this tick
 *
 * Written by its CPU only; an NMI that interrupts a writer costs at most its
 * own contribution.
 */
struct pmr_sampling_time {
	unsigned long tick;
	s64 left;
	s64 grace;
	u32 most;
};

DECLARE_PER_CPU(struct pmr_sampling_time, pmr_sampling_time);

/* TSC cycles that an overflow costs before and after what can be measured. */
extern u32 pmr_throttle_overhead;

void pmr_throttle_new_tick(struct pmr_sampling_time *here, unsigned long tick);
bool pmr_throttle_over_time(struct pmr_sampling_time *here, unsigned long tick, u32 samples);
void pmr_throttle_refill(struct pmr_throttle *throttle, unsigned long tick);

/**
 * pmr_throttle_count() - count a sample against the rate limit
 * @throttle: the event's, filled in this tick
 *
 * Return: true if it was one more than the limit allows.
 */
static __always_inline bool pmr_throttle_count(struct pmr_throttle *throttle)
{
	return ++throttle->samples > throttle->allowed;
}

/**
 * pmr_throttle_account() - count an overflow against the limits
 * @event: event that has just been sampled
 * @cycles: what that took; half the TSC is enough for it
 *
 * Ticks are told apart by jiffies: where samples come so fast that nothing
 * else runs, those stand still, and the limits are reached. The CPU's tick is
 * looked at when the event's has passed; an event that has come from another CPU
 * since then may find one that is over, see pmr_throttle_over_time().
 *
 * Return: true if the event must be throttled.
 */
static __always_inline bool pmr_throttle_account(struct pmr_event *event, u32 cycles)
{
	struct pmr_sampling_time *here = this_cpu_ptr(&pmr_sampling_time);
	unsigned long now = READ_ONCE(jiffies);
	bool over_rate;
	u32 samples;

	if (unlikely(event->throttle.tick != now)) {
		pmr_throttle_refill(&event->throttle, now);
		pmr_throttle_new_tick(here, now);
	}
	over_rate = pmr_throttle_count(&event->throttle);
	samples = event->throttle.samples;
	if (samples > here->most)
		here->most = samples;
	here->left -= cycles + pmr_throttle_overhead;
	if (unlikely(here->left < 0) && pmr_throttle_over_time(here, now, samples))
		return true;
	return over_rate;
}

/**
 * pmr_throttle_charge() - count what overflows have led to against the time limit
 * @cycles: what that took on this CPU
 *
 * The next overflow here finds it.
 */
static inline void pmr_throttle_charge(u32 cycles)
{
	this_cpu_sub(pmr_sampling_time.left, (s64)cycles + pmr_throttle_overhead);
}

bool pmr_throttle_is_over(struct pmr_throttle *throttle, unsigned long tick);
bool pmr_throttle_may_end(struct pmr_event *event);
void pmr_throttle_begin(struct pmr_event *event);
void pmr_throttle_end(struct pmr_event *event);
int pmr_throttle_set_rate(u32 rate);
u32 pmr_throttle_rate(void);
int pmr_throttle_set_percent(u32 percent);
u32 pmr_throttle_percent(void);
void pmr_throttle_init(void (*start_tick)(void));
void pmr_throttle_exit(void);

#endif /* PMR_THROTTLE_H */
