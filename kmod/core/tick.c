// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the tick: a per-CPU timer that ends throttling and adjusts the periods of events in
 * frequency mode. It runs only while such an event is active on the CPU.
 *
 * pmr_tick_start(), _cpu_offline(): on the CPU concerned, interrupts off. start also in
 * sched_switch: the timer base's lock nests inside the runqueue lock. The timer: hard IRQ;
 * locks the contexts that are scheduled in here, one at a time. init, exit: task context.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "compat.h"
#include "core/context.h"
#include "core/tick.h"
#include "sample/freq.h"
#include "sample/throttle.h"

/* Delay after the kernel's tick, so that jiffies has advanced. */
#define BEHIND_NS	(TICK_NSEC / 16)

/**
 * struct tick - tick of one CPU; accessed there, interrupts off
 * @timer: expires every TICK_NSEC, BEHIND_NS after the kernel's tick
 * @armed: @timer is pending or running
 */
struct tick {
	struct hrtimer timer;
	bool armed;
};

static DEFINE_PER_CPU(struct tick, tick);

/*
 * The kernel's ticks normally expire at multiples of TICK_NSEC of this clock. Otherwise a
 * throttled event waits longer, and its budget makes up for it.
 */
static ktime_t next_tick(void)
{
	u64 tick = div_u64(ktime_get() - BEHIND_NS, TICK_NSEC) + 1;

	return tick * TICK_NSEC + BEHIND_NS;
}

/**
 * pmr_tick_start() - start this CPU's tick if it is not running
 */
void pmr_tick_start(void)
{
	struct tick *here = this_cpu_ptr(&tick);

	lockdep_assert_irqs_disabled();
	if (here->armed)
		return;
	here->armed = true;
	hrtimer_start(&here->timer, next_tick(), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Called by pmr_active_here(): interrupts off, the event's context locked. */
static void visit(struct pmr_event *event, void *arg)
{
	bool throttled = READ_ONCE(event->hw.throttled);	/* the NMI sets it */
	u64 period = READ_ONCE(event->hw.period);
	bool restart = false;
	bool *again = arg;

	lockdep_assert_held(&event->context->lock);
	if (event->state != PMR_STATE_ACTIVE || test_bit(PMR_PENDING_DISABLE, &event->pending))
		return;
	if (pmr_freq_steers(event)) {
		*again = true;
		restart = pmr_freq_tick(event, local_clock());
		period = pmr_freq_period(event);
	}
	if (throttled) {
		restart = pmr_throttle_may_end(event);
		*again |= !restart;
	}
	if (restart)
		pmr_event_restart(event, period);
}

static enum hrtimer_restart do_tick(struct hrtimer *timer)
{
	struct tick *here = container_of(timer, struct tick, timer);
	bool again = false;

	lockdep_assert_in_irq();
	/* Hotplug may have moved the timer of an offline CPU to this one. */
	if (unlikely(here != this_cpu_ptr(&tick))) {
		here->armed = false;
		return HRTIMER_NORESTART;
	}
	pmr_active_here(visit, &again);
	if (!again) {
		here->armed = false;
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NSEC));
	return HRTIMER_RESTART;
}

/**
 * pmr_tick_cpu_offline() - stop this CPU's tick; its contexts are scheduled out
 */
void pmr_tick_cpu_offline(void)
{
	lockdep_assert_irqs_disabled();
	hrtimer_cancel(this_cpu_ptr(&tick.timer));
	this_cpu_write(tick.armed, false);
}

/**
 * pmr_tick_init() - set up the timers and the throttle
 */
void pmr_tick_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pmr_hrtimer_setup(&per_cpu_ptr(&tick, cpu)->timer, do_tick);
	pmr_throttle_init(pmr_tick_start);
}

/**
 * pmr_tick_exit() - stop all timers after the last event is gone
 */
void pmr_tick_exit(void)
{
	int cpu;

	pmr_throttle_exit();
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&tick, cpu)->timer);
}
