// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the way in and out of contexts: at context switches, execs and exits of
 * tasks, and when a CPU comes and goes.
 *
 * pmr_task_context_load(): task context, waits for an IPI. pmr_task_switch():
 * sched_switch, interrupts off, runqueue lock held. pmr_task_exec(), _end():
 * the task itself, preemption off. cpu_online, cpu_offline: that CPU, from the
 * hotplug callbacks, interrupts off. All take the lock of one context at a time, but
 * for a switch between two of a family.
 */
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/sideband.h"
#include "core/task_table.h"
#include "core/tick.h"

/**
 * pmr_task_context_retire() - a context is not needed any more
 * @context: context without events, where pmr_context_call() puts it
 * @unused: NULL
 */
void pmr_task_context_retire(struct pmr_context *context, void *unused)
{
	lockdep_assert_held(&context->lock);
	if (context->on_cpu >= 0) {
		if (this_cpu_read(pmr_task_context) == context)
			this_cpu_write(pmr_task_context, NULL);
		pmr_schedule_out(context);
	}
	context->exited = true;
}

/* This CPU, interrupts off. */
static void go_out(void)
{
	struct pmr_context *context = this_cpu_read(pmr_task_context);

	lockdep_assert_irqs_disabled();
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

	lockdep_assert_irqs_disabled();
	if (this_cpu_read(pmr_cpu_context.on_cpu) < 0)
		return;
	pmr_clock_hold();
	raw_spin_lock(&context->lock);
	if (!context->exited && context->on_cpu < 0) {
		this_cpu_write(pmr_task_context, context);
		pmr_schedule_in(context);
		more = context->waiting || context->pinned_waiting;
	}
	raw_spin_unlock(&context->lock);
	if (unlikely(more))
		pmr_schedule_fill();
	pmr_clock_release();
}

static void come_in_if_current(void *info)
{
	struct task_struct *task = info;
	struct pmr_context *context;

	if (current != task)
		return;
	context = pmr_task_context_find(task);
	if (!context || this_cpu_read(pmr_task_context) == context)
		return;
	go_out();	/* an empty one that is being retired */
	come_in(context);
}

/**
 * pmr_task_context_load() - let a new context in if its task runs already
 * @task: task that has a context
 *
 * One IPI to the CPU that the task was last put on is enough. A switch to the
 * task that did not see the table entry was one in which task_cpu() had been
 * written before, so we read that CPU, and the IPI is taken there after the
 * switch. Every later switch sees the entry.
 */
void pmr_task_context_load(struct task_struct *task)
{
	unsigned long flags;

	if (task == current) {
		local_irq_save(flags);
		come_in_if_current(task);
		local_irq_restore(flags);
		return;
	}
	/*
	 * The table entry before task_cpu(); pairs with the full barrier that
	 * the runqueue lock is between writing the CPU and sched_switch.
	 */
	smp_mb();
	smp_call_function_single(task_cpu(task), come_in_if_current, task, 1);
}

/*
 * Both tasks have copies of the same events. Who reads them adds them up, so the
 * one that is in can go on counting, as the next task's. Two are locked at once
 * here: no other CPU can be about to do the same, since the tasks are here.
 */
static bool change_places(struct pmr_context *prev, struct pmr_context *next)
{
	bool family;

	raw_spin_lock(&prev->lock);
	raw_spin_lock_nested(&next->lock, SINGLE_DEPTH_NESTING);
	family = prev->family && prev->family == next->family && next->on_cpu < 0;
	if (family)
		pmr_task_contexts_exchange(prev, next);
	raw_spin_unlock(&next->lock);
	raw_spin_unlock(&prev->lock);
	return family;
}

static bool is_family(const struct pmr_context *prev, const struct pmr_context *next)
{
	return prev && prev->family && next && prev->family == next->family;
}

static void change_contexts(struct pmr_context *context)
{
	struct pmr_context *prev = this_cpu_read(pmr_task_context);

	if (is_family(prev, context) && change_places(prev, context))
		return;
	go_out();
	if (context)
		come_in(context);
	else if (unlikely(this_cpu_read(pmr_cpu_context.waiting)))
		pmr_schedule_fill();
}

atomic_t pmr_switch_watchers;

/**
 * pmr_switch_watch() - somebody looks at each switch, or does not any more
 * @change: 1 or -1
 *
 * For events that count or record switches, and for tasks that may read
 * counters. All others need not pay for looking after these.
 */
void pmr_switch_watch(int change)
{
	atomic_add(change, &pmr_switch_watchers);
}

/**
 * pmr_task_switch() - another task comes on this CPU
 * @next: the task; current is the previous one still
 *
 * Needed only where pmr_switch_matters().
 */
void pmr_task_switch(struct task_struct *next)
{
	lockdep_assert_irqs_disabled();
	change_contexts(pmr_task_context_find(next));
}

/**
 * pmr_task_switch_watched() - the same where somebody looks at each switch
 * @prev: the previous task, still current
 * @next: the task
 */
void pmr_task_switch_watched(struct task_struct *prev, struct task_struct *next)
{
	lockdep_assert_irqs_disabled();
	pmr_software_switch();
	pmr_sideband_switch_out(prev, next);
	if (pmr_switch_matters(next))
		change_contexts(pmr_task_context_find(next));
	if (next->mm && atomic_read(&next->mm->context.perf_rdpmc_allowed) && pmr_pmu)
		pmr_pmu->scrub(next->mm);
	pmr_sideband_switch_in(prev, next);
}

static void enable_on_exec(struct pmr_event *event)
{
	if (!event->attr.enable_on_exec)
		return;
	event->attr.enable_on_exec = 0;
	pmr_context_is_unique(event->context);
	if (event->state < PMR_STATE_INACTIVE && event->state >= PMR_STATE_ERROR)
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

/* An event ends once; its times are up to date, and the states of its group old still. */
static void stop_for_good(struct pmr_event *event, u64 now)
{
	pmr_event_stop(event, now);
	event->state = PMR_STATE_EXIT;
}

static void tell_end(struct pmr_event *event)
{
	if (pmr_event_is_copy(event)) {
		pmr_sideband_read(event);
		pmr_inherit_end(event);
		return;
	}
	set_bit(PMR_PENDING_POLL, &event->pending);
	irq_work_queue(&event->work);
}

/* As in perf, the siblings of a leader that goes count on, as single events. */
static void remove_on_exec(struct pmr_event *event, u64 now)
{
	if (!event->attr.remove_on_exec)
		return;
	stop_for_good(event, now);
	pmr_group_detach(event);
	tell_end(event);
}

static void do_exec(struct pmr_context *context)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event, *next;

	lockdep_assert_held(&context->lock);
	context->in_exec = true;
	/* Before any state changes, since those of leaders are their siblings' too. */
	list_for_each_entry(event, &context->events, all)
		pmr_event_update_times(event, now);
	list_for_each_entry(event, &context->events, all)
		enable_on_exec(event);
	list_for_each_entry_safe(event, next, &context->events, all)
		remove_on_exec(event, now);
	start_enabled(context, now);
}

/**
 * pmr_task_exec() - a task runs another program from here on
 * @task: current, in the middle of its exec; preemption off
 *
 * What is to be removed leaves its group and its context here and now: nothing of
 * it may be on a counter when the task is switched out. Task context that holds the
 * mutex of the context therefore walks groups under its lock as well.
 */
void pmr_task_exec(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	lockdep_assert_preemption_disabled();
	context = pmr_task_context_find(task);
	if (!context)
		return;
	local_irq_save(flags);
	pmr_clock_hold();
	raw_spin_lock(&context->lock);
	do_exec(context);
	raw_spin_unlock(&context->lock);
	pmr_schedule_fill();
	pmr_clock_release();
	local_irq_restore(flags);
}

static void end_events(struct pmr_context *context)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event;

	lockdep_assert_held(&context->lock);
	context->exited = true;
	pmr_context_is_unique(context);
	list_for_each_entry(event, &context->events, all)
		pmr_event_update_times(event, now);
	list_for_each_entry(event, &context->events, all)
		stop_for_good(event, now);
	list_for_each_entry(event, &context->events, all)
		tell_end(event);
}

/**
 * pmr_task_end() - nothing of a task is counted any more
 * @task: current, on its way out, or in the middle of an exec; preemption off
 *
 * Its events keep their counts; their readers get EPOLLHUP.
 */
void pmr_task_end(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	rcu_read_lock();	/* the context outlives the hook, whoever puts it */
	context = pmr_task_context_find(task);
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
		pmr_task_context_forget(context);
	}
	rcu_read_unlock();
}

/**
 * pmr_task_exec_secure() - the program that a task execs has other rights
 * @task: current, in the middle of the exec; preemption off
 *
 * To count the old one was no right to count this. What was opened after the
 * credentials had changed is in a context of its own and stays.
 */
void pmr_task_exec_secure(struct task_struct *task)
{
	struct pmr_context *context;

	lockdep_assert_preemption_disabled();
	context = pmr_task_context_find(task);
	if (context && READ_ONCE(context->in_exec))
		pmr_task_end(task);
}

/**
 * pmr_task_exec_done() - an exec has come to its end
 * @task: current; preemption off
 */
void pmr_task_exec_done(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	lockdep_assert_preemption_disabled();
	context = pmr_task_context_find(task);
	if (!context)
		return;
	raw_spin_lock_irqsave(&context->lock, flags);
	context->in_exec = false;
	raw_spin_unlock_irqrestore(&context->lock, flags);
}

/**
 * pmr_contexts_init() - make the CPUs' contexts; all are out
 */
void pmr_contexts_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pmr_context_init(per_cpu_ptr(&pmr_cpu_context, cpu));
}

/**
 * pmr_contexts_cpu_online() - this CPU came up: its own events run again
 */
void pmr_contexts_cpu_online(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);

	lockdep_assert_irqs_disabled();
	raw_spin_lock(&context->lock);
	pmr_schedule_in(context);
	raw_spin_unlock(&context->lock);
	pmr_schedule_fill();
	/* Those that were opened before the CPU went, and its PMU with it, say so. */
	if (!pmr_pmu_cpu_works(smp_processor_id()))
		pmr_schedule_evict(true);
}

/**
 * pmr_contexts_park() - nothing counts on this CPU until pmr_contexts_unpark()
 *
 * No task's context comes in while the CPU's own is out. The events keep their state.
 * Does nothing if they are out already.
 */
void pmr_contexts_park(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);

	lockdep_assert_irqs_disabled();
	go_out();
	raw_spin_lock(&context->lock);
	pmr_schedule_out(context);
	raw_spin_unlock(&context->lock);
	pmr_schedule_cpu_offline();
	pmr_tick_cpu_offline();
}

/**
 * pmr_contexts_unpark() - undo pmr_contexts_park(), for the task that is here as well
 */
void pmr_contexts_unpark(void)
{
	lockdep_assert_irqs_disabled();
	pmr_contexts_cpu_online();
	come_in_if_current(current);
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

	pmr_contexts_park();
	raw_spin_lock(&context->lock);
	list_for_each_entry(event, &context->events, all) {
		set_bit(PMR_PENDING_POLL, &event->pending);
		irq_work_queue(&event->work);
	}
	raw_spin_unlock(&context->lock);
}
