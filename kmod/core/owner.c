// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the list of events that each task has opened, for the two requests that replace
 * prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE. They act on all events that the calling
 * thread has opened, whatever these measure. The key is the task, because an exec may
 * change the pid of a thread.
 *
 * Each owner has its own list and mutex, so that tasks do not wait for each other.
 *
 * Task context, may sleep. An owner's mutex nests outside a context's mutex. owners_lock
 * is a leaf.
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
 * @node: entry in owners
 * @task: the task; holds a reference
 * @users: number of events that point here, and of calls in progress; under owners_lock
 * @mutex: protects @events
 * @events: the events it has opened
 */
struct pmr_owner {
	struct hlist_node node;
	struct task_struct *task;
	unsigned long users;
	struct mutex mutex;	/* protects events */
	struct list_head events;
};

/* A user has at most max_events owners, so the table does not need to grow. */
static DEFINE_HASHTABLE(owners, 12);
/* Protects the table and each owner's users. */
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

/* Only current adds its own owner, so no other owner can appear after the lookup. */
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
 * pmr_owner_set() - make current the owner of an event that is being opened
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
 * pmr_owner_clear() - drop the owner of an event
 * @event: event of pmr_owner_set()
 */
void pmr_owner_clear(struct pmr_event *event)
{
	put(event->owner);
	event->owner = NULL;
}

/**
 * pmr_owner_add() - add an event to its owner's list
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
 * pmr_owner_remove() - remove an event from its owner's list, and drop the owner
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
 * pmr_owner_control() - enable or disable all events that current has opened
 * @enable: true to enable, false to disable
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
