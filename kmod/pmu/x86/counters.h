/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters of one CPU: which event runs on which.
 */
#ifndef PMR_COUNTERS_H
#define PMR_COUNTERS_H

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
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

bool pmr_counters_assign(struct pmr_hw **owner, struct pmr_hw *const *hws, unsigned int number,
			 u64 *full);
void pmr_counters_reset(struct pmr_counters *counters);

/**
 * pmr_counters_pick() - choose a counter
 * @allowed: counters that can count the event
 * @used: counters that are taken
 * @last: the one it ran on before, or -1
 *
 * An event goes back to its last counter when it can. Otherwise it takes a
 * fixed counter, which nothing else could use as well, before a general one.
 *
 * Return: number of the counter, or -1.
 */
static inline int pmr_counters_pick(u64 allowed, u64 used, int last)
{
	u64 unused = allowed & ~used;
	u64 fixed = unused & GENMASK_ULL(PMR_COUNTERS_MAX - 1, PMR_FIXED_BASE);

	if (!unused)
		return -1;
	if (last >= 0 && unused & BIT_ULL(last))
		return last;
	return __ffs64(fixed ? fixed : unused);
}

/**
 * pmr_counters_occupy() - enter an event into the table
 * @counters: table of this CPU
 * @hw: event
 * @idx: free counter
 */
static inline void pmr_counters_occupy(struct pmr_counters *counters, struct pmr_hw *hw,
				       int idx)
{
	lockdep_assert_irqs_disabled();
	/* Free in production: each switch comes this way. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(counters->active & BIT_ULL(idx));
	hw->idx = idx;
	hw->last_idx = idx;
	counters->hw[idx] = hw;
	counters->seen &= ~BIT_ULL(idx);
	if (hw->kernel)
		counters->kernel |= BIT_ULL(idx);
	barrier();	/* the NMI follows @hw where it sees the bit */
	WRITE_ONCE(counters->active, counters->active | BIT_ULL(idx));
}

/**
 * pmr_counters_vacate() - take an event out of the table
 * @counters: table of this CPU
 * @hw: event whose counter has been stopped
 *
 * From here on the NMI does not touch @hw.
 */
static inline void pmr_counters_vacate(struct pmr_counters *counters, struct pmr_hw *hw)
{
	u64 bit = BIT_ULL(hw->idx);

	lockdep_assert_irqs_disabled();
	WRITE_ONCE(counters->active, counters->active & ~bit);
	barrier();	/* the NMI must not follow @hw once it is reused */
	counters->kernel &= ~bit;
	counters->dirty |= bit;
	counters->full = counters->silenced;
	counters->hw[hw->idx] = NULL;
	hw->idx = -1;
}

/* NMI or interrupts off: may a PMI come whose counter has been stopped meanwhile? */
static inline bool pmr_counters_expect_pmi(const struct pmr_counters *counters)
{
	unsigned long until = READ_ONCE(counters->late_until);

	return until && time_before(jiffies, until);
}

#endif /* PMR_COUNTERS_H */
