// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the contexts of tasks and of CPUs: the table that finds a task's
 * context, and their way in and out at context switches, exits and hotplug.
 *
 * pmr_task_context_get(), _put(), _load(): task context, may sleep.
 * pmr_task_switch(): sched_switch, interrupts off, runqueue lock held.
 * pmr_task_exit(): the exiting task. cpu_online, cpu_offline: that CPU, from
 * the hotplug callbacks, interrupts off.
 *
 * A task_struct has no room for us, hence the table. Its lock is a leaf,
 * taken in task context only; lookups run under RCU.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "core/context.h"

#define TABLE_BITS	8

static struct hlist_head table[1 << TABLE_BITS];
/* Protects the chains of @table against each other's writers. */
static DEFINE_SPINLOCK(table_lock);
/* Serialises find-or-create, so that a task never gets two contexts. */
static DEFINE_MUTEX(create_mutex);

static struct hlist_head *chain_of(const struct task_struct *task)
{
	return &table[hash_ptr(task, TABLE_BITS)];
}

/* Under RCU. */
static struct pmr_context *find(const struct task_struct *task)
{
	struct pmr_context *context;

	hlist_for_each_entry_rcu(context, chain_of(task), node, rcu_read_lock_any_held())
		if (context->task == task)
			return context;
	return NULL;
}

static bool take_out_of_table(struct pmr_context *context)
{
	bool was_in;

	spin_lock(&table_lock);
	was_in = !hlist_unhashed(&context->node);
	if (was_in)
		hlist_del_init_rcu(&context->node);
	spin_unlock(&table_lock);
	return was_in;
}

static void drop(struct pmr_context *context)
{
	if (refcount_dec_and_test(&context->ref)) {
		put_task_struct(context->task);
		kfree_rcu(context, rcu);
	}
}

static struct pmr_context *create(struct task_struct *task)
{
	struct pmr_context *context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);

	if (!context)
		return NULL;
	pmr_context_init(context, get_task_struct(task));
	spin_lock(&table_lock);
	hlist_add_head_rcu(&context->node, chain_of(task));
	spin_unlock(&table_lock);
	return context;
}

static struct pmr_context *find_and_get(struct task_struct *task)
{
	struct pmr_context *context;

	rcu_read_lock();
	context = find(task);
	if (context && !refcount_inc_not_zero(&context->ref))
		context = NULL;
	rcu_read_unlock();
	return context;
}

/**
 * pmr_task_context_get() - the context of a task
 * @task: a task to which the caller holds a reference
 *
 * The scheduler's hooks must be registered as long as a task context exists.
 *
 * Return: the context with a reference for the caller, or ERR_PTR of -ESRCH if
 * the task is exiting, or -ENOMEM.
 */
struct pmr_context *pmr_task_context_get(struct task_struct *task)
{
	struct pmr_context *context;

	mutex_lock(&create_mutex);
	context = find_and_get(task);
	if (!context) {
		context = create(task);
		if (context)
			refcount_inc(&context->ref);	/* create()'s one is the table's */
	}
	mutex_unlock(&create_mutex);
	if (!context)
		return ERR_PTR(-ENOMEM);
	/*
	 * The exit hook finds the context if it runs after the insertion; if it
	 * ran before, PF_EXITING was set even earlier. Pairs with the locks,
	 * full barriers on x86, that do_exit() takes between the two.
	 */
	smp_mb();
	if (READ_ONCE(task->flags) & PF_EXITING) {
		pmr_task_context_put(context);
		return ERR_PTR(-ESRCH);
	}
	return context;
}

static void retire(struct pmr_context *context, void *unused)
{
	if (context->on_cpu >= 0) {
		this_cpu_write(pmr_task_context, NULL);
		pmr_context_out(context);
	}
	context->exited = true;
}

/**
 * pmr_task_context_put() - drop a reference of pmr_task_context_get()
 * @context: context; an event that held the reference has been removed
 *
 * A context that only the table still holds leaves it, so that switches of its
 * task cost nothing any more. A switch that has just found it there sees that
 * it is retired.
 */
void pmr_task_context_put(struct pmr_context *context)
{
	mutex_lock(&create_mutex);
	if (refcount_read(&context->ref) == 2 && take_out_of_table(context)) {
		pmr_context_call(context, retire, NULL);
		drop(context);
	}
	drop(context);
	mutex_unlock(&create_mutex);
}

/* This CPU, interrupts off. A CPU whose own context is out is going down. */
static void come_in(struct pmr_context *context)
{
	if (this_cpu_read(pmr_cpu_context.on_cpu) < 0)
		return;
	raw_spin_lock(&context->lock);
	if (!context->exited && context->on_cpu < 0) {
		this_cpu_write(pmr_task_context, context);
		pmr_context_in(context);
	}
	raw_spin_unlock(&context->lock);
}

static void go_out(void)
{
	struct pmr_context *context = this_cpu_read(pmr_task_context);

	if (!context)
		return;
	raw_spin_lock(&context->lock);
	this_cpu_write(pmr_task_context, NULL);
	pmr_context_out(context);
	raw_spin_unlock(&context->lock);
	pmr_context_fill_cpu();
}

static void come_in_if_current(void *info)
{
	struct pmr_context *context = info;

	if (current == context->task)
		come_in(context);
}

/**
 * pmr_task_context_load() - let a new context in if its task runs already
 * @context: task context, in the table
 *
 * One IPI to the CPU that the task was last put on is enough. A switch to the
 * task that did not see the table entry was one in which task_cpu() had been
 * written before, so we read that CPU, and the IPI is taken there after the
 * switch. Every later switch sees the entry.
 */
void pmr_task_context_load(struct pmr_context *context)
{
	unsigned long flags;

	if (context->task == current) {
		local_irq_save(flags);
		come_in(context);
		local_irq_restore(flags);
		return;
	}
	/*
	 * The table entry before task_cpu(); pairs with the full barrier that
	 * the runqueue lock is between writing the CPU and sched_switch.
	 */
	smp_mb();
	smp_call_function_single(task_cpu(context->task), come_in_if_current, context, 1);
}

/**
 * pmr_task_switch() - another task comes on this CPU
 * @next: the task; current is still the previous one
 */
void pmr_task_switch(struct task_struct *next)
{
	struct pmr_context *context;

	go_out();
	context = find(next);
	if (context)
		come_in(context);
}

static void end_events(struct pmr_context *context)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event;

	context->exited = true;
	list_for_each_entry(event, &context->events, entry) {
		pmr_event_update_times(event, now);
		event->state = PMR_STATE_EXIT;
		irq_work_queue(&event->wake);
	}
}

/**
 * pmr_task_exit() - a task ends
 * @task: current
 *
 * Its events keep their counts; their readers get EPOLLHUP.
 */
void pmr_task_exit(struct task_struct *task)
{
	struct pmr_context *context = find_and_get(task);
	unsigned long flags;

	if (!context)
		return;
	local_irq_save(flags);
	go_out();
	raw_spin_lock(&context->lock);
	end_events(context);
	raw_spin_unlock(&context->lock);
	local_irq_restore(flags);

	if (take_out_of_table(context))
		drop(context);
	drop(context);
}

/**
 * pmr_contexts_init() - make the CPUs' contexts; all are out
 */
void pmr_contexts_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pmr_context_init(per_cpu_ptr(&pmr_cpu_context, cpu), NULL);
}

/**
 * pmr_contexts_cpu_online() - this CPU came up: its own events run again
 */
void pmr_contexts_cpu_online(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);

	raw_spin_lock(&context->lock);
	pmr_context_in(context);
	raw_spin_unlock(&context->lock);
}

/**
 * pmr_contexts_cpu_offline() - this CPU goes down: nothing runs here any more
 */
void pmr_contexts_cpu_offline(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);

	go_out();
	raw_spin_lock(&context->lock);
	pmr_context_out(context);
	raw_spin_unlock(&context->lock);
}
