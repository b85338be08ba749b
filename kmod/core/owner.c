// SPDX-License-Identifier: GPL-2.0
/*
 * Owns who opened which event, for the two requests that stand for
 * prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE: they act on all events that the
 * calling thread has opened, whatever these measure. The task tells who it is, not the
 * pid: an exec may change that of a thread.
 *
 * Each task that has opened events has a list and a mutex of its own, so that none waits
 * for another's events.
 *
 * Task context, may sleep. An owner's mutex is outside of a context's mutex. owners_lock is
 * a leaf.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "core/event.h"
#include "core/owner.h"

/**
 * struct pmr_owner - a task that has opened events
 * @node: in @owners
 * @task: the task; holds a reference
 * @users: events that name it, and calls in progress; under owners_lock
 * @mutex: protects @events
 * @events: events that it has opened, by their owned field
 */
struct pmr_owner {
	struct hlist_node node;
	struct task_struct *task;
	unsigned long users;
	struct mutex mutex;	/* protects events */
	struct list_head events;
};

/* A user has at most max_events owners: chains stay short, and need not grow. */
static DEFINE_HASHTABLE(owners, 12);
/* Protects the table and the number of users of each owner. */
static DEFINE_SPINLOCK(owners_lock);

static struct pmr_owner *find_and_get(struct task_struct *task)
{
	struct pmr_owner *owner;

	spin_lock(&owners_lock);
	hash_for_each_possible(owners, owner, node, (unsigned long)task)
		if (owner->task == task) {
			owner->users++;
			break;
		}
	spin_unlock(&owners_lock);
	return owner;
}

/* Only a task itself adds its owner, so there is none yet. */
static struct pmr_owner *add_current(void)
{
	struct pmr_owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);

	if (!owner)
		return NULL;
	owner->task = get_task_struct(current);
	owner->users = 1;
	mutex_init(&owner->mutex);
	INIT_LIST_HEAD(&owner->events);
	spin_lock(&owners_lock);
	hash_add(owners, &owner->node, (unsigned long)current);
	spin_unlock(&owners_lock);
	return owner;
}

static void put(struct pmr_owner *owner)
{
	bool last;

	spin_lock(&owners_lock);
	last = !--owner->users;
	if (last)
		hash_del(&owner->node);
	spin_unlock(&owners_lock);
	if (!last)
		return;
	put_task_struct(owner->task);
	kfree(owner);
}

/**
 * pmr_owner_set() - the caller is opening an event
 * @event: event
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_owner_set(struct pmr_event *event)
{
	event->owner = find_and_get(current) ?: add_current();
	return event->owner ? 0 : -ENOMEM;
}

/**
 * pmr_owner_clear() - the event could not be opened
 * @event: event of pmr_owner_set()
 */
void pmr_owner_clear(struct pmr_event *event)
{
	put(event->owner);
	event->owner = NULL;
}

/**
 * pmr_owner_add() - remember that the caller opened an event
 * @event: event of pmr_owner_set() that is in its context
 */
void pmr_owner_add(struct pmr_event *event)
{
	struct pmr_owner *owner = event->owner;

	mutex_lock(&owner->mutex);
	list_add_tail(&event->owned, &owner->events);
	mutex_unlock(&owner->mutex);
}

/**
 * pmr_owner_remove() - forget an event
 * @event: event of pmr_owner_add()
 */
void pmr_owner_remove(struct pmr_event *event)
{
	struct pmr_owner *owner = event->owner;

	mutex_lock(&owner->mutex);
	list_del_init(&event->owned);
	mutex_unlock(&owner->mutex);
	pmr_owner_clear(event);
}

/**
 * pmr_owner_control() - enable or disable all events that the caller opened
 * @enable: which of the two
 */
void pmr_owner_control(bool enable)
{
	struct pmr_owner *owner = find_and_get(current);
	struct pmr_event *event;

	if (!owner)
		return;
	mutex_lock(&owner->mutex);
	list_for_each_entry(event, &owner->events, owned) {
		if (enable)
			pmr_event_enable(event, false);
		else
			pmr_event_disable(event, false);
	}
	mutex_unlock(&owner->mutex);
	put(owner);
}
