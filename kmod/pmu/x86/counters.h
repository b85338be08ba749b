/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of one CPU: which event runs on which.
 */
#ifndef PMR_COUNTERS_H
#define PMR_COUNTERS_H

#include <linux/jiffies.h>
#include <linux/percpu.h>

#include "pmu/pmu.h"

/**
 * struct pmr_counters - the counters of one CPU
 * @active: counters that an event runs on, as bits of GLOBAL_STATUS
 * @kernel: of these, the ones that count in ring 0 and so can overflow while
 *	a PMI is being handled
 * @full: counters that are known to leave no room, even if events move, to an
 *	event that can use no others
 * @dirty: counters that may still hold what some event has counted
 * @fixed_ctrl: what FIXED_CTR_CTRL holds
 * @late_until: jiffies until which a PMI without a cause is expected, because
 *	a counter was stopped after its overflow; 0 for none
 * @at_zero: counters that have been set to 0 for a moment, see dirty.c; none of them
 *	has wrapped
 * @silenced: all ones while nothing may count here, see watch.c, else 0
 * @looked: TSC when watch.c last looked at the counters; 0: not yet
 * @seen: counters whose value watch.c has noted while this event was on them
 * @watched: watch.c will look again, or has been asked to
 * @ready: pmuring has taken the PMU of this CPU; while it has not, all else is zero
 * @hw: the event on each counter, NULL where @active lacks its bit
 *
 * Written by task context of this CPU with interrupts off; the NMI reads it at
 * any point in between, so a bit of @active is set after and cleared before
 * what it stands for.
 */
struct pmr_counters {
	u64 active;
	u64 kernel;
	u64 full;
	u64 dirty;
	u64 fixed_ctrl;
	unsigned long late_until;
	u64 at_zero;
	u64 silenced;
	u64 looked;
	u64 seen;
	bool watched;
	bool ready;
	struct pmr_hw *hw[PMR_COUNTERS_MAX];
};

DECLARE_PER_CPU(struct pmr_counters, pmr_counters);

int pmr_counters_pick(u64 allowed, u64 used, int last);
bool pmr_counters_assign(struct pmr_hw **owner, struct pmr_hw *const *hws, unsigned int number,
			 u64 *full);
void pmr_counters_occupy(struct pmr_counters *counters, struct pmr_hw *hw, int idx);
void pmr_counters_vacate(struct pmr_counters *counters, struct pmr_hw *hw);
void pmr_counters_reset(struct pmr_counters *counters);

/* NMI or interrupts off: may a PMI come whose counter has been stopped meanwhile? */
static inline bool pmr_counters_expect_pmi(const struct pmr_counters *counters)
{
	unsigned long until = READ_ONCE(counters->late_until);

	return until && time_before(jiffies, until);
}

#endif /* PMR_COUNTERS_H */
