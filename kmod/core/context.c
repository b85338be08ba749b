// SPDX-License-Identifier: GPL-2.0
/*
 * Owns contexts: what happens when one comes in on a CPU and goes out, and how
 * task context reaches an event wherever it may be running.
 *
 * pmr_context_in(), pmr_context_out() and the pmr_event_*() functions here run
 * on the CPU concerned (or on any, while the context is out) with interrupts
 * off and the context's lock held: from task context, an IPI, or sched_switch.
 * pmr_context_call(): task context, may spin until an IPI is answered.
 *
 * Two contexts are never locked at once.
 */
#include <linux/sched.h>
#include <linux/smp.h>

#include "compat.h"
#include "core/context.h"
#include "pmu/period.h"
#include "sample/sample.h"

DEFINE_PER_CPU(struct pmr_context, pmr_cpu_context);
DEFINE_PER_CPU(struct pmr_context *, pmr_task_context);

/**
 * pmr_context_init() - make an empty context that is out
 * @context: context
 * @task: its task, or NULL
 */
void pmr_context_init(struct pmr_context *context, struct task_struct *task)
{
	raw_spin_lock_init(&context->lock);
	INIT_LIST_HEAD(&context->events);
	context->on_cpu = -1;
	context->task = task;
	refcount_set(&context->ref, 1);
}

/**
 * pmr_context_time() - ns that a context has been in
 * @context: context, locked
 */
u64 pmr_context_time(const struct pmr_context *context)
{
	if (context->on_cpu < 0)
		return context->time;
	return context->time + (local_clock() - context->since);
}

/**
 * pmr_event_update_times() - bring an event's times up to date
 * @event: event, its context locked
 * @now: pmr_context_time() of its context; who does several things to an
 *	event reads it once, or ns would be lost in between
 *
 * They stand still while the event is off, and with the context's time while
 * that is out.
 */
void pmr_event_update_times(struct pmr_event *event, u64 now)
{
	u64 passed = now - event->since;

	event->since = now;
	if (event->state >= PMR_STATE_INACTIVE)
		event->enabled += passed;
	if (event->state == PMR_STATE_ACTIVE)
		event->running += passed;
}

static bool wants_counter(const struct pmr_event *event, int cpu)
{
	return event->state == PMR_STATE_INACTIVE && (event->cpu < 0 || event->cpu == cpu);
}

/* Its tick is long over, or was another CPU's. */
static void end_throttling(struct pmr_event *event)
{
	event->hw.throttled = false;
	pmr_period_set(&event->hw, event->hw.period);
	pmr_throttle_output(event, false);
}

static void start_at(struct pmr_event *event, u64 now)
{
	pmr_event_update_times(event, now);
	if (unlikely(event->hw.throttled))
		end_throttling(event);
	if (pmr_pmu->add(&event->hw))
		event->state = PMR_STATE_ACTIVE;
	else
		event->context->waiting++;
	pmr_event_update_user_page(event);
}

static void stop_at(struct pmr_event *event, u64 now)
{
	pmr_event_update_times(event, now);
	pmr_pmu->del(&event->hw);
	event->state = PMR_STATE_INACTIVE;
	pmr_event_update_user_page(event);
}

/**
 * pmr_event_try_start() - put an enabled event on a counter
 * @event: event of a context that is in on this CPU or out
 * @now: pmr_context_time() of its context
 *
 * Does nothing if it is not enabled, runs already, counts on another CPU only,
 * its context is out, or no counter is free.
 */
void pmr_event_try_start(struct pmr_event *event, u64 now)
{
	int cpu = event->context->on_cpu;

	if (cpu >= 0 && wants_counter(event, cpu))
		start_at(event, now);
}

/**
 * pmr_event_stop() - take an event off its counter
 * @event: event that may be on a counter of this CPU
 * @now: pmr_context_time() of its context
 */
void pmr_event_stop(struct pmr_event *event, u64 now)
{
	if (event->state == PMR_STATE_ACTIVE)
		stop_at(event, now);
}

static void start_all(struct pmr_context *context, u64 now)
{
	struct pmr_event *event;

	context->waiting = 0;
	list_for_each_entry(event, &context->events, entry)
		if (wants_counter(event, context->on_cpu))
			start_at(event, now);
}

/**
 * pmr_context_in() - let a context run on this CPU
 * @context: context that is out, locked
 */
void pmr_context_in(struct pmr_context *context)
{
	context->on_cpu = smp_processor_id();
	context->since = local_clock();
	start_all(context, context->time);
}

/**
 * pmr_context_out() - take a context off this CPU
 * @context: context that is in here, locked
 */
void pmr_context_out(struct pmr_context *context)
{
	struct pmr_event *event;
	u64 now = pmr_context_time(context);

	list_for_each_entry(event, &context->events, entry)
		if (event->state == PMR_STATE_ACTIVE)
			stop_at(event, now);
	context->time = now;
	context->on_cpu = -1;
}

static void fill(struct pmr_context *context)
{
	raw_spin_lock(&context->lock);
	if (context->waiting && context->on_cpu == smp_processor_id())
		start_all(context, pmr_context_time(context));
	raw_spin_unlock(&context->lock);
}

/**
 * pmr_context_fill_cpu() - give counters that became free to who waits
 *
 * On the CPU concerned, interrupts off, no context locked.
 */
void pmr_context_fill_cpu(void)
{
	struct pmr_context *task_context = this_cpu_read(pmr_task_context);

	fill(this_cpu_ptr(&pmr_cpu_context));
	if (task_context)
		fill(task_context);
}

/**
 * struct call - a function on its way to the CPU of a context
 * @context: context
 * @fn: function
 * @arg: its argument
 * @done: it has run
 */
struct call {
	struct pmr_context *context;
	pmr_context_fn fn;
	void *arg;
	bool done;
};

/* On any CPU, interrupts off: runs the function if this is the right one. */
static void try_call(void *info)
{
	struct call *call = info;
	struct pmr_context *context = call->context;
	bool here;

	raw_spin_lock(&context->lock);
	here = context->on_cpu == smp_processor_id();
	if (here || context->on_cpu < 0) {
		call->fn(context, call->arg);
		call->done = true;
	}
	raw_spin_unlock(&context->lock);
	if (call->done && here)
		pmr_context_fill_cpu();
}

/**
 * pmr_context_call() - do something to a context where it is
 * @context: context
 * @fn: called once, on the CPU that the context is in on, or on this one
 *	while it is out; interrupts off, context locked
 * @arg: passed to @fn
 *
 * A task may move on while the IPI is under way; then the next attempt goes
 * after it.
 */
void pmr_context_call(struct pmr_context *context, pmr_context_fn fn, void *arg)
{
	struct call call = { .context = context, .fn = fn, .arg = arg };
	unsigned long flags;
	int cpu;

	for (;;) {
		local_irq_save(flags);
		try_call(&call);
		local_irq_restore(flags);
		if (call.done)
			return;
		cpu = READ_ONCE(context->on_cpu);
		if (cpu >= 0)
			smp_call_function_single(cpu, try_call, &call, 1);
		if (call.done)
			return;
		cond_resched();
	}
}
