// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the contexts of tasks and of CPUs: the table that finds a task's
 * context, and their way in and out at context switches, execs, exits and
 * hotplug.
 *
 * pmr_task_context_get(), pmr_context_put(), pmr_task_context_load(): task
 * context, may sleep. pmr_task_context_new(): the forking task, preemption
 * off. pmr_task_switch(): sched_switch, interrupts off, runqueue lock held.
 * pmr_task_exec(), _exit(): the task itself, preemption off. cpu_online,
 * cpu_offline: that CPU, from the hotplug callbacks, interrupts off.
 *
 * A task_struct has no room for us, hence the table. Its lock is a leaf, taken
 * in task context only; lookups run under RCU.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/sideband.h"
#include "core/tick.h"
#include "core/tick.h"

#define TABLE_BITS	8

static struct hlist_head table[1 << TABLE_BITS];
/* Protects the chains of @table against each other's writers. */
static DEFINE_RAW_SPINLOCK(table_lock);

static struct hlist_head *chain_of(const struct task_struct *task)
{
	return &table[hash_ptr(task, TABLE_BITS)];
}

/* Under RCU or table_lock. */
static struct pmr_context *find(const struct task_struct *task)
{
	struct pmr_context *context;

	hlist_for_each_entry_rcu(context, chain_of(task), node, rcu_read_lock_any_held() ||
				 lockdep_is_held(&table_lock))
		if (context->task == task)
			return context;
	return NULL;
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

/*
 * Puts a new context into the table unless the task has got one meanwhile.
 * One whose last reference is gone is on its way out and does not count.
 */
static struct pmr_context *insert(struct pmr_context *new)
{
	struct pmr_context *old;

	raw_spin_lock(&table_lock);
	old = find(new->task);
	if (old && refcount_inc_not_zero(&old->ref)) {
		raw_spin_unlock(&table_lock);
		put_task_struct(new->task);
		kfree(new);
		return old;
	}
	hlist_add_head_rcu(&new->node, chain_of(new->task));
	raw_spin_unlock(&table_lock);
	return new;
}

static void take_out_of_table(struct pmr_context *context)
{
	raw_spin_lock(&table_lock);
	if (!hlist_unhashed(&context->node))
		hlist_del_init_rcu(&context->node);
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
	context = kzalloc(sizeof(*context), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!context)
		return NULL;
	pmr_context_init(context, get_task_struct(task));
	return insert(context);
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
	struct pmr_context *context = find_and_get(task);

	if (!context) {
		context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);
		if (!context)
			return ERR_PTR(-ENOMEM);
		pmr_context_init(context, get_task_struct(task));
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

static void retire(struct pmr_context *context, void *unused)
{
	if (context->on_cpu >= 0) {
		if (this_cpu_read(pmr_task_context) == context)
			this_cpu_write(pmr_task_context, NULL);
		pmr_schedule_out(context);
	}
	context->exited = true;
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
	if (!context->task || !refcount_dec_and_test(&context->ref))
		return;
	take_out_of_table(context);
	pmr_context_call(context, retire, NULL);
	put_task_struct(context->task);
	kfree_rcu(context, rcu);
}

/* This CPU, interrupts off. */
static void go_out(void)
{
	struct pmr_context *context = this_cpu_read(pmr_task_context);

	if (!context)
		return;
	raw_spin_lock(&context->lock);
	this_cpu_write(pmr_task_context, NULL);
	pmr_schedule_out(context);
	raw_spin_unlock(&context->lock);
}

/* This CPU, interrupts off. A CPU whose own context is out is going down. */
static void come_in(struct pmr_context *context)
{
	bool more = false;

	if (this_cpu_read(pmr_cpu_context.on_cpu) < 0)
		return;
	raw_spin_lock(&context->lock);
	if (!context->exited && context->on_cpu < 0) {
		this_cpu_write(pmr_task_context, context);
		pmr_schedule_in(context);
		more = context->waiting || context->pinned_waiting;
	}
	raw_spin_unlock(&context->lock);
	if (unlikely(more))
		pmr_schedule_fill();
}

static void come_in_if_current(void *info)
{
	struct pmr_context *context = info;

	if (current != context->task || this_cpu_read(pmr_task_context) == context)
		return;
	go_out();	/* an empty one that is being retired */
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
		come_in_if_current(context);
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
 * @prev: the previous one, still current
 * @next: the task
 */
void pmr_task_switch(struct task_struct *prev, struct task_struct *next)
{
	struct pmr_context *context;

	pmr_software_switch();
	pmr_sideband_switch_out(prev, next);
	go_out();
	context = find(next);
	if (context)
		come_in(context);
	else if (unlikely(this_cpu_read(pmr_cpu_context.waiting)))
		pmr_schedule_fill();
	if (next->mm && unlikely(atomic_read(&next->mm->context.perf_rdpmc_allowed)) && pmr_pmu)
		pmr_pmu->scrub();
	pmr_sideband_switch_in(prev, next);
}

static void enable_on_exec(struct pmr_event *event, u64 now)
{
	if (!event->attr.enable_on_exec)
		return;
	event->attr.enable_on_exec = 0;
	if (event->state >= PMR_STATE_INACTIVE || event->state < PMR_STATE_ERROR)
		return;
	pmr_group_update_times(event->leader, now);
	event->state = PMR_STATE_INACTIVE;
}

/* When all that are to be on are on: the groups start whole. */
static void start_enabled(struct pmr_context *context, u64 now)
{
	struct pmr_event *event;

	list_for_each_entry(event, &context->events, all)
		if (pmr_event_is_leader(event))
			pmr_event_start(event, now);
	list_for_each_entry(event, &context->events, all)
		if (!pmr_event_is_leader(event))
			pmr_event_start(event, now);
}

static void end_event(struct pmr_event *event, u64 now)
{
	pmr_event_stop(event, now);
	pmr_event_update_times(event, now);
	event->state = PMR_STATE_EXIT;
	if (pmr_event_is_copy(event)) {
		pmr_sideband_read(event);
		pmr_inherit_end(event);
		return;
	}
	set_bit(PMR_PENDING_WAKE, &event->pending);
	irq_work_queue(&event->work);
}

static void do_exec(struct pmr_context *context)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event, *next;

	list_for_each_entry_safe(event, next, &context->events, all) {
		enable_on_exec(event, now);
		if (!event->attr.remove_on_exec)
			continue;
		pmr_group_update_times(event->leader, now);
		end_event(event, now);
		pmr_group_detach(event);
	}
	start_enabled(context, now);
}

/**
 * pmr_task_exec() - a task runs another program from here on
 * @task: current
 */
void pmr_task_exec(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	local_irq_save(flags);
	context = this_cpu_read(pmr_task_context);
	if (context) {
		raw_spin_lock(&context->lock);
		do_exec(context);
		raw_spin_unlock(&context->lock);
		pmr_schedule_fill();
	}
	local_irq_restore(flags);
	pmr_inherit_reap();
}

static void end_events(struct pmr_context *context)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event;

	context->exited = true;
	list_for_each_entry(event, &context->events, all)
		pmr_event_update_times(event, now);
	list_for_each_entry(event, &context->events, all)
		end_event(event, now);
}

/**
 * pmr_task_exit() - a task ends
 * @task: current
 *
 * Its events keep their counts; their readers get EPOLLHUP.
 */
void pmr_task_exit(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	pmr_sideband_exit(task);
	rcu_read_lock();	/* the context outlives the hook, whoever puts it */
	context = find(task);
	if (context) {
		local_irq_save(flags);
		if (this_cpu_read(pmr_task_context) == context) {
			go_out();
			pmr_schedule_fill();
		}
		raw_spin_lock(&context->lock);
		end_events(context);
		raw_spin_unlock(&context->lock);
		local_irq_restore(flags);
		take_out_of_table(context);
	}
	rcu_read_unlock();
	pmr_inherit_reap();
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
	pmr_schedule_in(context);
	raw_spin_unlock(&context->lock);
	pmr_schedule_fill();
}

/**
 * pmr_contexts_cpu_offline() - this CPU goes down: nothing runs here any more
 *
 * Who polls an event of this CPU gets EPOLLHUP until it comes back.
 */
void pmr_contexts_cpu_offline(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);
	struct pmr_event *event;

	go_out();
	raw_spin_lock(&context->lock);
	pmr_schedule_out(context);
	list_for_each_entry(event, &context->events, all) {
		set_bit(PMR_PENDING_WAKE, &event->pending);
		irq_work_queue(&event->work);
	}
	raw_spin_unlock(&context->lock);
	pmr_schedule_cpu_offline();
	pmr_tick_cpu_offline();
}
