// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the hash table from a task to its context. A module cannot add a field to
 * task_struct.
 *
 * A slot represents a task and points to its context. To swap two clone contexts, their
 * slots are exchanged; the table does not change.
 *
 * The table is resized with the number of tasks in it, so that a chain rarely has more
 * than one entry. A worker allocates the new table and moves one chain at a time, so
 * table_lock is held for at most one chain.
 *
 * pmr_task_context_get(), pmr_context_put(): task context, may sleep.
 * pmr_task_context_new(): the forking task, preemption off. pmr_task_context_find(),
 * under RCU, and pmr_task_contexts_exchange(): also in sched_switch. table_lock, a leaf,
 * is taken in task context only.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core/context.h"
#include "core/task_table.h"

#define MIN_BITS	10
#define MAX_BITS	22

/**
 * struct pmr_task_slot - a task that has a context
 * @nodes: entry in a chain, one node per table parity: a lookup in the old table can
 *	walk on while the slot moves to the new one
 * @task: the task; holds a reference
 * @context: its context
 * @rcu: lookups run under RCU
 */
struct pmr_task_slot {
	struct hlist_node nodes[2];
	struct task_struct *task;
	struct pmr_context *context;
	struct rcu_head rcu;
};

struct pmr_task_table __rcu *pmr_task_table;
/* Serializes writers of the chains, of number and of the table pointers. */
static DEFINE_RAW_SPINLOCK(table_lock);
static unsigned int number;
/* Size of the newest table; after load, written by the worker only. */
static unsigned int table_bits;

#define may_look_at(table)						\
	rcu_dereference_check(table, rcu_read_lock_any_held() || lockdep_is_held(&table_lock))

static struct pmr_context *search(struct pmr_task_table *table, const struct task_struct *task)
{
	struct hlist_node *node;
	struct pmr_task_slot *slot;

	node = rcu_dereference_raw(hlist_first_rcu(pmr_task_chain(table, task)));
	for (; node; node = rcu_dereference_raw(hlist_next_rcu(node))) {
		slot = container_of(node - table->parity, struct pmr_task_slot, nodes[0]);
		if (slot->task == task)
			return READ_ONCE(slot->context);
	}
	return NULL;
}

/**
 * pmr_task_context_find() - the context of a task
 * @task: task
 *
 * Context: RCU read-side.
 *
 * Return: the context, which may be about to be retired, or NULL.
 */
struct pmr_context *pmr_task_context_find(const struct task_struct *task)
{
	struct pmr_task_table *table = may_look_at(pmr_task_table);
	struct pmr_context *context;

	for (; table; table = may_look_at(table->next)) {
		context = search(table, task);
		if (context)
			return context;
		smp_rmb();	/* pairs with smp_wmb() in move_first() */
	}
	return NULL;
}

static void move_first(struct pmr_task_table *old, struct pmr_task_table *new,
		       struct hlist_head *chain)
{
	struct pmr_task_slot *slot = container_of(chain->first - old->parity,
						  struct pmr_task_slot, nodes[0]);

	hlist_add_head_rcu(&slot->nodes[new->parity], pmr_task_chain(new, slot->task));
	/*
	 * Add to the new table before removing from the old one. Pairs with smp_rmb() in
	 * pmr_task_context_find() and pmr_task_may_have_context().
	 */
	smp_wmb();
	hlist_del_init_rcu(&slot->nodes[old->parity]);
}

static void move_all(struct pmr_task_table *old, struct pmr_task_table *new)
{
	unsigned long i, chains = 1UL << (64 - old->shift);

	for (i = 0; i < chains; i++) {
		raw_spin_lock(&table_lock);
		while (!hlist_empty(&old->chains[i]))
			move_first(old, new, &old->chains[i]);
		raw_spin_unlock(&table_lock);
		cond_resched();
	}
}

static unsigned int wanted_bits(void)
{
	unsigned int bits = READ_ONCE(table_bits);
	u64 entries = READ_ONCE(number);

	if (2 * entries > BIT_ULL(bits) || 16 * entries < BIT_ULL(bits))
		bits = order_base_2(4 * entries + 1);
	return clamp_t(unsigned int, bits, MIN_BITS, MAX_BITS);
}

static struct pmr_task_table *alloc_table(unsigned int bits, unsigned int parity)
{
	struct pmr_task_table *table;

	table = kvzalloc(struct_size(table, chains, 1UL << bits), GFP_KERNEL | __GFP_NOWARN);
	if (!table)
		return NULL;
	table->shift = 64 - bits;
	table->parity = parity;
	return table;
}

static void change_table(struct pmr_task_table *old, struct pmr_task_table *new)
{
	raw_spin_lock(&table_lock);
	rcu_assign_pointer(old->next, new);
	raw_spin_unlock(&table_lock);
	move_all(old, new);
	raw_spin_lock(&table_lock);
	rcu_assign_pointer(pmr_task_table, new);
	raw_spin_unlock(&table_lock);
	/* Lookups may still use the old table, and its nodes, which the next resize reuses. */
	synchronize_rcu();
	kvfree(old);
}

static void resize(struct work_struct *work)
{
	struct pmr_task_table *old = rcu_dereference_protected(pmr_task_table, true), *new;
	unsigned int bits = wanted_bits();

	if (bits == table_bits)
		return;
	new = alloc_table(bits, !old->parity);
	if (!new)
		return;		/* keep longer chains; a later change retries */
	WRITE_ONCE(table_bits, bits);
	change_table(old, new);
}

static DECLARE_WORK(resize_work, resize);

/* Work that is already running is queued once more. */
static void resize_if_due(void)
{
	if (unlikely(wanted_bits() != READ_ONCE(table_bits)))
		queue_work(system_unbound_wq, &resize_work);
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

static void link_slot(struct pmr_task_slot *slot)
{
	struct pmr_task_table *table, *next;

	lockdep_assert_held(&table_lock);
	table = rcu_dereference_protected(pmr_task_table, lockdep_is_held(&table_lock));
	next = rcu_dereference_protected(table->next, lockdep_is_held(&table_lock));
	if (next)
		table = next;
	hlist_add_head_rcu(&slot->nodes[table->parity], pmr_task_chain(table, slot->task));
	WRITE_ONCE(number, number + 1);
}

/* Return: true if the slot was in the table. */
static bool unlink_slot(struct pmr_task_slot *slot)
{
	struct hlist_node *node = &slot->nodes[0];

	lockdep_assert_held(&table_lock);
	if (hlist_unhashed(node))
		node = &slot->nodes[1];
	if (hlist_unhashed(node))
		return false;
	hlist_del_init_rcu(node);
	WRITE_ONCE(number, number - 1);
	return true;
}

/*
 * Adds a new context to the table, unless the task has got one meanwhile. A context
 * without references is being freed and is ignored.
 */
static struct pmr_context *insert(struct pmr_context *new)
{
	struct pmr_context *old;

	raw_spin_lock(&table_lock);
	old = pmr_task_context_find(new->task);
	if (!old || !refcount_inc_not_zero(&old->ref)) {
		old = NULL;
		link_slot(new->slot);
	}
	raw_spin_unlock(&table_lock);
	if (!old) {
		resize_if_due();
		return new;
	}
	free_context(new);
	return old;
}

/**
 * pmr_task_context_forget() - remove a task's context from the table
 * @context: context; may be removed already
 */
void pmr_task_context_forget(struct pmr_context *context)
{
	bool unlinked;

	raw_spin_lock(&table_lock);
	unlinked = unlink_slot(context->slot);
	raw_spin_unlock(&table_lock);
	if (unlinked)
		resize_if_due();
}

/**
 * pmr_task_context_new() - get or create the context of a task that was just forked
 * @task: the task
 *
 * Return: the context with a reference for the caller, or NULL if out of memory.
 */
struct pmr_context *pmr_task_context_new(struct task_struct *task)
{
	struct pmr_context *context = find_and_get(task);

	if (context)
		return context;
	context = alloc_context(task, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	return context ? insert(context) : NULL;
}

/**
 * pmr_task_context_get() - get or create the context of a task
 * @task: a task to which the caller holds a reference
 *
 * The scheduler's hooks must be registered as long as a task context exists. Until the
 * caller locks the context, a swap of clone contexts may give it to another task.
 *
 * Return: the context with a reference for the caller, or ERR_PTR of -ESRCH if
 * the task is exiting, or -ENOMEM.
 */
struct pmr_context *pmr_task_context_get(struct task_struct *task)
{
	struct pmr_context *context = find_and_get(task);

	might_sleep();
	if (!context) {
		context = alloc_context(task, GFP_KERNEL_ACCOUNT);
		if (!context)
			return ERR_PTR(-ENOMEM);
		context = insert(context);
	}
	/*
	 * Insert the context before reading PF_EXITING. If the exit hook misses the
	 * context, the flag was set earlier and is seen here. Pairs with the locks, full
	 * barriers on x86, that do_exit() takes between setting the flag and the hook.
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
 * @context: context
 *
 * A task's context is freed with its last event, so that later switches of the task cost
 * nothing. A switch that has just found it in the table sees @context->exited. The
 * context of a CPU is never freed.
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
 * pmr_task_contexts_exchange() - swap the tasks of two clone contexts
 * @one: context of a task, locked
 * @two: context of another task, locked
 *
 * A concurrent lookup of either task finds one of the two contexts.
 */
void pmr_task_contexts_exchange(struct pmr_context *one, struct pmr_context *two)
{
	lockdep_assert_held(&one->lock);
	lockdep_assert_held(&two->lock);
	swap(one->task, two->task);
	swap(one->slot, two->slot);
	swap(one->in_exec, two->in_exec);
	WRITE_ONCE(one->slot->context, one);
	WRITE_ONCE(two->slot->context, two);
}

/**
 * pmr_task_table_settle() - wait for a pending resize
 *
 * Context: task context, may sleep.
 */
void pmr_task_table_settle(void)
{
	flush_work(&resize_work);
}

/**
 * pmr_task_table_init() - allocate the table at load
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_task_table_init(void)
{
	struct pmr_task_table *table = alloc_table(MIN_BITS, 0);

	if (!table)
		return -ENOMEM;
	table_bits = MIN_BITS;
	rcu_assign_pointer(pmr_task_table, table);
	return 0;
}

/**
 * pmr_task_table_exit() - free the table after the last context and hook are gone
 */
void pmr_task_table_exit(void)
{
	cancel_work_sync(&resize_work);
	kvfree(rcu_dereference_protected(pmr_task_table, true));
}
