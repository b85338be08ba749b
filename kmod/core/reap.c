// SPDX-License-Identifier: GPL-2.0
/*
 * Ends inherited copies: when their task exits or execs with remove_on_exec, or when the
 * event that they were inherited from is closed. inherit.c makes them.
 *
 * pmr_inherit_end(): the copy's context locked, interrupts off. kick(): hard IRQ.
 * The reaper: a worker per context with ended copies; takes the mutex of that context.
 * pmr_inherit_orphan(): task context, that mutex held. init, exit: task context, may
 * sleep.
 *
 * An exiting task leaves its counts in the copies and does not wait. Under the mutex that
 * readers hold, the reaper adds the counts to the top event and removes the copy from its
 * list, so a reader finds each count exactly once. Each context has its own reaper, so a
 * task with thousands of exiting children does not delay others. Closing an event takes
 * its ended copies from the reaper and does not wait for it.
 */
#include <linux/rculist.h>
#include <linux/workqueue.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/sideband.h"

/* A private workqueue: unload destroys it, so that no work is left to run module code. */
static struct workqueue_struct *reapers;

/**
 * pmr_inherit_end() - give an ended copy to the reaper
 * @copy: stopped copy, its times up to date; its context is locked
 *
 * Called once per copy.
 */
void pmr_inherit_end(struct pmr_event *copy)
{
	struct pmr_context *context = copy->top->context;

	lockdep_assert_held(&copy->context->lock);
	if (WARN_ON_ONCE(copy->reaping))
		return;
	copy->reaping = true;
	raw_spin_lock(&context->ended_lock);
	list_add_tail(&copy->reap, &context->ended);
	if (!context->reaping) {
		context->reaping = true;
		refcount_inc(&context->ref);
		irq_work_queue(&context->kick);
	}
	raw_spin_unlock(&context->ended_lock);
}

/* Hard IRQ. */
static void kick(struct irq_work *work)
{
	lockdep_assert_irqs_disabled();
	queue_work(reapers, &container_of(work, struct pmr_context, kick)->reaper);
}

/* Adds the counts of a copy to its top event. */
static void fold(struct pmr_event *copy)
{
	struct pmr_event *top = copy->top;
	unsigned long flags;

	lockdep_assert_held(&top->context->mutex);
	/* pmr_event_publish() reads them under the context's lock alone. */
	WRITE_ONCE(top->child_count, top->child_count + copy->hw.count - copy->hw.base);
	WRITE_ONCE(top->child_enabled, top->child_enabled + copy->enabled);
	WRITE_ONCE(top->child_running, top->child_running + copy->running);
	/* The mutex excludes readers; only the lock excludes forks. */
	raw_spin_lock_irqsave(&top->children_lock, flags);
	list_del_init(&copy->child);
	raw_spin_unlock_irqrestore(&top->children_lock, flags);
}

static void detach(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	if (list_empty(&event->all))
		return;		/* removed on exec */
	pmr_group_update_times(event->leader, pmr_context_time(context));
	pmr_group_detach(event);
}

static void reap_one(struct pmr_event *copy)
{
	struct pmr_event *top = copy->top;

	list_del_init(&copy->reap);
	fold(copy);
	pmr_context_call(copy->context, detach, copy);
	if (list_empty(&top->children) && READ_ONCE(top->state) <= PMR_STATE_EXIT)
		wake_up_all(&top->waitq);	/* poll() returns EPOLLHUP now */
	pmr_event_put(copy);	/* top stays: its file holds a reference */
}

static void collect(struct pmr_event *copy, struct list_head *group)
{
	if (copy->reaping)
		list_move_tail(&copy->reap, group);
}

/*
 * All members end in one section of their context's lock, so none is missed here. A copy
 * removed by an exec is already a group of one. Otherwise its task has exited, and no exec
 * changes the group after the lock is dropped.
 */
static void take_group(struct pmr_context *context, struct pmr_event *first,
		       struct list_head *group)
{
	struct pmr_event *sibling;

	raw_spin_lock_irq(&first->context->lock);
	raw_spin_lock(&context->ended_lock);
	collect(first->leader, group);
	pmr_for_each_sibling(sibling, first->leader)
		collect(sibling, group);
	raw_spin_unlock(&context->ended_lock);
	raw_spin_unlock_irq(&first->context->lock);
}

/*
 * Return: an ended copy, which stays while the mutex is held; or NULL, and @context->reaping
 * is cleared, so that the next copy that ends queues the reaper again.
 */
static struct pmr_event *first_ended(struct pmr_context *context)
{
	struct pmr_event *first;

	lockdep_assert_held(&context->mutex);
	raw_spin_lock_irq(&context->ended_lock);
	first = list_first_entry_or_null(&context->ended, struct pmr_event, reap);
	context->reaping = first;
	raw_spin_unlock_irq(&context->ended_lock);
	return first;
}

/* A group read starts at the leader, so all members are folded in one mutex section. */
static bool reap_group(struct pmr_context *context)
{
	struct pmr_event *first, *copy, *next;
	LIST_HEAD(group);

	mutex_lock(&context->mutex);
	first = first_ended(context);
	if (first)
		take_group(context, first, &group);
	list_for_each_entry(copy, &group, reap)
		pmr_sideband_read_late(copy);
	list_for_each_entry_safe(copy, next, &group, reap)
		reap_one(copy);
	mutex_unlock(&context->mutex);
	return first;
}

static void reap(struct work_struct *work)
{
	struct pmr_context *context = container_of(work, struct pmr_context, reaper);

	while (reap_group(context))
		cond_resched();
	pmr_context_put(context);	/* may free @work */
}

/**
 * pmr_inherit_init_context() - initialize the reaper of a context
 * @context: context that is being initialized
 */
void pmr_inherit_init_context(struct pmr_context *context)
{
	raw_spin_lock_init(&context->ended_lock);
	INIT_LIST_HEAD(&context->ended);
	init_irq_work(&context->kick, kick);
	INIT_WORK(&context->reaper, reap);
}

/* An ended copy is already stopped, but may still be in its group. */
static void take_away(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *copy = arg;

	if (!copy->reaping) {
		pmr_group_update_times(copy->leader, now);
		pmr_event_stop(copy, now);
		WRITE_ONCE(copy->state, PMR_STATE_DEAD);
	}
	if (!list_empty(&copy->all))
		pmr_group_detach(copy);
}

/*
 * The reaper handles a copy in one section of the mutex that the caller holds, so it has
 * not started on this copy.
 */
static void take_from_reaper(struct pmr_context *context, struct pmr_event *copy)
{
	pmr_sideband_read_late(copy);
	raw_spin_lock_irq(&context->ended_lock);
	list_del_init(&copy->reap);
	raw_spin_unlock_irq(&context->ended_lock);
}

static struct pmr_event *first_child(struct pmr_event *event)
{
	struct pmr_event *copy;
	unsigned long flags;

	raw_spin_lock_irqsave(&event->children_lock, flags);
	copy = list_first_entry_or_null(&event->children, struct pmr_event, child);
	raw_spin_unlock_irqrestore(&event->children_lock, flags);
	return copy;
}

static void move_child(struct pmr_event *event, struct pmr_event *copy, struct list_head *doomed)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&event->children_lock, flags);
	list_move_tail(&copy->child, doomed);
	raw_spin_unlock_irqrestore(&event->children_lock, flags);
}

/**
 * pmr_inherit_orphan() - remove the copies of an event that is being closed
 * @event: event that was removed from its context, whose mutex is held
 * @doomed: gets the copies; the caller must pass it to pmr_inherit_free()
 *
 * A fork adds its copies behind their original, so the loop does not miss any. Forks skip
 * an orphaned event, so the loop ends. Afterwards the reaper has no copy of @event.
 */
void pmr_inherit_orphan(struct pmr_event *event, struct list_head *doomed)
{
	struct pmr_event *copy;

	lockdep_assert_held(&event->context->mutex);
	WRITE_ONCE(event->orphaned, true);
	for (copy = first_child(event); copy; copy = first_child(event)) {
		pmr_context_call(copy->context, take_away, copy);
		if (copy->reaping)
			take_from_reaper(event->context, copy);
		move_child(event, copy, doomed);
	}
}

/**
 * pmr_inherit_free() - free the copies of an event that is being closed
 * @doomed: from pmr_inherit_orphan()
 */
void pmr_inherit_free(struct list_head *doomed)
{
	struct pmr_event *copy, *next;

	list_for_each_entry_safe(copy, next, doomed, child) {
		list_del_init(&copy->child);
		pmr_event_put(copy);
	}
}

/**
 * pmr_inherit_init() - allocate the reapers' workqueue at load
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_inherit_init(void)
{
	reapers = alloc_workqueue("pmuring", WQ_UNBOUND, 0);
	return reapers ? 0 : -ENOMEM;
}

/**
 * pmr_inherit_exit() - wait for the reapers after the last event and hook are gone
 */
void pmr_inherit_exit(void)
{
	destroy_workqueue(reapers);
}
