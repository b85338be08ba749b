// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the overflow: where the PMU layer hands an event that is due to the
 * core. NMI, or interrupts off for software events; no locks.
 */
#include <linux/sched/clock.h>
#include <asm/msr.h>

#include "sample/freq.h"
#include "sample/sample.h"
#include "sample/throttle.h"

static void later(struct pmr_event *event, int what)
{
	set_bit(what, &event->pending);
	irq_work_queue(&event->work);
}

/*
 * PERF_EVENT_IOC_REFRESH granted a number of overflows. It is refused for
 * inherited events, so nobody counts down at the same time.
 *
 * Return: true if this was the last one.
 */
static noinline bool reaches_limit(struct pmr_event *event)
{
	if (!atomic_dec_and_test(&event->limit))
		return false;
	set_bit(PMR_PENDING_HUP, &event->pending);
	later(event, PMR_PENDING_DISABLE);
	return true;
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
	u64 began = rdtsc();
	bool last = false;

	if (unlikely(pmr_freq_steers(event)))
		pmr_freq_overflow(event, local_clock());
	pmr_sample_output(event, regs);
	if (unlikely(atomic_read(&top->limit)))
		last = reaches_limit(top);
	/* One signal each, with a ring or without. */
	if (unlikely(READ_ONCE(top->fasync)))
		later(top, PMR_PENDING_WAKE);
	if (likely(!pmr_throttle_account(event, rdtsc() - began)) || last)
		return last;
	pmr_throttle_begin(event);
	return true;
}
