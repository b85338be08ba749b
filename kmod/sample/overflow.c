// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the overflow: where the PMU layer hands an event that is due to the
 * core. NMI, or interrupts off for software events; no locks.
 */
#include <linux/lockdep.h>
#include <linux/sched/clock.h>

#include "sample/common_sample.h"
#include "sample/freq.h"
#include "sample/throttle.h"

static void later(struct pmr_event *event, int what)
{
	set_bit(what, &event->pending);
	irq_work_queue(&event->work);
}

/*
 * Somebody wants a signal for each overflow, with a ring or without, or
 * PERF_EVENT_IOC_REFRESH granted a number of overflows. That is refused for
 * inherited events, so nobody counts down at the same time.
 *
 * Return: true if this was the last one.
 */
static noinline bool tell_owner(struct pmr_event *event)
{
	bool last = atomic_read(&event->limit) && atomic_dec_and_test(&event->limit);

	if (last) {
		set_bit(PMR_PENDING_HUP, &event->pending);
		later(event, PMR_PENDING_DISABLE);
	}
	if (READ_ONCE(event->fasync))
		later(event, PMR_PENDING_WAKE);
	return last;
}

static __always_inline u32 began_at(const struct pmr_hw *hw)
{
	return hw->pmu->software ? pmr_cycles_now() : __this_cpu_read(pmr_nmi_began);
}

/**
 * pmr_event_overflow() - a period of an event has ended
 * @hw: the event's hardware part, reloaded already
 * @regs: where it interrupted
 *
 * Return: true if the event must write no more samples for now.
 */
bool pmr_event_overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	struct pmr_event *event = container_of(hw, struct pmr_event, hw);
	struct pmr_event *top = event->top;
	u32 began = began_at(hw), ended;
	bool last = false;

	lockdep_assert_irqs_disabled();
	if (unlikely(pmr_freq_steers(event)))
		pmr_freq_overflow(event, local_clock());
	pmr_sample_output(event, top, regs);
	if (unlikely(atomic_read(&top->limit) | (long)READ_ONCE(top->fasync)))
		last = tell_owner(top);
	ended = pmr_cycles_now();
	__this_cpu_write(pmr_nmi_began, ended);
	if (likely(!pmr_throttle_account(event, ended - began)) || last)
		return last;
	pmr_throttle_begin(event);
	return true;
}
