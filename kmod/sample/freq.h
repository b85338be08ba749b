/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frequency mode: attr.freq asks for samples per second, so the period has to
 * follow the rate of the event.
 */
#ifndef PMR_FREQ_H
#define PMR_FREQ_H

#include "core/event.h"

/**
 * pmr_freq_steers() - does an event's period follow its rate?
 * @event: event
 *
 * The clocks' does not: their rate is known, and their period fixed.
 */
static __always_inline bool pmr_freq_steers(const struct pmr_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return attr->freq && event->hw.sampling &&
	       (attr->type != PERF_TYPE_SOFTWARE || attr->config > PERF_COUNT_SW_TASK_CLOCK);
}

/**
 * pmr_freq_stop() - an event does not count any more
 * @event: event
 *
 * Where it counts next, its counter may overflow before pmr_freq_start(): the
 * time in between is not its own.
 */
static __always_inline void pmr_freq_stop(struct pmr_event *event)
{
	WRITE_ONCE(event->freq_stamp, 0);
}

u64 pmr_freq_first_period(const struct perf_event_attr *attr);
u64 pmr_freq_set(struct pmr_event *event, u64 freq);
u64 pmr_freq_steer(u64 estimate, u64 freq, u64 count, u64 ns, u32 memory);
u64 pmr_freq_period(const struct pmr_event *event);
void pmr_freq_start(struct pmr_event *event, u64 now);
void pmr_freq_overflow(struct pmr_event *event, u64 now);
bool pmr_freq_tick(struct pmr_event *event, u64 now);

#endif /* PMR_FREQ_H */
