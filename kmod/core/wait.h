/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long flexible groups have waited for counters, and the order that follows.
 */
#ifndef PMR_WAIT_H
#define PMR_WAIT_H

#include "core/context.h"

void pmr_wait_update(struct pmr_context *task_context);
void pmr_wait_sort(struct pmr_context *context, u64 now);
void pmr_wait_start(struct pmr_context *cpu_context, struct pmr_context *task_context);

/**
 * pmr_wait_of() - ns that a flexible group has waited more than is usual
 * @leader: its leader, the times up to date
 */
static inline s64 pmr_wait_of(const struct pmr_event *leader)
{
	return leader->enabled - leader->running + leader->wait_offset -
	       leader->context->usual_wait;
}

#endif /* PMR_WAIT_H */
