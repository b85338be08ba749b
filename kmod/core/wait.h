/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of flexible groups: by how long they have waited for counters.
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
 * pmr_wait_start_all() - start the flexible groups of one context
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 *
 * Groups that have had counters since the last rotation come first. On return,
 * @context->waiting counts the groups that did not fit. Inline, because it runs at each
 * context switch.
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
 * pmr_wait_stop_all() - stop the flexible groups of a context that is scheduled out
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
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
