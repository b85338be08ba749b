/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The task table, as far as the switch hook sees it: a switch to a task without
 * a context has to find that out in a few instructions.
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
 * struct pmr_task_table - a hash table of the tasks that have a context
 * @shift: 64 minus the number of bits of the hash
 * @parity: which of the two nodes of a slot is linked here
 * @next: the table that replaces this one; its entries move there one chain after
 *	the other, and new ones go there at once
 * @chains: the chains
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

/**
 * pmr_task_chain() - where a task is in a table
 * @table: table
 * @task: task
 */
static __always_inline struct hlist_head *pmr_task_chain(struct pmr_task_table *table,
							 const struct task_struct *task)
{
	return &table->chains[((unsigned long)task * GOLDEN_RATIO_64) >> table->shift];
}

/**
 * pmr_task_may_have_context() - a fast test that answers for nearly all tasks
 * @task: task
 *
 * Under RCU.
 *
 * Return: false if the task has no context, true if pmr_task_context_find() has to
 * look.
 */
static __always_inline bool pmr_task_may_have_context(const struct task_struct *task)
{
	struct pmr_task_table *table = rcu_dereference_check(pmr_task_table,
							     rcu_read_lock_any_held());

	if (unlikely(READ_ONCE(pmr_task_chain(table, task)->first)))
		return true;
	smp_rmb();	/* an entry is in the next table before it leaves this one */
	return unlikely(rcu_access_pointer(table->next));
}

/* Who looks at each switch, see pmr_switch_watch(). */
extern atomic_t pmr_switch_watchers;

static __always_inline bool pmr_switch_watched(void)
{
	return atomic_read(&pmr_switch_watchers);
}

/**
 * pmr_switch_matters() - does a switch change what counts on this CPU?
 * @next: the task that comes
 *
 * sched_switch, interrupts off. Events of the task that goes or of the one that comes
 * make it matter, and groups of the CPU that wait for counters.
 */
static __always_inline bool pmr_switch_matters(const struct task_struct *next)
{
	return this_cpu_read(pmr_task_context) || this_cpu_read(pmr_cpu_context.waiting) ||
	       pmr_task_may_have_context(next);
}

#endif /* PMR_TASK_TABLE_H */
