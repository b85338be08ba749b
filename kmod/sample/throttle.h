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
 * struct pmr_sampling_time - what sampling has cost one CPU in this tick
 * @tick: jiffies of the tick
 * @spent: TSC cycles
 * @allowed: beyond which the event with the most overflows is throttled
 * @grace: what the next throttling adds to @allowed
 * @most: overflows of that event in this tick
 *
 * Written by its CPU only; an NMI that interrupts a writer costs at most its
 * own contribution.
 */
struct pmr_sampling_time {
	unsigned long tick;
	u64 spent;
	u64 allowed;
	u64 grace;
	u32 most;
};

DECLARE_PER_CPU(struct pmr_sampling_time, pmr_sampling_time);

/* tick_samples of an event that a THROTTLE record told of. */
#define PMR_THROTTLE_TOLD	U32_MAX

/* Samples of one event and tick at which it is throttled. */
extern u32 pmr_throttle_per_tick;

/* TSC cycles that an overflow costs before and after what can be measured. */
extern u32 pmr_throttle_overhead;

void pmr_throttle_new_tick(struct pmr_sampling_time *here, unsigned long tick);
bool pmr_throttle_over_time(struct pmr_sampling_time *here, u32 samples);

/**
 * pmr_throttle_account() - count an overflow against the limits
 * @event: event that has just been sampled
 * @cycles: what that took; half the TSC is enough for it
 *
 * Ticks are told apart by jiffies: where samples come so fast that nothing
 * else runs, those stand still, and the limits are reached.
 *
 * Return: true if the event must be throttled.
 */
static __always_inline bool pmr_throttle_account(struct pmr_event *event, u32 cycles)
{
	struct pmr_sampling_time *here = this_cpu_ptr(&pmr_sampling_time);
	unsigned long now = READ_ONCE(jiffies);
	u32 samples;

	if (unlikely(here->tick != now))
		pmr_throttle_new_tick(here, now);
	if (event->tick != now) {
		event->tick = now;
		event->tick_samples = 0;
	}
	samples = ++event->tick_samples;
	if (samples > here->most)
		here->most = samples;
	here->spent += cycles + pmr_throttle_overhead;
	if (unlikely(here->spent > here->allowed) && pmr_throttle_over_time(here, samples))
		return true;
	return samples >= READ_ONCE(pmr_throttle_per_tick);
}

void pmr_throttle_begin(struct pmr_event *event);
void pmr_throttle_end(struct pmr_event *event);
int pmr_throttle_set_rate(u32 rate);
u32 pmr_throttle_rate(void);
int pmr_throttle_set_percent(u32 percent);
u32 pmr_throttle_percent(void);
void pmr_throttle_init(void (*start_tick)(void));
void pmr_throttle_exit(void);

#endif /* PMR_THROTTLE_H */
