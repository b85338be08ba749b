// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the overflow: where the PMU layer hands an event that is due to the
 * core. NMI context, no locks.
 */
#include "sample/sample.h"

/**
 * pmr_event_overflow() - a period of an event has ended
 * @hw: the event's hardware part, reloaded already
 * @regs: where it interrupted
 *
 * Return: true if the event must be throttled.
 */
bool pmr_event_overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	struct pmr_event *event = container_of(hw, struct pmr_event, hw);

	pmr_sample_output(event, regs);
	if (likely(!pmr_throttle_account(event)))
		return false;
	pmr_throttle_begin(event);
	pmr_throttle_output(event, true);
	return true;
}
