// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the table that finds a task's context: a task_struct has no room for us.
 *
 * A slot stands for a task and leads to its context. Two contexts of a family
 * change places by exchanging their slots, and the table stays as it is.
 *
 * pmr_task_context_get(), pmr_context_put(): task context, may sleep.
 * pmr_task_context_new(): the forking task, preemption off. find, under RCU, and
 * exchange: also sched_switch. Takes table_lock, a leaf, in task context only.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "core/context.h"

#define TABLE_BITS	8

/**
 * struct pmr_task_slot - a task that has a context
 * @node: in its chain of the table
 * @task: the task; holds a reference
 * @context: its context
 * @rcu: lookups run under RCU
 */
struct pmr_task_slot {
	struct hlist_node node;
	struct task_struct *task;
	struct pmr_context *context;
	struct rcu_head rcu;
};

static struct hlist_head table[1 << TABLE_BITS];
/* Protects the chains of @table against each other's writers. */
static DEFINE_RAW_SPINLOCK(table_lock);

static struct hlist_head *chain_of(const struct task_struct *task)
{
	return &table[hash_ptr(task, TABLE_BITS)];
}

/**
 * pmr_task_context_find() - the context of a task
 * @task: task
 *
 * Under RCU.
 *
 * Return: the context, which may be on its way out, or NULL.
 */
struct pmr_context *pmr_task_context_find(const struct task_struct *task)
{
	struct pmr_task_slot *slot;

	hlist_for_each_entry_rcu(slot, chain_of(task), node, rcu_read_lock_any_held() ||
				 lockdep_is_held(&table_lock))
		if (slot->task == task)
			return READ_ONCE(slot->context);
	return NULL;
}

static struct pmr_context *find_and_get(struct task_struct *task)
{
	struct pmr_context *context;

	rcu_read_lock();
	context = pmr_task_context_find(task);
	if (context && !refcount_inc_not_zero(&context->ref))
		context = NULL;
	rcu_read_unlock();
	return context;
}

static struct pmr_context *alloc_context(struct task_struct *task, gfp_t gfp)
{
	struct pmr_context *context = kzalloc(sizeof(*context), gfp);
	struct pmr_task_slot *slot = kzalloc(sizeof(*slot), gfp);

	if (!context || !slot) {
		kfree(context);
		kfree(slot);
		return NULL;
	}
	pmr_context_init(context);
	slot->task = get_task_struct(task);
	slot->context = context;
	context->task = task;
	context->slot = slot;
	return context;
}

static void free_context(struct pmr_context *context)
{
	put_task_struct(context->slot->task);
	kfree_rcu(context->slot, rcu);
	kfree_rcu(context, rcu);
}

/*
 * Puts a new context into the table unless the task has got one meanwhile.
 * One whose last reference is gone is on its way out and does not count.
 */
static struct pmr_context *insert(struct pmr_context *new)
{
	struct pmr_context *old;

	raw_spin_lock(&table_lock);
	old = pmr_task_context_find(new->task);
	if (!old || !refcount_inc_not_zero(&old->ref)) {
		old = NULL;
		hlist_add_head_rcu(&new->slot->node, chain_of(new->task));
	}
	raw_spin_unlock(&table_lock);
	if (!old)
		return new;
	free_context(new);
	return old;
}

/**
 * pmr_task_context_forget() - a task has no context any more
 * @context: the context that it had
 */
void pmr_task_context_forget(struct pmr_context *context)
{
	struct pmr_task_slot *slot = context->slot;

	raw_spin_lock(&table_lock);
	if (!hlist_unhashed(&slot->node))
		hlist_del_init_rcu(&slot->node);
	raw_spin_unlock(&table_lock);
}

/**
 * pmr_task_context_new() - a context for a task that has just been forked
 * @task: the task
 *
 * Return: the context with a reference for the caller, or NULL.
 */
struct pmr_context *pmr_task_context_new(struct task_struct *task)
{
	struct pmr_context *context = find_and_get(task);

	if (context)
		return context;
	context = alloc_context(task, GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	return context ? insert(context) : NULL;
}

/**
 * pmr_task_context_get() - the context of a task
 * @task: a task to which the caller holds a reference
 *
 * The scheduler's hooks must be registered as long as a task context exists.
 * The context may become another task's before the caller has locked it.
 *
 * Return: the context with a reference for the caller, or ERR_PTR of -ESRCH if
 * the task is exiting, or -ENOMEM.
 */
struct pmr_context *pmr_task_context_get(struct task_struct *task)
{
	struct pmr_context *context = find_and_get(task);

	if (!context) {
		context = alloc_context(task, GFP_KERNEL_ACCOUNT);
		if (!context)
			return ERR_PTR(-ENOMEM);
		context = insert(context);
	}
	/*
	 * The exit hook finds the context if it runs after the insertion; if it
	 * ran before, PF_EXITING was set even earlier. Pairs with the locks,
	 * full barriers on x86, that do_exit() takes between the two.
	 */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		pmr_context_put(context);
		return ERR_PTR(-ESRCH);
	}
	return context;
}

/**
 * pmr_context_put() - drop a reference
 * @context: context; the event that held it has been removed
 *
 * A task's context goes with its last event, so that switches of the task cost
 * nothing any more. A switch that has just found it in the table sees that it is
 * retired.
 */
void pmr_context_put(struct pmr_context *context)
{
	if (!context->slot || !refcount_dec_and_test(&context->ref))
		return;
	pmr_task_context_forget(context);
	pmr_context_call(context, pmr_task_context_retire, NULL);
	free_context(context);
}

/**
 * pmr_task_contexts_exchange() - two contexts change places
 * @one: context of a task
 * @two: context of another; both are locked
 *
 * Whoever looks for either task finds one of the two at any time.
 */
void pmr_task_contexts_exchange(struct pmr_context *one, struct pmr_context *two)
{
	swap(one->task, two->task);
	swap(one->slot, two->slot);
	WRITE_ONCE(one->slot->context, one);
	WRITE_ONCE(two->slot->context, two);
}
