// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the end of inherited copies, when their task ends or the event that they
 * are copies of is closed. How a fork makes them: inherit.c.
 *
 * pmr_inherit_end(), _remove(): the event's context locked. pmr_inherit_reap(): task
 * context, preemption may be off. orphan: task context, the context's mutex held; free: task
 * context, may sleep. The reaper: a worker; takes the mutex of the context of the top
 * event.
 *
 * A task that ends leaves its counts in the copies; nobody waits for it. The reaper
 * adds them to the top event and takes the copy off its list under the mutex that
 * readers hold, so that a reader finds each count in one of the two places.
 */
#include <linux/llist.h>
#include <linux/rculist.h>
#include <linux/workqueue.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/pool.h"

static LLIST_HEAD(ended);

/**
 * pmr_inherit_end() - the task of an event has ended
 * @event: event that does not count any more, perhaps a copy
 *
 * The caller calls pmr_inherit_reap() when it has unlocked the context.
 */
void pmr_inherit_end(struct pmr_event *event)
{
	if (!pmr_event_is_copy(event) || event->reaping)
		return;
	event->reaping = true;
	llist_add(&event->reap, &ended);
}

/**
 * pmr_inherit_remove() - an event leaves its group and its context on exec
 * @event: event that has ended; its context is locked
 *
 * The reaper does it: groups stand still for who holds the context's mutex, which
 * cannot be had here. It takes copies away anyway.
 */
void pmr_inherit_remove(struct pmr_event *event)
{
	if (event->reaping)
		return;
	event->reaping = true;
	kref_get(&event->ref);
	llist_add(&event->reap, &ended);
}

/* Once for each copy. */
static void fold(struct pmr_event *copy)
{
	struct pmr_event *top = copy->top;
	unsigned long flags;

	if (list_empty(&copy->child))
		return;
	top->child_count += copy->hw.count - copy->hw.base;
	top->child_enabled += copy->enabled;
	top->child_running += copy->running;
	/* Who reads is kept out by the mutex, who forks by the lock alone. */
	raw_spin_lock_irqsave(&top->children_lock, flags);
	list_del_init(&copy->child);
	raw_spin_unlock_irqrestore(&top->children_lock, flags);
}

static void detach(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	if (list_empty(&event->all))
		return;
	pmr_group_update_times(event->leader, pmr_context_time(context));
	pmr_group_detach(event);
}

/* A group is read through its leader, so its members move to the top together. */
static void fold_group(struct pmr_event *copy)
{
	struct pmr_event *sibling;

	fold(copy);
	if (!pmr_event_is_leader(copy))
		return;
	pmr_for_each_sibling(sibling, copy)
		if (sibling->reaping)
			fold(sibling);
}

static void reap(struct pmr_event *event)
{
	struct pmr_event *top = event->top;
	bool last;

	mutex_lock(&top->context->mutex);
	if (pmr_event_is_copy(event))
		fold_group(event);
	pmr_context_call(event->context, detach, event);
	last = list_empty(&top->children);
	mutex_unlock(&top->context->mutex);
	if (last && READ_ONCE(top->state) <= PMR_STATE_EXIT)
		wake_up_all(&top->waitq);	/* poll() says EPOLLHUP from now on */
	pmr_event_put(event);
}

static void reap_all(struct work_struct *work)
{
	struct llist_node *list = llist_del_all(&ended);
	struct pmr_event *event, *next;

	list = llist_reverse_order(list);
	llist_for_each_entry_safe(event, next, list, reap) {
		reap(event);
		cond_resched();
	}
}

static DECLARE_WORK(reaper, reap_all);

/**
 * pmr_inherit_reap() - send the reaper after the copies that have ended
 */
void pmr_inherit_reap(void)
{
	if (!llist_empty(&ended))
		queue_work(system_unbound_wq, &reaper);
}

static void take_away(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *copy = arg;

	if (copy->reaping)
		return;
	pmr_group_update_times(copy->leader, now);
	pmr_event_stop(copy, now);
	copy->state = PMR_STATE_DEAD;
	if (!list_empty(&copy->all))
		pmr_group_detach(copy);
}

/**
 * pmr_inherit_orphan() - take away the copies of an event that is being closed
 * @event: event that has left its context, whose mutex is held
 * @doomed: gets the copies that the caller must give to pmr_inherit_free()
 *
 * Those whose tasks have ended are with the reaper already.
 */
void pmr_inherit_orphan(struct pmr_event *event, struct list_head *doomed)
{
	struct pmr_event *copy, *next;
	unsigned long flags;

	raw_spin_lock_irqsave(&event->children_lock, flags);
	event->orphaned = true;
	raw_spin_unlock_irqrestore(&event->children_lock, flags);

	list_for_each_entry_safe(copy, next, &event->children, child) {
		pmr_context_call(copy->context, take_away, copy);
		if (!copy->reaping)
			list_move_tail(&copy->child, doomed);
	}
}

/**
 * pmr_inherit_free() - free the copies of an event that is being closed
 * @event: event
 * @doomed: from pmr_inherit_orphan()
 *
 * Waits for the reaper: when close() returns, no copy holds the PMU any more.
 */
void pmr_inherit_free(struct pmr_event *event, struct list_head *doomed)
{
	struct pmr_event *copy, *next;

	list_for_each_entry_safe(copy, next, doomed, child) {
		list_del_init(&copy->child);
		pmr_event_put(copy);
	}
	if (!event->attr.inherit)
		return;
	pmr_inherit_reap();
	flush_work(&reaper);
}

/**
 * pmr_inherit_exit() - wait for the reaper, when no event is left
 */
void pmr_inherit_exit(void)
{
	flush_work(&reaper);
	pmr_pool_exit();
}
