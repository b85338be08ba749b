// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the table of each CPU's counters and the choice of a counter for an
 * event. Called by the drivers on the CPU concerned with interrupts off; the
 * NMI reads the table. No locks.
 */
#include <linux/bitops.h>
#include <linux/string.h>

#include "pmu/x86/counters.h"

DEFINE_PER_CPU(struct pmr_counters, pmr_counters);

/*
 * Finds a counter for one more event by moving others: a path of events, each
 * of which can go where the next one is now, that ends at a free counter
 * (Berge's augmenting path). If there is none, no assignment exists at all, so
 * taking the events one after the other finds every solution. A free counter that
 * has been reached ends the path, so nobody moves who need not.
 *
 * Return: 0, or counters that are all taken, by events that can use no others:
 * no event that needs one of these can have one.
 */
static u64 make_room(struct pmr_hw **owner, u64 *unused, struct pmr_hw *hw)
{
	u64 pending = hw->allowed, seen = pending, reached;
	s8 from[PMR_COUNTERS_MAX];
	int idx;

	for (reached = pending; reached; reached &= reached - 1)
		from[__ffs64(reached)] = -1;

	for (; pending; pending &= ~BIT_ULL(idx)) {
		idx = __ffs64(pending & *unused ?: pending);
		if (!owner[idx])
			break;
		reached = owner[idx]->allowed & ~seen;
		seen |= reached;
		pending |= reached;
		for (; reached; reached &= reached - 1)
			from[__ffs64(reached)] = idx;
	}
	if (!pending)
		return seen;
	*unused &= ~BIT_ULL(idx);
	for (; from[idx] >= 0; idx = from[idx])
		owner[idx] = owner[from[idx]];
	owner[idx] = hw;
	return 0;
}

/**
 * pmr_counters_assign() - find counters for more events
 * @owner: the event on each counter, or NULL; PMR_COUNTERS_MAX of them. Holds
 *	the new assignment afterwards
 * @hws: events that are on none
 * @number: how many
 * @full: on failure, counters among which there is room for nobody, whoever of
 *	@hws comes; may be 0
 *
 * Return: true, or false if there is no assignment; then @owner is spoilt.
 */
bool pmr_counters_assign(struct pmr_hw **owner, struct pmr_hw *const *hws, unsigned int number,
			 u64 *full)
{
	u64 unused = 0, taken;
	unsigned int i;

	for (i = 0; i < PMR_COUNTERS_MAX; i++)
		if (!owner[i])
			unused |= BIT_ULL(i);
	for (i = 0; i < number; i++) {
		taken = make_room(owner, &unused, hws[i]);
		if (taken) {
			*full = i ? 0 : taken;
			return false;
		}
	}
	return true;
}

/**
 * pmr_counters_reset() - forget everything: the PMU of this CPU is given back
 * @counters: table of this CPU, no event in it
 */
void pmr_counters_reset(struct pmr_counters *counters)
{
	WRITE_ONCE(counters->ready, false);
	barrier();	/* the NMI reads nothing else once it sees that */
	memset(counters, 0, sizeof(*counters));
}
