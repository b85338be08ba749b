// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the state and the times of events, and how a group gets on counters, all
 * members or none. Who belongs to one: members.c.
 *
 * Called where pmr_context_call() puts a function, by the scheduling of
 * contexts (schedule.c), and from the tick: on the CPU that the context is in
 * on (or on any, while it is out), interrupts off, the context's lock held.
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
 * struct counting - what counts on a CPU; its own, interrupts off
 * @hardware: events on counters
 * @exclusive: leader of the group that shares with nobody, or NULL
 */
struct counting {
	unsigned int hardware;
	struct pmr_event *exclusive;
};

static DEFINE_PER_CPU(struct counting, counting);

/**
 * struct members - hardware events of the group that is being started; too many
 * for the stack. Its CPU's, interrupts off
 * @hws: the events
 */
struct members {
	struct pmr_hw *hws[PMR_COUNTERS_MAX];
};

static DEFINE_PER_CPU(struct members, members);

/* A sibling of a leader that is off is off, whatever its own state says. */
static int effective_state(const struct pmr_event *event)
{
	int leader = event->leader->state;

	return leader <= PMR_STATE_OFF ? leader : event->state;
}

/**
 * pmr_event_update_times() - bring an event's times up to date
 * @event: event
 * @now: pmr_context_time() of its context; who does several things to an
 *	event, or to a group, reads it once, or ns would be lost in between
 *
 * They stand still while the event is off, and with the context's time while
 * that is out.
 */
void pmr_event_update_times(struct pmr_event *event, u64 now)
{
	u64 passed = now - event->since;
	int state = effective_state(event);

	lockdep_assert_held(&event->context->lock);
	event->since = now;
	if (state >= PMR_STATE_INACTIVE)
		event->enabled += passed;
	if (state == PMR_STATE_ACTIVE)
		event->running += passed;
}

static bool wants_to_count(const struct pmr_event *event)
{
	return event->state == PMR_STATE_INACTIVE && pmr_event_counts_here(event);
}

/* One may have gone out before the interrupt that was to disable it. */
static bool may_count(struct pmr_event *event)
{
	if (!wants_to_count(event))
		return false;
	if (likely(!test_bit(PMR_PENDING_DISABLE, &event->pending)))
		return true;
	pmr_event_disable_locked(event);
	return false;
}

/* In frequency mode the sample at the end stands for all since the last one. */
static void begin_period(struct pmr_event *event, u64 period)
{
	/* One that is out stays throttled until it starts: its ring is another CPU's. */
	if (unlikely(event->hw.throttled) && event->context->on_cpu >= 0 &&
	    (event->cpu < 0 || event->cpu == smp_processor_id()))
		pmr_throttle_end(event);
	/*
	 * Frequencies are often multiples of the tick's, from which this is called:
	 * a whole period would end in the handler of a later one, again and again.
	 */
	if (unlikely(pmr_freq_steers(event)))
		pmr_period_cut(&event->hw, period - period / 4, period);
	else
		pmr_period_set(&event->hw, period);
}

/* An event that was throttled when its context went out, and comes in. */
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
	event->state = PMR_STATE_ACTIVE;
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

/* Return: how many hardware events of the group want to count, in @members. */
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
 * pmr_group_needs_counters() - does a group need the PMU to count?
 * @leader: its leader
 *
 * Others compete with nobody.
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
 * Return: false if surely not.
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
 * pmr_group_start() - let a group count
 * @leader: its leader
 * @now: pmr_context_time() of its context, which is in here
 *
 * Members that are off stay off.
 *
 * Return: false if it is enabled for this CPU and finds no counters.
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

/* Return: false if the group would have to be bigger than there is room for. */
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
 * pmr_event_start() - let an event count that has been added or enabled
 * @event: event
 * @now: pmr_context_time() of its context, which is in here or out
 *
 * A leader starts its group, a sibling joins it if it counts. What finds no room
 * has to wait: pmr_schedule_fill() makes some if it can.
 */
void pmr_event_start(struct pmr_event *event, u64 now)
{
	bool started = false;

	lockdep_assert_held(&event->context->lock);
	if (event->context->on_cpu >= 0)
		started = pmr_event_is_leader(event) ? pmr_group_start(event, now) :
						       join(event, now);
	/* One that has started has its place, but for what a sibling adds to a group. */
	if (!started || !pmr_event_is_leader(event))
		pmr_wait_place(event->leader);
	if (!started)
		pmr_schedule_wait(event->leader);
}

/**
 * pmr_event_stop() - take one event off
 * @event: event that may count here
 * @now: pmr_context_time() of its context
 */
void pmr_event_stop(struct pmr_event *event, u64 now)
{
	lockdep_assert_held(&event->context->lock);
	/* A counter is free, or its group needs one less. */
	if (event->state == PMR_STATE_ACTIVE || !pmr_event_is_leader(event))
		__this_cpu_write(pmr_schedule_due, true);
	if (event->state != PMR_STATE_ACTIVE)
		return;
	pmr_event_update_times(event, now);
	event->hw.pmu->del(&event->hw);
	pmr_freq_stop(event);
	event->state = PMR_STATE_INACTIVE;
	event->context->active--;
	if (!event->hw.pmu->software)
		__this_cpu_dec(counting.hardware);
	if (unlikely(__this_cpu_read(counting.exclusive) == event))
		__this_cpu_write(counting.exclusive, NULL);
	pmr_event_update_user_page(event, now);
}

/**
 * pmr_group_stop() - take a group off
 * @leader: its leader
 * @now: pmr_context_time() of its context
 */
void pmr_group_stop(struct pmr_event *leader, u64 now)
{
	struct pmr_event *event;

	pmr_event_stop(leader, now);
	pmr_for_each_sibling(event, leader)
		pmr_event_stop(event, now);
}

/**
 * pmr_group_update_times() - bring the times of all members up to date
 * @leader: its leader, whose state is about to change
 * @now: pmr_context_time() of its context
 */
void pmr_group_update_times(struct pmr_event *leader, u64 now)
{
	struct pmr_event *event;

	pmr_event_update_times(leader, now);
	pmr_for_each_sibling(event, leader)
		pmr_event_update_times(event, now);
}

/**
 * pmr_event_restart() - begin a new period now
 * @event: event of a context that is in here or out
 * @period: 1 to 2^63 - 1
 *
 * Ends throttling. An event that counts goes on at once, on the counter that
 * it has.
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
