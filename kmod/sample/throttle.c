// SPDX-License-Identifier: GPL-2.0
/*
 * Owns throttling: an event that samples more often than max_sample_rate goes
 * on counting, and writes no samples until the next tick.
 *
 * pmr_throttle_begin(): NMI. The timer: hard IRQ on the CPU of the events.
 * pmr_throttle_set_rate(): task context. No locks; the timer of a CPU is armed
 * by that CPU only.
 *
 * The timer runs only while something is throttled.
 */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/math.h>

#include "compat.h"
#include "sample/sample.h"

/* Linux's default of kernel.perf_event_max_sample_rate. */
#define DEFAULT_RATE	100000

static u32 max_rate = DEFAULT_RATE;
u32 pmr_throttle_per_tick __read_mostly = DIV_ROUND_UP(DEFAULT_RATE, HZ);

/**
 * struct throttle - one CPU's way from a throttled event to the next tick
 * @arm: leaves NMI context to start the timer
 * @timer: ends the throttling
 */
struct throttle {
	struct irq_work arm;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct throttle, throttle);

static void arm_timer(struct irq_work *work)
{
	struct throttle *here = container_of(work, struct throttle, arm);

	if (!hrtimer_active(&here->timer))
		hrtimer_start(&here->timer, ns_to_ktime(TICK_NSEC), HRTIMER_MODE_REL_PINNED_HARD);
}

static void samples_again(struct pmr_hw *hw)
{
	pmr_throttle_output(container_of(hw, struct pmr_event, hw), false);
}

static enum hrtimer_restart end_throttling(struct hrtimer *timer)
{
	pmr_pmu->unthrottle(samples_again);
	return HRTIMER_NORESTART;
}

/**
 * pmr_throttle_begin() - an event has reached the limit
 * @event: event that has just been sampled
 *
 * NMI. The timer is on its way afterwards.
 */
void pmr_throttle_begin(struct pmr_event *event)
{
	event->tick_samples = 0;
	__this_cpu_inc(pmr_cpu_stats.throttled);
	irq_work_queue(this_cpu_ptr(&throttle.arm));
}

/**
 * pmr_throttle_set_rate() - set the limit
 * @rate: samples per second and event, at least 1
 *
 * Return: 0 or -EINVAL.
 */
int pmr_throttle_set_rate(u32 rate)
{
	if (!rate)
		return -EINVAL;
	WRITE_ONCE(max_rate, rate);
	WRITE_ONCE(pmr_throttle_per_tick, DIV_ROUND_UP_ULL(rate, HZ));
	return 0;
}

/**
 * pmr_throttle_rate() - the limit
 */
u32 pmr_throttle_rate(void)
{
	return READ_ONCE(max_rate);
}

/**
 * pmr_throttle_init() - make each CPU's timer
 */
void pmr_throttle_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct throttle *there = per_cpu_ptr(&throttle, cpu);

		init_irq_work(&there->arm, arm_timer);
		pmr_hrtimer_setup(&there->timer, end_throttling);
	}
}

/**
 * pmr_throttle_exit() - stop the timers, when no event is left
 */
void pmr_throttle_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct throttle *there = per_cpu_ptr(&throttle, cpu);

		irq_work_sync(&there->arm);
		hrtimer_cancel(&there->timer);
	}
}
