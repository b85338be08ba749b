// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the tick: a timer of each CPU that ends throttlings and steers the
 * periods of events in frequency mode. It runs only while there is such an
 * event on the CPU.
 *
 * pmr_tick_start(), _cpu_offline(): on the CPU concerned, interrupts off; also
 * from sched_switch: the runqueue's lock is outside of a timer base's. The timer:
 * hard IRQ; takes the locks of the contexts that are in here, one at a time.
 * init, exit: task context.
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

/* How far behind the kernel's tick ours comes: jiffies have advanced by then. */
#define BEHIND_NS	(TICK_NSEC / 16)

/**
 * struct tick - one CPU's tick; its own, interrupts off
 * @timer: comes every TICK_NSEC, BEHIND_NS after the kernel's tick
 * @armed: it is on its way
 */
struct tick {
	struct hrtimer timer;
	bool armed;
};

static DEFINE_PER_CPU(struct tick, tick);

/*
 * The kernel's ticks come at multiples of TICK_NSEC of this clock. Where they do
 * not, a throttled event waits for longer, and its budget makes up for it.
 */
static ktime_t next_tick(void)
{
	u64 tick = div_u64(ktime_get() - BEHIND_NS, TICK_NSEC) + 1;

	return tick * TICK_NSEC + BEHIND_NS;
}

/**
 * pmr_tick_start() - an event of this CPU needs the tick
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

/* Locked, as pmr_active_here() has it. */
static void visit(struct pmr_event *event, void *arg)
{
	bool throttled = event->hw.throttled;
	u64 period = event->hw.period;
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
	/* One that a CPU left behind on its way down is of no use. */
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
 * pmr_tick_cpu_offline() - this CPU goes down, its contexts are out
 */
void pmr_tick_cpu_offline(void)
{
	lockdep_assert_irqs_disabled();
	hrtimer_cancel(this_cpu_ptr(&tick.timer));
	this_cpu_write(tick.armed, false);
}

/**
 * pmr_tick_init() - make each CPU's tick
 */
void pmr_tick_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pmr_hrtimer_setup(&per_cpu_ptr(&tick, cpu)->timer, do_tick);
	pmr_throttle_init(pmr_tick_start);
}

/**
 * pmr_tick_exit() - stop the ticks, when no event is left
 */
void pmr_tick_exit(void)
{
	int cpu;

	pmr_throttle_exit();
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&tick, cpu)->timer);
}
