// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the list of open events and who opened each, for the two requests that
 * stand for prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE: they act on all
 * events that the calling thread has opened, whatever these measure. The task
 * tells who it is, not the pid: an exec may change that of a thread.
 *
 * Task context, may sleep; takes owners_mutex, outside of a context's mutex.
 */
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "core/event.h"
#include "core/owner.h"

static LIST_HEAD(events);
/* Protects events. */
static DEFINE_MUTEX(owners_mutex);

/**
 * pmr_owner_add() - remember that the caller opened an event
 * @event: event that is in its context
 */
void pmr_owner_add(struct pmr_event *event)
{
	event->owner = get_task_struct(current);
	mutex_lock(&owners_mutex);
	list_add_tail(&event->owned, &events);
	mutex_unlock(&owners_mutex);
}

/**
 * pmr_owner_remove() - forget an event
 * @event: event of pmr_owner_add()
 */
void pmr_owner_remove(struct pmr_event *event)
{
	mutex_lock(&owners_mutex);
	list_del_init(&event->owned);
	mutex_unlock(&owners_mutex);
	put_task_struct(event->owner);
}

/**
 * pmr_owner_control() - enable or disable all events that the caller opened
 * @enable: which of the two
 */
void pmr_owner_control(bool enable)
{
	struct pmr_event *event;

	mutex_lock(&owners_mutex);
	list_for_each_entry(event, &events, owned) {
		if (event->owner != current)
			continue;
		if (enable)
			pmr_event_enable(event, false);
		else
			pmr_event_disable(event, false);
	}
	mutex_unlock(&owners_mutex);
}
