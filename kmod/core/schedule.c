// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the question which groups count on a CPU: their order, who makes room for
 * whom, and how those take turns that do not fit together.
 *
 * As in perf, the CPU's pinned groups come before the task's pinned ones, and
 * these before all flexible ones. A group that does not fit keeps nobody behind it
 * from counting.
 *
 * Flexible groups take turns, those of the CPU and of the task together, in the
 * order of their waits, see wait.c.
 *
 * pmr_schedule_in() and _out(): on the CPU concerned, interrupts off, the
 * context locked. pmr_schedule_fill(): likewise, no context locked. The timer: hard
 * IRQ. Contexts are locked one at a time; one that is in here is changed by
 * this CPU only, so nothing moves between two lockings.
 *
 * The timer runs only while a group that is enabled here has to wait.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "compat.h"
#include "core/context.h"
#include "core/wait.h"

/* A turn: as long as perf's default, one tick. */
#define TURN_NS	TICK_NSEC

/**
 * struct turns - one CPU's turns
 * @timer: ends a turn
 * @armed: it is on its way
 */
struct turns {
	struct hrtimer timer;
	bool armed;
};

static DEFINE_PER_CPU(struct turns, turns);

DEFINE_PER_CPU(bool, pmr_schedule_due);

/* Also from sched_switch: the runqueue's lock is outside of a timer base's. */
static void arm_timer(void)
{
	struct turns *here = this_cpu_ptr(&turns);

	if (here->armed)
		return;
	here->armed = true;
	hrtimer_start(&here->timer, ns_to_ktime(TURN_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * pmr_schedule_wait() - a group that has been enabled finds no room, or is out
 * @leader: its leader, whose context is locked
 *
 * Others may have to make room, in pmr_schedule_fill(): all for one that is pinned,
 * the CPU's flexible groups for a task's. It may as well be one that has left its
 * counters because it has grown.
 */
void pmr_schedule_wait(struct pmr_event *leader)
{
	struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	struct pmr_context *context = leader->context;

	lockdep_assert_held(&context->lock);
	if (leader->attr.pinned)
		context->pinned_waiting = true;
	else
		context->waiting++;
	if (!pmr_context_is_here(context))
		return;
	arm_timer();
	if (leader->attr.pinned ||
	    (context != cpu_context && !list_empty(&cpu_context->flexible)))
		__this_cpu_write(pmr_schedule_due, true);
}

static bool start_pinned(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;
	bool all = true;

	list_for_each_entry(leader, &context->pinned, entry)
		all &= pmr_group_start(leader, now);
	context->pinned_waiting = !all;
	return all;
}

static void stop_pinned(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->pinned, entry) {
		if (leader->state != PMR_STATE_ACTIVE)
			continue;
		pmr_group_stop(leader, now);
		context->pinned_waiting = true;
	}
}

/* Pinned and no counter, although everybody has made room. */
static void fail_pinned(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->pinned, entry) {
		if (leader->state != PMR_STATE_INACTIVE || !pmr_event_counts_here(leader))
			continue;
		pmr_group_update_times(leader, now);
		leader->state = PMR_STATE_ERROR;
		pmr_context_is_unique(context);
	}
	context->pinned_waiting = false;
}

/**
 * pmr_schedule_in() - let a context run on this CPU
 * @context: context that is out, locked
 *
 * The caller calls pmr_schedule_fill() when it has unlocked it, if
 * @context->waiting or @context->pinned_waiting is set.
 */
void pmr_schedule_in(struct pmr_context *context)
{
	const struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	u64 now = context->time;

	lockdep_assert_held(&context->lock);
	lockdep_assert_irqs_disabled();
	if (unlikely(cpu_context->waiting))
		pmr_wait_update(NULL);
	if (unlikely(context->last_cpu != smp_processor_id()))
		pmr_wait_move(context, smp_processor_id());
	context->on_cpu = smp_processor_id();
	context->since = pmr_clock();
	if (unlikely(context->waiting && now - context->turned >= TURN_NS)) {
		pmr_wait_update(context->task ? context : NULL);
		pmr_wait_turn(context, now);
	}
	if (unlikely(!list_empty(&context->pinned)) && !start_pinned(context, now))
		context->waiting = 1;	/* the pinned ones come first */
	else if (unlikely(context != cpu_context && cpu_context->waiting))
		context->waiting = 1;	/* the CPU's may have waited longer */
	else
		pmr_wait_start_all(context, now);
	if (unlikely(context->waiting))
		arm_timer();
	/* Who waits here has been tried; only the CPU's could make room. */
	__this_cpu_write(pmr_schedule_due, context->pinned_waiting || cpu_context->waiting ||
			 (context->waiting && !list_empty(&cpu_context->flexible)));
}

/* An event that stayed on a counter would count others, and be freed there. */
static void stop_rest(struct pmr_context *context, u64 now)
{
	struct pmr_event *event;

	list_for_each_entry(event, &context->events, all)
		pmr_event_stop(event, now);
}

/**
 * pmr_schedule_out() - take a context off this CPU
 * @context: context that is in here, locked
 */
void pmr_schedule_out(struct pmr_context *context)
{
	const struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	u64 now = pmr_context_time(context);
	struct pmr_event *leader;

	lockdep_assert_held(&context->lock);
	lockdep_assert_irqs_disabled();
	if (unlikely((context->waiting || cpu_context->waiting) && context != cpu_context &&
		     !list_empty(&cpu_context->flexible)))
		pmr_wait_update(context);
	pmr_wait_stop_all(context, now);
	list_for_each_entry(leader, &context->pinned, entry)
		if (leader->state == PMR_STATE_ACTIVE)
			pmr_group_stop(leader, now);
	if (WARN_ON_ONCE(context->active))
		stop_rest(context, now);
	context->time = now;
	context->on_cpu = -1;
}

typedef void (*step_fn)(struct pmr_context *context, u64 now);

/* One step for one context, if there is one and it is in here. */
static void step(struct pmr_context *context, step_fn fn)
{
	lockdep_assert_irqs_disabled();
	if (!context)
		return;
	raw_spin_lock(&context->lock);
	if (context->on_cpu == smp_processor_id())
		fn(context, pmr_context_time(context));
	raw_spin_unlock(&context->lock);
}

static void retry_pinned(struct pmr_context *context, u64 now)
{
	if (context->pinned_waiting)
		start_pinned(context, now);
}

/* The pinned groups of one context come before all flexible ones. */
static void make_room_for(struct pmr_context *pinned, struct pmr_context *cpu_context,
			  struct pmr_context *task_context)
{
	step(pinned, retry_pinned);
	if (!pinned->pinned_waiting)
		return;
	step(task_context, pmr_wait_stop);
	step(cpu_context, pmr_wait_stop);
	step(pinned, retry_pinned);
	if (pinned->pinned_waiting && pinned == cpu_context) {
		step(task_context, stop_pinned);
		step(pinned, retry_pinned);
	}
	if (pinned->pinned_waiting)
		step(pinned, fail_pinned);
}

static bool waits_here(const struct pmr_context *context)
{
	return pmr_context_is_here(context) && context->waiting;
}

static __always_inline void start_waiting(struct pmr_context *cpu_context,
					  struct pmr_context *task_context)
{
	if (likely(!waits_here(cpu_context) && !waits_here(task_context)))
		return;
	pmr_wait_start(cpu_context, task_context);
	if (waits_here(cpu_context) || waits_here(task_context))
		arm_timer();
}

static void begin_turn(struct pmr_context *cpu_context, struct pmr_context *task_context)
{
	pmr_wait_update(task_context);
	step(cpu_context, pmr_wait_turn);
	step(task_context, pmr_wait_turn);
}

/**
 * pmr_schedule_fill() - give counters that are free, or have to be made free,
 * to who waits for them
 */
void pmr_schedule_fill(void)
{
	struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	struct pmr_context *task_context = this_cpu_read(pmr_task_context);

	lockdep_assert_irqs_disabled();
	if (!__this_cpu_read(pmr_schedule_due))
		return;
	if (unlikely(cpu_context->pinned_waiting))
		make_room_for(cpu_context, cpu_context, task_context);
	if (unlikely(task_context && task_context->pinned_waiting))
		make_room_for(task_context, cpu_context, task_context);
	/* The CPU's count on while tasks change, but share with one that waits. */
	if (waits_here(task_context) && !list_empty(&cpu_context->flexible)) {
		step(cpu_context, pmr_wait_stop);
		begin_turn(cpu_context, task_context);
	}
	start_waiting(cpu_context, task_context);
	__this_cpu_write(pmr_schedule_due, false);
}

static void take_turns(struct pmr_context *cpu_context, struct pmr_context *task_context)
{
	pmr_clock_hold();
	step(task_context, pmr_wait_stop);
	step(cpu_context, pmr_wait_stop);
	begin_turn(cpu_context, task_context);
	start_waiting(cpu_context, task_context);
	pmr_clock_release();
}

static enum hrtimer_restart end_turn(struct hrtimer *timer)
{
	struct turns *here = container_of(timer, struct turns, timer);
	struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	struct pmr_context *task_context = this_cpu_read(pmr_task_context);

	if (waits_here(cpu_context) || waits_here(task_context))
		take_turns(cpu_context, task_context);
	if (!waits_here(cpu_context) && !waits_here(task_context)) {
		here->armed = false;
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(TURN_NS));
	return HRTIMER_RESTART;
}

static void fail_list(struct list_head *groups, u64 now)
{
	struct pmr_event *leader, *top;

	list_for_each_entry(leader, groups, entry) {
		if (leader->state != PMR_STATE_INACTIVE || !pmr_event_counts_here(leader) ||
		    !pmr_group_needs_counters(leader))
			continue;
		pmr_group_update_times(leader, now);
		leader->state = PMR_STATE_ERROR;
		pmr_wait_place(leader);
		top = leader->top;
		set_bit(PMR_PENDING_POLL, &top->pending);
		irq_work_queue(&top->work);
	}
}

static void fail_all(struct pmr_context *context, u64 now)
{
	fail_list(&context->pinned, now);
	fail_list(&context->flexible, now);
	pmr_context_is_unique(context);
	context->waiting = 0;
	context->pinned_waiting = false;
}

/**
 * pmr_schedule_evict() - the PMU lets nothing count on this CPU from now on
 * @for_good: it will not do so again
 *
 * Takes off all groups that are on counters. They wait, or are in error if it is for
 * good. Interrupts off.
 */
void pmr_schedule_evict(bool for_good)
{
	struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	struct pmr_context *task_context = this_cpu_read(pmr_task_context);

	lockdep_assert_irqs_disabled();
	pmr_clock_hold();
	step(task_context, pmr_wait_stop);
	step(cpu_context, pmr_wait_stop);
	step(task_context, stop_pinned);
	step(cpu_context, stop_pinned);
	begin_turn(cpu_context, task_context);
	if (for_good) {
		step(task_context, fail_all);
		step(cpu_context, fail_all);
	}
	__this_cpu_write(pmr_schedule_due, true);
	pmr_schedule_fill();
	pmr_clock_release();
}

/**
 * pmr_schedule_init() - make each CPU's timer
 */
void pmr_schedule_init(void)
{
	int cpu;

	pmr_pmu_on_failure(pmr_schedule_evict);
	for_each_possible_cpu(cpu)
		pmr_hrtimer_setup(&per_cpu_ptr(&turns, cpu)->timer, end_turn);
}

/**
 * pmr_schedule_cpu_offline() - this CPU goes down, its contexts are out
 */
void pmr_schedule_cpu_offline(void)
{
	hrtimer_cancel(this_cpu_ptr(&turns.timer));
	this_cpu_write(turns.armed, false);
}

/**
 * pmr_schedule_exit() - stop the timers, when no event is left
 */
void pmr_schedule_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&turns, cpu)->timer);
}
