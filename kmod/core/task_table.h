/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inline part of the task table. The switch hook must recognize a task without a
 * context in a few instructions.
 */
#ifndef PMR_TASK_TABLE_H
#define PMR_TASK_TABLE_H

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "core/context.h"

/**
 * struct pmr_task_table - hash table of the tasks that have a context
 * @shift: 64 minus the number of bits of the hash
 * @parity: index of the node of a slot that this table links
 * @next: the table that replaces this one, or NULL; entries move there one chain at a
 *	time, new entries go there directly
 * @chains: hash chains
 */
struct pmr_task_table {
	unsigned int shift;
	unsigned int parity;
	struct pmr_task_table __rcu *next;
	struct hlist_head chains[];
};

extern struct pmr_task_table __rcu *pmr_task_table;

int pmr_task_table_init(void);
void pmr_task_table_exit(void);
void pmr_task_table_settle(void);

static __always_inline struct hlist_head *pmr_task_chain(struct pmr_task_table *table,
							 const struct task_struct *task)
{
	return &table->chains[((unsigned long)task * GOLDEN_RATIO_64) >> table->shift];
}

/**
 * pmr_task_may_have_context() - fast check for a task without a context
 * @task: task
 *
 * Context: RCU read-side.
 *
 * Return: false if the task has no context, true if the caller must call
 * pmr_task_context_find().
 */
static __always_inline bool pmr_task_may_have_context(const struct task_struct *task)
{
	struct pmr_task_table *table = rcu_dereference_check(pmr_task_table,
							     rcu_read_lock_any_held());

	if (unlikely(READ_ONCE(pmr_task_chain(table, task)->first)))
		return true;
	smp_rmb();	/* chain before next; pairs with smp_wmb() in move_first() */
	return unlikely(rcu_access_pointer(table->next));
}

/* Users that need the slow switch path, see pmr_switch_watch(). */
extern atomic_t pmr_switch_watchers;

static __always_inline bool pmr_switch_watched(void)
{
	return atomic_read(&pmr_switch_watchers);
}

/**
 * pmr_switch_matters() - does a switch change what counts on this CPU?
 * @next: the task that is switched in
 *
 * It does if either task has events, or if groups of the CPU wait for counters.
 *
 * Context: sched_switch, interrupts off.
 */
static __always_inline bool pmr_switch_matters(const struct task_struct *next)
{
	return this_cpu_read(pmr_task_context) || this_cpu_read(pmr_cpu_context.waiting) ||
	       pmr_task_may_have_context(next);
}

#endif /* PMR_TASK_TABLE_H */
