// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules contexts in and out: at context switches, execs and exits of tasks, and at CPU
 * hotplug.
 *
 * pmr_task_context_load(): task context, waits for an IPI. pmr_task_switch():
 * sched_switch, interrupts off, runqueue lock held. pmr_task_exec(), _end(): the task
 * itself, preemption off. cpu_online, cpu_offline, park, unpark: on the CPU concerned,
 * interrupts off. All lock one context at a time, except a switch between two clones.
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
 * pmr_task_context_retire() - schedule a context out for good
 * @context: context without events; called by pmr_context_call()
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

/* This CPU, interrupts off. If its own context is out, the CPU is going down or parked. */
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
	go_out();	/* if any, an empty context that is being retired */
	come_in(context);
}

/**
 * pmr_task_context_load() - schedule a new context in if its task is running
 * @task: task that has a context
 *
 * One IPI to task_cpu() is enough. A switch to the task that missed the table entry wrote
 * task_cpu() before it looked. So this function reads that CPU, and the IPI is taken there
 * after the switch. Every later switch finds the entry.
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
	 * Write the table entry before reading task_cpu(). Pairs with the full barrier of
	 * the runqueue lock between writing the CPU and sched_switch.
	 */
	smp_mb();
	smp_call_function_single(task_cpu(task), come_in_if_current, task, 1);
}

/*
 * Both contexts have copies of the same events, and readers only see the sum of all copies.
 * So the active context keeps counting, now for the next task. Locking both contexts cannot
 * deadlock: no other CPU locks these two, because both tasks are on this CPU.
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
 * pmr_switch_watch() - add or remove a user of the slow switch path
 * @change: 1 or -1
 *
 * Events that count or record switches need it, and tasks that may read counters. Without
 * a user, switches skip these checks.
 */
void pmr_switch_watch(int change)
{
	atomic_add(change, &pmr_switch_watchers);
}

/**
 * pmr_task_switch() - handle a context switch
 * @next: the task that is switched in; current is still the previous one
 *
 * Only needed if pmr_switch_matters().
 */
void pmr_task_switch(struct task_struct *next)
{
	lockdep_assert_irqs_disabled();
	change_contexts(pmr_task_context_find(next));
}

/**
 * pmr_task_switch_watched() - handle a context switch on the slow path
 * @prev: the task that is switched out, still current
 * @next: the task that is switched in
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
		WRITE_ONCE(event->state, PMR_STATE_INACTIVE);
}

/* Runs after all states have changed. Leaders first, so that groups start complete. */
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

/* The caller has updated the times of all members, with the old states of the group. */
static void stop_for_good(struct pmr_event *event, u64 now)
{
	pmr_event_stop(event, now);
	WRITE_ONCE(event->state, PMR_STATE_EXIT);
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

/* As in perf, the siblings of a removed leader keep counting as single events. */
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
	/* Before any state changes: the state of a leader affects its siblings' times. */
	list_for_each_entry(event, &context->events, all)
		pmr_event_update_times(event, now);
	list_for_each_entry(event, &context->events, all)
		enable_on_exec(event);
	list_for_each_entry_safe(event, next, &context->events, all)
		remove_on_exec(event, now);
	start_enabled(context, now);
}

/**
 * pmr_task_exec() - apply enable_on_exec and remove_on_exec
 * @task: current, in the middle of its exec; preemption off
 *
 * Removed events leave their group and context at once, so that none is on a counter when
 * the task is switched out. An exec cannot take the context's mutex, so task context that
 * holds the mutex must also take the lock to walk a group.
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
 * pmr_task_end() - end all events of a task
 * @task: current, exiting or in the middle of an exec; preemption off
 *
 * The events keep their counts; poll() returns EPOLLHUP.
 */
void pmr_task_end(struct task_struct *task)
{
	struct pmr_context *context;
	unsigned long flags;

	lockdep_assert_preemption_disabled();
	rcu_read_lock();	/* keeps the context until forget, after its last put */
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
 * pmr_task_exec_secure() - end a task's events: the new program has other rights
 * @task: current, in the middle of the exec; preemption off
 *
 * Permission to profile the old program does not extend to the new one. Events that were
 * opened after the change of credentials are in a context of their own and stay.
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
 * pmr_task_exec_done() - an exec is complete
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
 * pmr_contexts_init() - initialize the contexts of all CPUs, scheduled out
 */
void pmr_contexts_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pmr_context_init(per_cpu_ptr(&pmr_cpu_context, cpu));
}

/**
 * pmr_contexts_cpu_online() - this CPU came online: schedule its own context in
 */
void pmr_contexts_cpu_online(void)
{
	struct pmr_context *context = this_cpu_ptr(&pmr_cpu_context);

	lockdep_assert_irqs_disabled();
	raw_spin_lock(&context->lock);
	pmr_schedule_in(context);
	raw_spin_unlock(&context->lock);
	pmr_schedule_fill();
	/* If the PMU does not work any more, events opened earlier must be in error. */
	if (!pmr_pmu_cpu_works(smp_processor_id()))
		pmr_schedule_evict(true);
}

/**
 * pmr_contexts_park() - stop counting on this CPU until pmr_contexts_unpark()
 *
 * While the CPU's own context is out, no task context is scheduled in. The events stay
 * enabled. Parking twice is harmless.
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
 * pmr_contexts_unpark() - undo pmr_contexts_park(), also for the current task
 */
void pmr_contexts_unpark(void)
{
	lockdep_assert_irqs_disabled();
	pmr_contexts_cpu_online();
	come_in_if_current(current);
}

/**
 * pmr_contexts_cpu_offline() - this CPU goes offline: schedule all contexts out
 *
 * poll() of an event of this CPU returns EPOLLHUP until the CPU is online again.
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
