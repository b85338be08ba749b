/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the software PMU: what software.c, which owns it, and clock_events.c
 * share.
 */
#ifndef PMR_SOFTWARE_H
#define PMR_SOFTWARE_H

#include "pmu/pmu.h"

/* No clock samples more often, whatever its period; perf's limit. */
#define PMR_CLOCK_MIN_NS	10000

void pmr_clock_init(struct pmr_hw *hw, const struct perf_event_attr *attr);
void pmr_clock_init_timer(struct pmr_hw *hw);
void pmr_clock_add(struct pmr_hw *hw);
void pmr_clock_del(struct pmr_hw *hw);
u64 pmr_clock_count(const struct pmr_hw *hw);

/**
 * pmr_software_excluded() - does the attr leave out what happens here?
 * @hw: software event
 * @regs: where it happens
 */
static inline bool pmr_software_excluded(const struct pmr_hw *hw, struct pt_regs *regs)
{
	return user_mode(regs) ? !hw->user : !hw->kernel;
}

/**
 * pmr_software_overflow() - a period of a software event has ended
 * @hw: event, its next period begun
 * @regs: where it happens
 *
 * Throttled, it counts on and stays quiet; pmr_event_restart() ends that.
 */
static inline void pmr_software_overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	if (unlikely(hw->throttled))
		return;
	if (unlikely(static_call(pmr_overflow)(hw, regs)))
		hw->throttled = true;
}

#endif /* PMR_SOFTWARE_H */
