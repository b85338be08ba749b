// SPDX-License-Identifier: GPL-2.0
/*
 * Owns cpu-clock and task-clock: what they count, and the timer that samples.
 * Part of the software PMU, called by software.c only.
 *
 * add, del, count: on the CPU concerned, interrupts off, also from sched_switch
 * under the runqueue lock. The timer: hard IRQ on that CPU. No locks.
 *
 * Both count the scheduler's clock while they run. A task's clock and its
 * CPU's differ only in what they are opened for: a task event runs while its
 * task does.
 */
#include <linux/hrtimer.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "pmu/software.h"

static ktime_t interval_of(const struct pmr_hw *hw)
{
	return ns_to_ktime(max_t(u64, hw->period, PMR_CLOCK_MIN_NS));
}

/* How long the rest of the period is; one that is overdue gets the shortest. */
static ktime_t rest_of(const struct pmr_hw *hw)
{
	return ns_to_ktime(hw->period_left > 0 ? hw->period_left : PMR_CLOCK_MIN_NS);
}

/*
 * Time in the kernel is no user time, so a sample there would be a wrong one;
 * unlike a PMI, the timer is not tied to the instruction that ends the period.
 */
static bool wants_sample(const struct pmr_hw *hw, struct pt_regs *regs)
{
	return regs && !pmr_software_excluded(hw, regs) &&
	       !(hw->exclude_idle && is_idle_task(current));
}

/* One sample stands for all periods that went by while the timer was late. */
static enum hrtimer_restart end_period(struct hrtimer *timer)
{
	struct pmr_hw *hw = container_of(timer, struct pmr_hw, timer);
	struct pt_regs *regs = get_irq_regs();
	u64 ended = hrtimer_forward_now(timer, interval_of(hw));

	lockdep_assert_in_irq();
	if (!wants_sample(hw, regs))
		return HRTIMER_RESTART;
	hw->last_period = ended * hw->period;
	pmr_software_overflow(hw, regs);
	return hw->throttled ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

/**
 * pmr_clock_init_timer() - make the timer of a clock that samples
 * @hw: event that does not run
 */
void pmr_clock_init_timer(struct pmr_hw *hw)
{
	pmr_hrtimer_setup(&hw->timer, end_period);
}

/**
 * pmr_clock_init() - the part of init_event that is a clock's
 * @hw: event
 * @attr: checked attr
 */
void pmr_clock_init(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	hw->every = false;
	hw->exclude_idle = attr->exclude_idle;
	if (hw->sampling)
		pmr_clock_init_timer(hw);
}

/**
 * pmr_clock_add() - let a clock run
 * @hw: event
 *
 * While it is throttled it has no timer.
 */
void pmr_clock_add(struct pmr_hw *hw)
{
	lockdep_assert_irqs_disabled();
	hw->prev_raw = local_clock();
	if (hw->sampling && !hw->throttled)
		hrtimer_start(&hw->timer, rest_of(hw), HRTIMER_MODE_REL_PINNED_HARD);
}

/* The timer is this CPU's, and interrupts are off: it does not run now. */
static void stop_timer(struct pmr_hw *hw)
{
	s64 left = ktime_to_ns(hrtimer_get_remaining(&hw->timer));

	if (hrtimer_cancel(&hw->timer))
		hw->period_left = left;
}

/**
 * pmr_clock_del() - stop a clock
 * @hw: event that runs here
 */
void pmr_clock_del(struct pmr_hw *hw)
{
	lockdep_assert_irqs_disabled();
	if (hw->sampling)
		stop_timer(hw);
	hw->count += local_clock() - hw->prev_raw;
}

/**
 * pmr_clock_count() - what a clock shows
 * @hw: event that runs here
 */
u64 pmr_clock_count(const struct pmr_hw *hw)
{
	return hw->count + local_clock() - hw->prev_raw;
}
