// SPDX-License-Identifier: GPL-2.0
/*
 * Owns what the kernel writes into the user page beside the ring's positions:
 * struct perf_event_mmap_page from lock to time_running.
 *
 * pmr_event_update_user_page(): event's CPU, interrupts off, context locked,
 * so that there is one writer; the NMI never writes these fields.
 */
#include <linux/rcupdate.h>

#include "core/context.h"
#include "core/event.h"

/**
 * pmr_event_init_user_page() - the constant part
 * @ring: ring that nobody sees yet
 *
 * version stays 0, as on every Linux. The reserved part, which @size excludes,
 * begins behind time_mask.
 */
void pmr_event_init_user_page(struct pmr_ring *ring)
{
	struct perf_event_mmap_page *page = ring->user_page;

	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
}

/**
 * pmr_event_update_user_page() - publish count and times as of now
 * @event: event
 *
 * index stays 0: the counters cannot be read from user space yet, so @offset
 * is the whole count.
 */
void pmr_event_update_user_page(struct pmr_event *event)
{
	struct pmr_ring *ring = rcu_dereference_check(event->ring,
						      lockdep_is_held(&event->context->lock));
	struct perf_event_mmap_page *page;

	if (!ring)
		return;
	page = ring->user_page;
	/*
	 * A sequence lock whose readers are in user space on the same CPU or
	 * another: stores become visible in order on x86, so only the compiler
	 * has to be held. Pairs with the barriers in the reader that the comment
	 * in <linux/perf_event.h> describes.
	 */
	WRITE_ONCE(page->lock, page->lock + 1);
	barrier();
	page->index = 0;
	page->offset = event->hw.count - event->base;
	page->time_enabled = event->enabled;
	page->time_running = event->running;
	barrier();
	WRITE_ONCE(page->lock, page->lock + 1);
}
