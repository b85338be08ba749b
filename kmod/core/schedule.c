// SPDX-License-Identifier: GPL-2.0
/*
 * Decides which groups count on a CPU: priority, preemption and rotation.
 *
 * As in perf, the CPU's pinned groups come first, then the task's pinned groups, then all
 * flexible groups. A group that does not fit does not block the groups after it.
 *
 * The flexible groups of CPU and task rotate together, in the order of their waits, see
 * wait.c.
 *
 * pmr_schedule_in(), _out(): on the CPU concerned, interrupts off, the context locked.
 * pmr_schedule_fill(): likewise, but no context locked. The timer: hard IRQ. Contexts are
 * locked one at a time. Only this CPU changes a context that is scheduled in here, so its
 * state is stable between two lock sections.
 *
 * The timer is armed only while an enabled group waits on this CPU.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "compat.h"
#include "core/context.h"
#include "core/wait.h"

/* Rotation interval: one tick, perf's default. */
#define TURN_NS	TICK_NSEC

/**
 * struct turns - rotation of one CPU; accessed there, interrupts off
 * @timer: rotates the flexible groups
 * @armed: @timer is pending or running
 */
struct turns {
	struct hrtimer timer;
	bool armed;
};

static DEFINE_PER_CPU(struct turns, turns);

DEFINE_PER_CPU(bool, pmr_schedule_due);

/* May run in sched_switch: the timer base's lock nests inside the runqueue lock. */
static void arm_timer(void)
{
	struct turns *here = this_cpu_ptr(&turns);

	if (here->armed)
		return;
	here->armed = true;
	hrtimer_start(&here->timer, ns_to_ktime(TURN_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * pmr_schedule_wait() - note that an enabled group does not count
 * @leader: its leader, whose context is locked
 *
 * The group does not fit, it grew and lost its counters, or its context is scheduled out.
 * pmr_schedule_fill() may have to make room: a pinned group preempts flexible ones, and a
 * task's flexible group shares with those of the CPU.
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

/* A pinned group that still has no counters after all others made room is in error. */
static void fail_pinned(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->pinned, entry) {
		if (leader->state != PMR_STATE_INACTIVE || !pmr_event_counts_here(leader))
			continue;
		pmr_group_update_times(leader, now);
		WRITE_ONCE(leader->state, PMR_STATE_ERROR);
		pmr_context_is_unique(context);
	}
	context->pinned_waiting = false;
}

/**
 * pmr_schedule_in() - schedule a context in on this CPU
 * @context: context that is scheduled out, locked
 *
 * If @context->waiting or @context->pinned_waiting is set afterwards, the caller must
 * unlock the context and call pmr_schedule_fill().
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
	WRITE_ONCE(context->on_cpu, smp_processor_id());
	context->since = pmr_clock();
	if (unlikely(context->waiting && now - context->turned >= TURN_NS)) {
		pmr_wait_update(context->task ? context : NULL);
		pmr_wait_turn(context, now);
	}
	if (unlikely(!list_empty(&context->pinned)) && !start_pinned(context, now))
		context->waiting = 1;	/* pinned groups must be served first */
	else if (unlikely(context != cpu_context && cpu_context->waiting))
		context->waiting = 1;	/* the CPU's groups may have waited longer */
	else
		pmr_wait_start_all(context, now);
	if (unlikely(context->waiting))
		arm_timer();
	/* The groups of @context were tried; only the CPU's flexible groups can make room. */
	__this_cpu_write(pmr_schedule_due, context->pinned_waiting || cpu_context->waiting ||
			 (context->waiting && !list_empty(&cpu_context->flexible)));
}

/* An event left on a counter would count other tasks, and could be freed while active. */
static void stop_rest(struct pmr_context *context, u64 now)
{
	struct pmr_event *event;

	list_for_each_entry(event, &context->events, all)
		pmr_event_stop(event, now);
}

/**
 * pmr_schedule_out() - schedule a context out
 * @context: context that is scheduled in on this CPU, locked
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
	WRITE_ONCE(context->on_cpu, -1);
}

typedef void (*step_fn)(struct pmr_context *context, u64 now);

/* Runs @fn with the context locked, if there is one and it is scheduled in here. */
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

/*
 * Flexible groups make room for the pinned groups of either context; the task's pinned
 * groups make room for those of the CPU.
 */
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
	return context && context->waiting && pmr_context_is_here(context);
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
 * pmr_schedule_fill() - start waiting groups; stop others to make room if needed
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
	/* The CPU's groups keep counting across switches, unless a task's group waits. */
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
		WRITE_ONCE(leader->state, PMR_STATE_ERROR);
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
 * pmr_schedule_evict() - stop all groups on counters: the PMU of this CPU has failed
 * @for_good: the failure is permanent
 *
 * The groups wait, or are in error if the failure is permanent. Interrupts off.
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
 * pmr_schedule_init() - set up each CPU's timer and the handler of PMU failures
 */
void pmr_schedule_init(void)
{
	int cpu;

	pmr_pmu_on_failure(pmr_schedule_evict);
	for_each_possible_cpu(cpu)
		pmr_hrtimer_setup(&per_cpu_ptr(&turns, cpu)->timer, end_turn);
}

/**
 * pmr_schedule_cpu_offline() - stop this CPU's timer; its contexts are scheduled out
 */
void pmr_schedule_cpu_offline(void)
{
	hrtimer_cancel(this_cpu_ptr(&turns.timer));
	this_cpu_write(turns.armed, false);
}

/**
 * pmr_schedule_exit() - stop all timers after the last event is gone
 */
void pmr_schedule_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&turns, cpu)->timer);
}
