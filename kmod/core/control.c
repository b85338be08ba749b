// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that control events: enable, disable, reset, refresh and set the period.
 * Enable, disable and reset include inherited copies, and the group on request. A new
 * period applies to the one event.
 *
 * Task context, may sleep. Operations that walk groups or copies take the context's mutex,
 * so that groups do not grow and copies are not removed. Static functions with a context
 * argument are context function calls: on the context's CPU, interrupts off, context
 * locked.
 */
#include "core/context.h"
#include "core/event.h"
#include "core/inherit.h"
#include "sample/freq.h"

static void enable(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event = arg;

	if (event->state != PMR_STATE_OFF && event->state != PMR_STATE_ERROR)
		return;
	pmr_group_update_times(event->leader, now);
	WRITE_ONCE(event->state, PMR_STATE_INACTIVE);
	pmr_event_start(event, now);
	pmr_event_update_user_page(event, now);
}

/**
 * pmr_event_disable_locked() - disable an event
 * @event: event whose context is scheduled in here or out, and locked; interrupts off
 *
 * Disabling a leader stops its siblings.
 */
void pmr_event_disable_locked(struct pmr_event *event)
{
	u64 now = pmr_context_time(event->context);

	lockdep_assert_held(&event->context->lock);
	clear_bit(PMR_PENDING_DISABLE, &event->pending);
	if (event->state < PMR_STATE_INACTIVE)
		return;
	pmr_group_update_times(event->leader, now);
	if (pmr_event_is_leader(event))
		pmr_group_stop(event, now);
	else
		pmr_event_stop(event, now);
	WRITE_ONCE(event->state, PMR_STATE_OFF);
	pmr_wait_place(event->leader);
	pmr_event_update_user_page(event, now);
}

static void disable(struct pmr_context *context, void *arg)
{
	pmr_event_disable_locked(arg);
}

static void reset(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	event->hw.base = event->state == PMR_STATE_ACTIVE ? event->hw.pmu->count(&event->hw) :
							    event->hw.count;
	pmr_event_update_user_page(event, pmr_context_time(context));
}

/* Calls @fn for an event and its copies; the mutex excludes removal of copies. */
static void with_copies(struct pmr_event *event, pmr_context_fn fn)
{
	struct pmr_event *copy;

	lockdep_assert_held(&event->context->mutex);
	pmr_context_call(event->context, fn, event);
	pmr_for_each_copy(copy, event)
		pmr_context_call(copy->context, fn, copy);
}

/**
 * struct pick - the members of a group
 * @event: one of them
 * @members: gets the leader, then the siblings
 */
struct pick {
	struct pmr_event *event;
	struct list_head members;
};

/*
 * Lists the members first: @fn runs without the context's lock in between, and an exec may
 * change the group then.
 */
static void pick_group(struct pmr_context *context, void *arg)
{
	struct pick *pick = arg;
	struct pmr_event *leader = pick->event->leader, *sibling;

	list_add_tail(&leader->picked, &pick->members);
	pmr_for_each_sibling(sibling, leader)
		list_add_tail(&sibling->picked, &pick->members);
}

static noinline void control_group(struct pmr_event *event, pmr_context_fn fn)
{
	struct pick pick = { .event = event, .members = LIST_HEAD_INIT(pick.members) };
	struct pmr_event *member, *next;

	pmr_context_call(event->context, pick_group, &pick);
	list_for_each_entry_safe(member, next, &pick.members, picked) {
		list_del_init(&member->picked);
		with_copies(member, fn);
	}
}

static void control(struct pmr_event *event, bool group, pmr_context_fn fn)
{
	mutex_lock(&event->context->mutex);
	if (group)
		control_group(event, fn);
	else
		with_copies(event, fn);
	mutex_unlock(&event->context->mutex);
}

/**
 * pmr_event_enable() - PERF_EVENT_IOC_ENABLE
 * @event: event
 * @group: PERF_IOC_FLAG_GROUP: the leader and all siblings
 */
void pmr_event_enable(struct pmr_event *event, bool group)
{
	control(event, group, enable);
}

/**
 * pmr_event_disable() - PERF_EVENT_IOC_DISABLE
 * @event: event
 * @group: PERF_IOC_FLAG_GROUP: the leader and all siblings
 */
void pmr_event_disable(struct pmr_event *event, bool group)
{
	control(event, group, disable);
}

/**
 * pmr_event_reset() - PERF_EVENT_IOC_RESET
 * @event: event
 * @group: PERF_IOC_FLAG_GROUP: the leader and all siblings
 *
 * As in perf, times, lost samples and the counts of ended copies are not reset.
 */
void pmr_event_reset(struct pmr_event *event, bool group)
{
	control(event, group, reset);
}

/**
 * pmr_event_refresh() - PERF_EVENT_IOC_REFRESH: enable for some more overflows
 * @event: event
 * @overflows: number of overflows to add; 0 only enables
 *
 * Return: 0, or -EINVAL for an event that does not sample or has attr.inherit.
 */
int pmr_event_refresh(struct pmr_event *event, int overflows)
{
	if (event->attr.inherit || !event->hw.sampling)
		return -EINVAL;
	atomic_add(overflows, &event->limit);
	pmr_event_enable(event, false);
	return 0;
}

struct set_period {
	struct pmr_event *event;
	u64 period;
};

static void set_period(struct pmr_context *context, void *arg)
{
	struct set_period *new = arg;
	struct pmr_event *event = new->event;

	if (event->attr.freq) {
		pmr_event_restart(event, pmr_freq_set(event, new->period));
		return;
	}
	WRITE_ONCE(event->attr.sample_period, new->period);	/* pairs with fill_copy() */
	pmr_event_restart(event, new->period);
}

/**
 * pmr_event_set_period() - PERF_EVENT_IOC_PERIOD
 * @event: sampling event
 * @period: 1 to 2^63 - 1; for an event with attr.freq, samples per second
 *
 * Starts a new period and ends throttling. Existing copies keep their period, as in perf.
 */
void pmr_event_set_period(struct pmr_event *event, u64 period)
{
	struct set_period arg = { .event = event, .period = period };

	pmr_context_call(event->context, set_period, &arg);
}
