/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long flexible groups have waited for counters, and the order that follows.
 */
#ifndef PMR_WAIT_H
#define PMR_WAIT_H

#include "core/context.h"

void pmr_wait_update(struct pmr_context *task_context);
void pmr_wait_turn(struct pmr_context *context, u64 now);
void pmr_wait_move(struct pmr_context *context, int cpu);
void pmr_wait_start(struct pmr_context *cpu_context, struct pmr_context *task_context);
void pmr_wait_start_queued(struct pmr_context *context, u64 now);
void pmr_wait_start_software(struct pmr_context *context, u64 now);
void pmr_wait_stop(struct pmr_context *context, u64 now);
void pmr_wait_stop_software(struct pmr_context *context, u64 now);

/**
 * pmr_wait_start_all() - let the flexible groups of one context count
 * @context: context that is in here, locked
 * @now: its time
 *
 * Those that have had counters in this turn come first. How many find no room is in
 * the context's waiting. Inline, since each switch passes here.
 */
static inline void pmr_wait_start_all(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader, *next;
	unsigned int waiting = 0;

	if (unlikely(!list_empty(&context->software)))
		pmr_wait_start_software(context, now);
	list_for_each_entry_safe(leader, next, &context->holders, placed)
		if (!pmr_group_start(leader, now))
			waiting++;
	if (unlikely(context->queued))
		pmr_wait_start_queued(context, now);
	context->waiting = waiting + context->queued;
}

/**
 * pmr_wait_stop_all() - the context goes out
 * @context: context that is in here, locked
 * @now: its time
 */
static inline void pmr_wait_stop_all(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->holders, placed)
		if (leader->state == PMR_STATE_ACTIVE)
			pmr_group_stop(leader, now);
	if (unlikely(!list_empty(&context->software)))
		pmr_wait_stop_software(context, now);
}

#endif /* PMR_WAIT_H */
