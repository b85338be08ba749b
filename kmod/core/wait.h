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
void pmr_wait_start_all(struct pmr_context *context, u64 now);
void pmr_wait_stop(struct pmr_context *context, u64 now);
void pmr_wait_stop_all(struct pmr_context *context, u64 now);

#endif /* PMR_WAIT_H */
