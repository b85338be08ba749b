// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the context: initialization, clock, and context function calls.
 *
 * pmr_context_call(): task context, may spin until an IPI is answered. The called
 * function runs on the CPU that the context is scheduled in on, or on the calling CPU
 * while the context is scheduled out, with interrupts off and the context's lock held.
 * pmr_sideband_here(), pmr_active_here(): any context but NMI.
 */
#include <linux/sched.h>
#include <linux/smp.h>

#include "core/context.h"
#include "core/inherit.h"

DEFINE_PER_CPU(struct pmr_context, pmr_cpu_context);
DEFINE_PER_CPU(struct pmr_context *, pmr_task_context);
DEFINE_PER_CPU(u64, pmr_clock_held);

/**
 * pmr_context_init() - initialize an empty context that is scheduled out
 * @context: zeroed context
 */
void pmr_context_init(struct pmr_context *context)
{
	raw_spin_lock_init(&context->lock);
	mutex_init(&context->mutex);
	INIT_LIST_HEAD(&context->pinned);
	INIT_LIST_HEAD(&context->flexible);
	INIT_LIST_HEAD(&context->events);
	INIT_LIST_HEAD(&context->sideband);
	INIT_LIST_HEAD(&context->holders);
	INIT_LIST_HEAD(&context->software);
	context->queue = RB_ROOT_CACHED;
	context->last_cpu = -1;
	context->on_cpu = -1;
	pmr_inherit_init_context(context);
	refcount_set(&context->ref, 1);
}

/*
 * Interrupts off: runs the function if this is the right CPU.
 *
 * Return: false if it is not.
 */
static __always_inline bool try_here(struct pmr_context *context, pmr_context_fn fn, void *arg)
{
	bool here, done;

	lockdep_assert_irqs_disabled();
	pmr_clock_hold();
	raw_spin_lock(&context->lock);
	here = context->on_cpu == smp_processor_id();
	done = here || context->on_cpu < 0;
	if (likely(done))
		fn(context, arg);
	raw_spin_unlock(&context->lock);
	if (here && __this_cpu_read(pmr_schedule_due))
		pmr_schedule_fill();
	pmr_clock_release();
	return done;
}

/**
 * struct call - a context function call
 * @context: context
 * @fn: function
 * @arg: argument of @fn
 * @done: @fn has run
 */
struct call {
	struct pmr_context *context;
	pmr_context_fn fn;
	void *arg;
	bool done;
};

/* On the CPU that the context was in on. */
static void try_call(void *info)
{
	struct call *call = info;

	call->done = try_here(call->context, call->fn, call->arg);
}

/* Return: true if it has run; the task may have moved on. */
static noinline bool call_there(struct pmr_context *context, pmr_context_fn fn, void *arg)
{
	struct call call = { .context = context, .fn = fn, .arg = arg };
	int cpu = READ_ONCE(context->on_cpu);

	if (cpu >= 0)
		smp_call_function_single(cpu, try_call, &call, 1);
	return call.done;
}

/**
 * pmr_context_call() - run a function on the CPU of a context
 * @context: context
 * @fn: called once, on the CPU that the context is scheduled in on, or on this one
 *	while it is scheduled out; interrupts off, context locked
 * @arg: passed to @fn
 *
 * Afterwards freed counters go to waiting groups. A task may migrate while the IPI is in
 * flight, so the call is retried until it finds the context.
 */
void pmr_context_call(struct pmr_context *context, pmr_context_fn fn, void *arg)
{
	unsigned long flags;
	bool done;

	lockdep_assert_irqs_enabled();	/* two CPUs could deadlock on each other's IPI */
	for (;;) {
		local_irq_save(flags);
		done = try_here(context, fn, arg);
		local_irq_restore(flags);
		if (likely(done) || call_there(context, fn, arg))
			return;
		cond_resched();
	}
}

static void visit_sideband(struct pmr_context *context, pmr_event_fn fn, void *arg)
{
	struct pmr_event *event;

	list_for_each_entry(event, &context->sideband, sideband)
		fn(event, arg);
}

static void visit_group(struct pmr_event *leader, pmr_event_fn fn, void *arg)
{
	struct pmr_event *event;

	fn(leader, arg);
	pmr_for_each_sibling(event, leader)
		fn(event, arg);
}

static void visit_active(struct pmr_context *context, pmr_event_fn fn, void *arg)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->pinned, entry)
		if (leader->state == PMR_STATE_ACTIVE)
			visit_group(leader, fn, arg);
	list_for_each_entry(leader, &context->holders, placed)
		if (leader->state == PMR_STATE_ACTIVE)
			visit_group(leader, fn, arg);
	list_for_each_entry(leader, &context->software, placed)
		if (leader->state == PMR_STATE_ACTIVE)
			visit_group(leader, fn, arg);
}

typedef void (*visit_fn)(struct pmr_context *context, pmr_event_fn fn, void *arg);

static void visit_here(struct pmr_context *context, visit_fn visit, pmr_event_fn fn, void *arg)
{
	lockdep_assert_irqs_disabled();
	if (!context)
		return;
	raw_spin_lock(&context->lock);
	if (context->on_cpu == smp_processor_id())
		visit(context, fn, arg);
	raw_spin_unlock(&context->lock);
}

/**
 * pmr_sideband_here() - visit the events of this CPU that ask for sideband records
 * @fn: called for each with interrupts off and its context locked
 * @arg: passed to @fn
 *
 * The events may be disabled or bound to another CPU.
 */
void pmr_sideband_here(pmr_event_fn fn, void *arg)
{
	unsigned long flags;

	local_irq_save(flags);
	visit_here(this_cpu_ptr(&pmr_cpu_context), visit_sideband, fn, arg);
	visit_here(this_cpu_read(pmr_task_context), visit_sideband, fn, arg);
	local_irq_restore(flags);
}

/**
 * pmr_active_here() - visit the members of the groups that count on this CPU
 * @fn: called for each with interrupts off and its context locked; it may restart the
 *	event
 * @arg: passed to @fn
 *
 * Waiting groups are not visited one by one, so the cost is bounded by the counters and
 * by the groups that need none.
 */
void pmr_active_here(pmr_event_fn fn, void *arg)
{
	unsigned long flags;

	local_irq_save(flags);
	visit_here(this_cpu_ptr(&pmr_cpu_context), visit_active, fn, arg);
	visit_here(this_cpu_read(pmr_task_context), visit_active, fn, arg);
	local_irq_restore(flags);
}
