/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inherited copies (child events). A fork makes them, a read of their parent event
 * includes them, and the reaper adds their counts to it after their task has ended.
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

/* Requires the mutex of the context of @event, which excludes removal. */
#define pmr_for_each_copy(copy, event)						\
	list_for_each_entry_rcu(copy, &(event)->children, child, true)

#endif /* PMR_INHERIT_H */
