/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The context: the events that are scheduled together, because they belong to
 * one CPU or follow one task.
 */
#ifndef PMR_CONTEXT_H
#define PMR_CONTEXT_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "core/event.h"

/**
 * struct pmr_context - events scheduled together
 * @lock: protects all fields but @task, @node and @ref, and the scheduling
 *	state of the events; taken with interrupts off, also from sched_switch
 *	under the runqueue lock, so nothing may be woken under it. The NMI
 *	never takes it
 * @events: the events
 * @waiting: enabled events that found no counter when the context came in
 * @on_cpu: the CPU it is in on, or -1
 * @exited: the task has ended; nothing can be added any more
 * @time: ns it has been in, up to @since
 * @since: clock when @time was last brought up to date, while in
 * @task: the task, NULL for a CPU's context; holds a reference
 * @node: in the table of task contexts, see core/task.c
 * @ref: each event holds one, the table another
 * @rcu: lookups in the table run under RCU
 */
struct pmr_context {
	raw_spinlock_t lock;
	struct list_head events;
	unsigned int waiting;
	int on_cpu;
	bool exited;
	u64 time;
	u64 since;

	struct task_struct *task;
	struct hlist_node node;
	refcount_t ref;
	struct rcu_head rcu;
};

DECLARE_PER_CPU(struct pmr_context, pmr_cpu_context);
/* The task context that is in on this CPU; written by this CPU, IRQs off. */
DECLARE_PER_CPU(struct pmr_context *, pmr_task_context);

void pmr_context_init(struct pmr_context *context, struct task_struct *task);
u64 pmr_context_time(const struct pmr_context *context);
void pmr_context_in(struct pmr_context *context);
void pmr_context_out(struct pmr_context *context);
void pmr_context_fill_cpu(void);

typedef void (*pmr_context_fn)(struct pmr_context *context, void *arg);
void pmr_context_call(struct pmr_context *context, pmr_context_fn fn, void *arg);

void pmr_event_try_start(struct pmr_event *event, u64 now);
void pmr_event_stop(struct pmr_event *event, u64 now);
void pmr_event_update_times(struct pmr_event *event, u64 now);

struct pmr_context *pmr_task_context_get(struct task_struct *task);
void pmr_task_context_put(struct pmr_context *context);
void pmr_task_context_load(struct pmr_context *context);
void pmr_task_switch(struct task_struct *next);
void pmr_task_exit(struct task_struct *task);
void pmr_contexts_init(void);
void pmr_contexts_cpu_online(void);
void pmr_contexts_cpu_offline(void);

#endif /* PMR_CONTEXT_H */
