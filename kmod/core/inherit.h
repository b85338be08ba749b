/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inherited copies: made at fork, read with the event they are copies of,
 * accounted to it when their task has ended.
 */
#ifndef PMR_INHERIT_H
#define PMR_INHERIT_H

#include "core/event.h"

/* core/reap.c; pmr_task_fork() of core/inherit.c is in context.h */
void pmr_inherit_end(struct pmr_event *copy);
void pmr_inherit_init_context(struct pmr_context *context);
void pmr_inherit_orphan(struct pmr_event *event, struct list_head *doomed);
void pmr_inherit_free(struct list_head *doomed);
int pmr_inherit_init(void);
void pmr_inherit_exit(void);

/* core/inherit.c */
u64 pmr_inherit_missed(void);

/* Under the mutex of the context of @event: nothing is removed meanwhile. */
#define pmr_for_each_copy(copy, event)						\
	list_for_each_entry_rcu(copy, &(event)->children, child, true)

#endif /* PMR_INHERIT_H */
