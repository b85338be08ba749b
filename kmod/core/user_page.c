// SPDX-License-Identifier: GPL-2.0
/*
 * Publishes the times in the user page, and the conversion from the TSC to the clock that
 * the times use. ring/ and pmu/user_page.h publish the ring's positions and the counter.
 *
 * pmr_event_publish(): event's CPU, interrupts off, context locked.
 * pmr_event_map_user_page() and _unmap(): task context. No other locks.
 */
#include <linux/clocksource.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <asm/tsc.h>

#include "core/context.h"
#include "core/event.h"
#include "pmu/user_page.h"
#include "pmu/x86/rdpmc.h"

/**
 * struct conversion - TSC to ns: (tsc * @mult) >> @shift
 * @mult: multiplier; 0 if the TSC cannot be used
 * @shift: shift, below 32
 */
static struct conversion {
	u32 mult;
	u32 shift;
} conversion __read_mostly;

/**
 * pmr_user_page_init() - compute the TSC conversion if the TSC is stable
 *
 * The kernel computes its scheduler clock from the same two numbers but does not export
 * them.
 */
void pmr_user_page_init(void)
{
	if (!tsc_khz || check_tsc_unstable())
		return;
	clocks_calc_mult_shift(&conversion.mult, &conversion.shift, tsc_khz, NSEC_PER_MSEC, 0);
	/* Some readers compute in 32 bits, so a shift of 32 would overflow. */
	if (conversion.shift == 32) {
		conversion.shift = 31;
		conversion.mult >>= 1;
	}
}

/**
 * pmr_event_init_user_page() - fill in the constant fields
 * @page: page that is not mapped yet
 *
 * version stays 0, as in perf. size excludes the reserved part after time_mask.
 */
void pmr_event_init_user_page(struct perf_event_mmap_page *page)
{
	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
}

/* As of now, whenever the event's own were last brought up to date. */
static void publish_times(const struct pmr_event *event, struct perf_event_mmap_page *page, u64 now)
{
	u64 passed = now - event->since;
	bool enabled = event->state >= PMR_STATE_INACTIVE &&
		       event->leader->state > PMR_STATE_OFF;
	bool running = event->state == PMR_STATE_ACTIVE;

	page->time_enabled = event->enabled + READ_ONCE(event->child_enabled) +
			     (enabled ? passed : 0);
	page->time_running = event->running + READ_ONCE(event->child_running) +
			     (running ? passed : 0);
}

/*
 * Readers use this to extrapolate the times to the present. time_zero gives the clock of
 * records that have TIME, unless the event has use_clockid.
 */
static void publish_clock(const struct pmr_event *event, struct perf_event_mmap_page *page)
{
	u64 passed;

	if (!conversion.mult)
		return;
	passed = mul_u64_u32_shr(rdtsc_ordered(), conversion.mult, conversion.shift);
	page->time_mult = conversion.mult;
	page->time_shift = conversion.shift;
	page->time_offset = -passed;
	page->cap_user_time = 1;
	if (!event->attr.use_clockid) {
		page->time_zero = local_clock() - passed;
		page->cap_user_time_zero = 1;
	}
}

/**
 * pmr_event_publish() - publish count and times as of now
 * @event: event with a user page
 * @now: pmr_context_time() of its context
 */
void pmr_event_publish(struct pmr_event *event, u64 now)
{
	struct perf_event_mmap_page *page = event->user_page;

	lockdep_assert_irqs_disabled();
	lockdep_assert_held(&event->context->lock);
	/*
	 * Root can forbid it at any time; until it is mapped anew. Looked at when the
	 * event starts: its reader does not run before.
	 */
	if (event->hw.user_page && event->state == PMR_STATE_ACTIVE &&
	    unlikely(!pmr_rdpmc_possible()))
		event->hw.user_page = NULL;
	pmr_user_page_begin(page);
	page->cap_user_rdpmc = !!event->hw.user_page;
	page->pmc_width = pmr_pmu ? pmr_pmu->gp_width : 0;
	if (event->hw.user_page && event->state == PMR_STATE_ACTIVE) {
		pmr_publish_counter(&event->hw);
	} else {
		page->index = 0;
		page->offset = event->hw.count - event->hw.base + READ_ONCE(event->child_count);
	}
	publish_times(event, page, now);
	publish_clock(event, page);
	pmr_user_page_end(page);
}

struct map {
	struct pmr_event *event;
	struct perf_event_mmap_page *page;
	bool counter;
};

static void map(struct pmr_context *context, void *arg)
{
	struct map *map = arg;
	struct pmr_event *event = map->event;
	u64 now = pmr_context_time(context);

	pmr_event_update_times(event, now);
	event->user_page = map->page;
	event->hw.user_page = map->counter ? map->page : NULL;
	pmr_event_update_user_page(event, now);
}

/**
 * pmr_event_map_user_page() - set the user page of an event
 * @event: event
 * @page: page
 * @counter: user space may read the counter with RDPMC
 */
void pmr_event_map_user_page(struct pmr_event *event, struct perf_event_mmap_page *page,
			     bool counter)
{
	struct map arg = { .event = event, .page = page, .counter = counter };

	pmr_context_call(event->context, map, &arg);
}

/**
 * pmr_event_unmap_user_page() - clear the user page of an event
 * @event: event
 *
 * On return, no CPU writes into the page.
 */
void pmr_event_unmap_user_page(struct pmr_event *event)
{
	struct map arg = { .event = event };

	pmr_context_call(event->context, map, &arg);
}
