// SPDX-License-Identifier: GPL-2.0
/*
 * Owns group membership and the group lists of a context.
 *
 * pmr_group_attach(), _detach(): interrupts off, the context's lock held, on the CPU that
 * the context is scheduled in on (on any CPU while it is scheduled out).
 * pmr_group_fits(): task context, may sleep, the context's mutex held.
 * pmr_group_may_grow(): takes that mutex.
 */
#include <linux/lockdep.h>
#include <linux/percpu.h>

#include "core/context.h"
#include "core/sideband.h"

LIST_HEAD(pmr_no_siblings);

/**
 * pmr_group_attach() - add an event to its context, as a leader or a sibling
 * @event: event in no context list
 * @leader: leader in the same context, or the event itself
 */
void pmr_group_attach(struct pmr_event *event, struct pmr_event *leader)
{
	struct pmr_context *context = event->context;

	lockdep_assert_held(&context->lock);
	WRITE_ONCE(event->leader, leader);
	pmr_context_is_unique(context);
	context->number++;
	WRITE_ONCE(context->inherited, context->inherited + event->attr.inherit);
	list_add_tail(&event->all, &context->events);
	if (pmr_sideband_wants_any(event))
		list_add_tail(&event->sideband, &context->sideband);
	if (event == leader) {
		if (event->attr.pinned)
			list_add_tail(&event->entry, &context->pinned);
		else
			pmr_wait_add(event);
		return;
	}
	list_add_tail(&event->siblings, &leader->siblings);
	WRITE_ONCE(leader->nr_siblings, leader->nr_siblings + 1);
	leader->generation++;
	pmr_wait_place(leader);
}

static void become_leader(struct pmr_event *event)
{
	/*
	 * Remove the event from the list before it becomes a leader. An NMI of an active
	 * member may walk the group at any time. It must never take a list entry for a
	 * list head. A compiler barrier is enough: the NMI is on this CPU.
	 */
	list_del_init(&event->siblings);
	barrier();
	WRITE_ONCE(event->leader, event);
	pmr_wait_add(event);
	if (event->state == PMR_STATE_INACTIVE) {
		event->context->waiting++;
		__this_cpu_write(pmr_schedule_due, true);
	}
}

/**
 * pmr_group_detach() - remove an event from its context
 * @event: stopped event, its times up to date
 *
 * The siblings of a leader become single events.
 */
void pmr_group_detach(struct pmr_event *event)
{
	struct pmr_event *leader = event->leader, *sibling, *next;

	lockdep_assert_held(&event->context->lock);
	if (WARN_ON_ONCE(list_empty(&event->all)))
		return;
	pmr_context_is_unique(event->context);
	event->context->number--;
	WRITE_ONCE(event->context->inherited, event->context->inherited - event->attr.inherit);
	list_del_init(&event->all);
	list_del_init(&event->sideband);
	if (event != leader) {
		list_del_init(&event->siblings);
		WRITE_ONCE(event->leader, event);
		WRITE_ONCE(leader->nr_siblings, leader->nr_siblings - 1);
		leader->generation++;
		pmr_wait_place(leader);
		return;
	}
	if (event->attr.pinned)
		list_del_init(&event->entry);
	else
		pmr_wait_remove(event);
	list_for_each_entry_safe(sibling, next, &event->siblings, siblings)
		become_leader(sibling);
	WRITE_ONCE(event->nr_siblings, 0);
	event->generation++;
}

static bool needs_counter(const struct pmr_event *event)
{
	return !event->hw.pmu->software && event->state > PMR_STATE_OFF;
}

/*
 * As in perf, siblings that are off are not checked. The events stay allocated while the
 * context's mutex is held.
 *
 * Return: number of hardware events, including @event; if it is above PMR_COUNTERS_MAX,
 * @hws has only the first ones.
 */
static unsigned int collect_members(struct pmr_event *leader, struct pmr_event *event,
				    struct pmr_hw **hws)
{
	unsigned int number = 0;
	struct pmr_event *member;

	hws[number++] = &event->hw;
	raw_spin_lock_irq(&leader->context->lock);
	if (leader != event && !leader->hw.pmu->software)
		hws[number++] = &leader->hw;
	pmr_for_each_sibling(member, leader) {
		if (!needs_counter(member))
			continue;
		if (number < PMR_COUNTERS_MAX)
			hws[number] = &member->hw;
		number++;
	}
	raw_spin_unlock_irq(&leader->context->lock);
	return number;
}

/* Apart, since a list this long is cleared on entry. */
static noinline int group_fits(struct pmr_event *leader, struct pmr_event *event)
{
	struct pmr_hw *hws[PMR_COUNTERS_MAX];
	unsigned int number = collect_members(leader, event, hws);

	return number <= PMR_COUNTERS_MAX && pmr_pmu->fits(hws, number) ? 0 : -EINVAL;
}

/**
 * pmr_group_fits() - can the PMU ever count a group together?
 * @leader: the leader; user space may have passed a sibling
 * @event: the leader itself, or the new sibling
 *
 * Return: 0, or -EINVAL if the PMU lacks the counters or @leader is a sibling.
 */
int pmr_group_fits(struct pmr_event *leader, struct pmr_event *event)
{
	struct pmr_hw *hw = &event->hw;

	lockdep_assert_held(&leader->context->mutex);
	if (event->hw.pmu->software)
		return 0;
	if (leader == event && !event->nr_siblings)
		return pmr_pmu->fits(&hw, 1) ? 0 : -EINVAL;
	if (!pmr_event_is_leader(leader))
		return -EINVAL;
	return group_fits(leader, event);
}

/**
 * pmr_group_may_grow() - can the PMU ever count a group together with one more event?
 * @leader: the leader; the caller holds a reference
 * @event: event in no context
 *
 * An early check. pmr_event_install() checks again, because the group may grow meanwhile.
 *
 * Context: task context, may sleep; takes the mutex of the group's context.
 *
 * Return: see pmr_group_fits().
 */
int pmr_group_may_grow(struct pmr_event *leader, struct pmr_event *event)
{
	int err;

	mutex_lock(&leader->context->mutex);
	err = pmr_group_fits(leader, event);
	mutex_unlock(&leader->context->mutex);
	return err;
}
