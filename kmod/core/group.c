// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the state and the times of events, and starts groups: all members get counters,
 * or none does. members.c owns group membership.
 *
 * Called from context function calls, from schedule.c and from the tick: on the CPU that
 * the context is scheduled in on (on any CPU while it is scheduled out), interrupts off,
 * the context's lock held.
 */
#include <linux/bitops.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "core/context.h"
#include "core/tick.h"
#include "pmu/period.h"
#include "sample/freq.h"
#include "sample/throttle.h"

/**
 * struct counting - what counts on a CPU; accessed there, interrupts off
 * @hardware: number of active hardware events
 * @exclusive: leader of the active exclusive group, or NULL
 */
struct counting {
	unsigned int hardware;
	struct pmr_event *exclusive;
};

static DEFINE_PER_CPU(struct counting, counting);

/**
 * struct members - hardware events of the group that is being started
 * @hws: the events
 *
 * Per CPU, interrupts off: too large for the stack of a context switch.
 */
struct members {
	struct pmr_hw *hws[PMR_COUNTERS_MAX];
};

static DEFINE_PER_CPU(struct members, members);

/* A leader that is off, in error or ended keeps its siblings from counting. */
static int effective_state(const struct pmr_event *event)
{
	int leader = event->leader->state;

	return leader <= PMR_STATE_OFF ? leader : event->state;
}

/**
 * pmr_event_update_times() - update the times of an event
 * @event: event
 * @now: pmr_context_time() of its context. A caller that changes an event or a group
 *	in several steps reads it once, so that no ns are lost between the steps
 *
 * The times do not advance while the event is off or its context is scheduled out.
 */
void pmr_event_update_times(struct pmr_event *event, u64 now)
{
	u64 passed = now - event->since;
	int state = effective_state(event);

	lockdep_assert_held(&event->context->lock);
	/* The NMI of a sample may read the three in between, as perf's. */
	WRITE_ONCE(event->since, now);
	if (state >= PMR_STATE_INACTIVE)
		data_race(event->enabled += passed);	/* one instruction */
	if (state == PMR_STATE_ACTIVE)
		data_race(event->running += passed);	/* one instruction */
}

static bool wants_to_count(const struct pmr_event *event)
{
	return event->state == PMR_STATE_INACTIVE && pmr_event_counts_here(event);
}

/* An event may be scheduled out before the irq_work that disables it has run. */
static bool may_count(struct pmr_event *event)
{
	if (!wants_to_count(event))
		return false;
	if (likely(!test_bit(PMR_PENDING_DISABLE, &event->pending)))
		return true;
	pmr_event_disable_locked(event);
	return false;
}

/* In frequency mode, the next sample covers all counts since the last one. */
static void begin_period(struct pmr_event *event, u64 period)
{
	/*
	 * UNTHROTTLE must be written on the event's CPU. An event that is scheduled out
	 * stays throttled until it starts.
	 */
	if (unlikely(event->hw.throttled) && event->context->on_cpu >= 0 &&
	    (event->cpu < 0 || event->cpu == smp_processor_id()))
		pmr_throttle_end(event);
	/*
	 * This is called from the tick, and frequencies are often multiples of the
	 * tick's. With a full period, many samples would hit the handler of a later tick.
	 */
	if (unlikely(pmr_freq_steers(event)))
		pmr_period_cut(&event->hw, period - period / 4, period);
	else
		pmr_period_set(&event->hw, period);
}

/* An event that was throttled when its context was scheduled out starts again. */
static noinline void end_throttling(struct pmr_event *event)
{
	if (pmr_throttle_may_end(event))
		begin_period(event, pmr_freq_steers(event) ? pmr_freq_period(event) :
							     event->hw.period);
	else
		pmr_tick_start();
}

static __always_inline void has_started(struct pmr_event *event, u64 now)
{
	pmr_event_update_times(event, now);
	WRITE_ONCE(event->state, PMR_STATE_ACTIVE);
	event->context->active++;
	if (!event->hw.pmu->software)
		__this_cpu_inc(counting.hardware);
	if (unlikely(pmr_freq_steers(event))) {
		pmr_freq_start(event, local_clock());
		pmr_tick_start();
	}
	pmr_event_update_user_page(event, now);
}

/* The list of one is not on the stack: that would have to be guarded at each switch. */
static __always_inline bool start_one(struct pmr_event *event, u64 now)
{
	struct pmr_hw **hws = this_cpu_ptr(&members)->hws;
	struct pmr_hw *hw = &event->hw;

	if (unlikely(hw->throttled))
		end_throttling(event);
	hws[0] = hw;
	if (!hw->pmu->add(hws, 1))
		return false;
	has_started(event, now);
	return true;
}

/* Return: number of hardware events of the group that want to count, stored in @hws. */
static unsigned int collect_hardware(struct pmr_event *leader, struct pmr_hw **hws)
{
	struct pmr_event *event;
	unsigned int number = 0;

	if (!leader->hw.pmu->software)
		hws[number++] = &leader->hw;
	pmr_for_each_sibling(event, leader) {
		if (event->hw.pmu->software || !may_count(event))
			continue;
		if (number < PMR_COUNTERS_MAX)
			hws[number] = &event->hw;
		number++;
	}
	return number;
}

static void start_software(struct pmr_event *event, u64 now)
{
	if (event->hw.pmu->software && may_count(event))
		start_one(event, now);
}

static noinline bool start_many(struct pmr_event *leader, u64 now)
{
	struct pmr_hw **hws = this_cpu_ptr(&members)->hws;
	unsigned int number = collect_hardware(leader, hws), i;
	struct pmr_event *event;

	if (number > PMR_COUNTERS_MAX)
		return false;
	for (i = 0; i < number; i++) {
		event = container_of(hws[i], struct pmr_event, hw);
		if (unlikely(event->hw.throttled))
			end_throttling(event);
	}
	if (number && !pmr_pmu->add(hws, number))
		return false;
	for (i = 0; i < number; i++)
		has_started(container_of(hws[i], struct pmr_event, hw), now);
	start_software(leader, now);
	pmr_for_each_sibling(event, leader)
		start_software(event, now);
	return true;
}

/**
 * pmr_group_needs_counters() - does a group need hardware counters?
 * @leader: its leader
 *
 * A group that needs none does not compete with other groups.
 */
bool pmr_group_needs_counters(const struct pmr_event *leader)
{
	const struct pmr_event *event;

	if (!leader->hw.pmu->software)
		return true;
	pmr_for_each_sibling(event, leader)
		if (!event->hw.pmu->software && event->state >= PMR_STATE_INACTIVE)
			return true;
	return false;
}

/**
 * pmr_counters_left() - could another group that needs counters start here?
 *
 * Return: false if no such group can start; true is only a hint.
 */
bool pmr_counters_left(void)
{
	const struct counting *here = this_cpu_ptr(&counting);

	if (!pmr_pmu)
		return true;
	return !here->exclusive &&
	       here->hardware < pmr_pmu->gp_usable + hweight64(pmr_pmu->fixed_mask);
}

/* An exclusive group shares the PMU with nobody. */
static __always_inline bool may_share(const struct pmr_event *leader)
{
	const struct counting *here = this_cpu_ptr(&counting);

	if (likely(!here->exclusive && !leader->attr.exclusive))
		return true;
	if (here->exclusive == leader || !pmr_group_needs_counters(leader))
		return true;
	return !here->exclusive && !here->hardware;
}

static void now_counts(struct pmr_event *leader)
{
	if (unlikely(leader->attr.exclusive) && pmr_group_needs_counters(leader))
		__this_cpu_write(counting.exclusive, leader);
}

/**
 * pmr_group_start() - start a group
 * @leader: its leader
 * @now: pmr_context_time() of its context, which is scheduled in here
 *
 * Members that are off stay off.
 *
 * Return: false if the group is enabled for this CPU and does not fit.
 */
bool pmr_group_start(struct pmr_event *leader, u64 now)
{
	lockdep_assert_held(&leader->context->lock);
	if (!may_count(leader))
		return true;
	if (!may_share(leader))
		return false;
	if (!(leader->nr_siblings ? start_many(leader, now) : start_one(leader, now)))
		return false;
	if (unlikely(leader->place == PMR_PLACE_QUEUE || leader->place == PMR_PLACE_NONE))
		pmr_wait_place(leader);
	now_counts(leader);
	return true;
}

/* Return: false if the group no longer fits with @event in it; it is stopped then. */
static bool join(struct pmr_event *event, u64 now)
{
	struct pmr_event *leader = event->leader;

	if (leader->state != PMR_STATE_ACTIVE || !may_count(event))
		return true;
	if (may_share(leader) && start_one(event, now)) {
		now_counts(leader);
		return true;
	}
	pmr_group_stop(leader, now);
	return false;
}

/**
 * pmr_event_start() - start an event that was added or enabled
 * @event: event
 * @now: pmr_context_time() of its context, which is scheduled in here or out
 *
 * A leader starts its group; a sibling joins its group if that is active. A group that
 * does not fit waits; pmr_schedule_fill() then makes room if it can.
 */
void pmr_event_start(struct pmr_event *event, u64 now)
{
	bool started = false;

	lockdep_assert_held(&event->context->lock);
	if (event->context->on_cpu >= 0)
		started = pmr_event_is_leader(event) ? pmr_group_start(event, now) :
						       join(event, now);
	/* pmr_group_start() has placed the group, unless a sibling changed what it needs. */
	if (!started || !pmr_event_is_leader(event))
		pmr_wait_place(event->leader);
	if (!started)
		pmr_schedule_wait(event->leader);
}

/**
 * pmr_event_stop() - stop one event
 * @event: event that may be active here
 * @now: pmr_context_time() of its context
 */
void pmr_event_stop(struct pmr_event *event, u64 now)
{
	lockdep_assert_held(&event->context->lock);
	/* A counter becomes free, or the waiting group needs one less. */
	if (event->state == PMR_STATE_ACTIVE || !pmr_event_is_leader(event))
		__this_cpu_write(pmr_schedule_due, true);
	if (event->state != PMR_STATE_ACTIVE)
		return;
	pmr_event_update_times(event, now);
	event->hw.pmu->del(&event->hw);
	pmr_freq_stop(event);
	WRITE_ONCE(event->state, PMR_STATE_INACTIVE);
	event->context->active--;
	if (!event->hw.pmu->software)
		__this_cpu_dec(counting.hardware);
	if (unlikely(__this_cpu_read(counting.exclusive) == event))
		__this_cpu_write(counting.exclusive, NULL);
	pmr_event_update_user_page(event, now);
}

/**
 * pmr_group_stop() - stop all members of a group
 * @leader: its leader
 * @now: pmr_context_time() of its context
 */
void pmr_group_stop(struct pmr_event *leader, u64 now)
{
	struct pmr_event *event;

	pmr_event_stop(leader, now);
	if (likely(!leader->nr_siblings))
		return;
	pmr_for_each_sibling(event, leader)
		pmr_event_stop(event, now);
}

/**
 * pmr_group_update_times() - update the times of all members
 * @leader: its leader, before its state changes
 * @now: pmr_context_time() of its context
 */
void pmr_group_update_times(struct pmr_event *leader, u64 now)
{
	struct pmr_event *event;

	pmr_event_update_times(leader, now);
	if (likely(!leader->nr_siblings))
		return;
	pmr_for_each_sibling(event, leader)
		pmr_event_update_times(event, now);
}

/**
 * pmr_event_restart() - start a new period now
 * @event: event of a context that is scheduled in here or out
 * @period: 1 to 2^63 - 1
 *
 * Ends throttling. An active event keeps its counter.
 */
void pmr_event_restart(struct pmr_event *event, u64 period)
{
	struct pmr_hw *hw = &event->hw;
	bool active = event->state == PMR_STATE_ACTIVE;

	lockdep_assert_held(&event->context->lock);
	if (active)
		hw->pmu->del(hw);
	begin_period(event, period);
	if (active)
		hw->pmu->add(&hw, 1);
}
