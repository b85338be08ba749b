/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fields of the user page from which user space computes a count: index,
 * offset and pmc_width, and the sequence lock that covers them and the times.
 *
 * On the event's CPU with interrupts off, from task context, sched_switch, a
 * hard IRQ, or the NMI of its counter. No other locks.
 */
#ifndef PMR_USER_PAGE_H
#define PMR_USER_PAGE_H

#include <linux/bitops.h>
#include <linux/perf_event.h>

#include "pmu/pmu.h"

/*
 * A sequence lock whose readers are in user space. Stores become visible in
 * order on x86, so only the compiler has to be held. Pairs with the barriers in
 * the reader that the comment in <linux/perf_event.h> describes.
 */
static inline void pmr_user_page_begin(struct perf_event_mmap_page *page)
{
	WRITE_ONCE(page->lock, READ_ONCE(page->lock) + 1);
	barrier();
}

static inline void pmr_user_page_end(struct perf_event_mmap_page *page)
{
	barrier();
	WRITE_ONCE(page->lock, READ_ONCE(page->lock) + 1);
}

/**
 * pmr_publish_counter() - the count is offset plus the counter
 * @hw: event that runs on a counter, with a user page
 *
 * An NMI may come between the stores of somebody it interrupted. It finds the
 * lock odd, and readers of this CPU cannot run before that one is through; so
 * the NMI stores, and leaves the lock as it is. Whom it interrupted looks at
 * @hw->reloads and stores once more.
 */
static inline void pmr_publish_counter(struct pmr_hw *hw)
{
	struct perf_event_mmap_page *page = hw->user_page;
	bool inside = READ_ONCE(page->lock) & 1;
	u32 reloads;

	if (!inside)
		pmr_user_page_begin(page);
	do {
		reloads = READ_ONCE(hw->reloads);
		barrier();	/* pairs with the one in the driver's reload */
		page->index = hw->rdpmc + 1;
		page->pmc_width = hw->width;
		WRITE_ONCE(page->offset, READ_ONCE(hw->count) - hw->base -
			   sign_extend64(READ_ONCE(hw->prev_raw), hw->width - 1));
		barrier();	/* likewise */
	} while (READ_ONCE(hw->reloads) != reloads);
	if (!inside)
		pmr_user_page_end(page);
}

/**
 * pmr_publish_reload() - the counter has been written, by its NMI
 * @hw: event that runs on a counter, with a user page
 * @value: the counter's new value, its sign extended
 *
 * Index and width stay as they are. Only this CPU reads the counter, so a reader
 * sees both changes or none, and that the lock has moved. Where the NMI has
 * interrupted a writer, the lock stays odd, and that one stores once more.
 */
static inline void pmr_publish_reload(struct pmr_hw *hw, u64 value)
{
	struct perf_event_mmap_page *page = hw->user_page;

	WRITE_ONCE(page->offset, hw->count - hw->base - value);
	data_race(page->lock += 2);	/* the interrupted writer stores once more, see above */
}

/**
 * pmr_publish_stopped() - the count is offset alone
 * @hw: event that is on no counter, with a user page
 */
static inline void pmr_publish_stopped(struct pmr_hw *hw)
{
	struct perf_event_mmap_page *page = hw->user_page;

	pmr_user_page_begin(page);
	page->index = 0;
	page->offset = hw->count - hw->base;
	pmr_user_page_end(page);
}

#endif /* PMR_USER_PAGE_H */
