// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the table of each CPU's counters and the choice of a counter for an
 * event. Called by the drivers on the CPU concerned with interrupts off; the
 * NMI reads the table. No locks.
 */
#include <linux/bitops.h>
#include <linux/smp.h>

#include "pmu/x86/counters.h"

DEFINE_PER_CPU(struct pmr_counters, pmr_counters);

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
int pmr_counters_pick(u64 allowed, u64 used, int last)
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
void pmr_counters_occupy(struct pmr_counters *counters, struct pmr_hw *hw, int idx)
{
	hw->idx = idx;
	hw->last_idx = idx;
	counters->hw[idx] = hw;
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
void pmr_counters_vacate(struct pmr_counters *counters, struct pmr_hw *hw)
{
	u64 bit = BIT_ULL(hw->idx);

	WRITE_ONCE(counters->active, counters->active & ~bit);
	barrier();	/* the NMI must not follow @hw once it is reused */
	counters->kernel &= ~bit;
	counters->hw[hw->idx] = NULL;
	hw->idx = -1;
}
