// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the link between events and rings: an event writes into the ring that it
 * was mapped with, or into another's (PERF_EVENT_IOC_SET_OUTPUT), and readers of
 * any of the events of a ring are woken by all of them.
 *
 * Task context, but for pmr_output_wake(): hard IRQ. The lock of a ring protects its
 * lists, and with them the links that lead to it: event->ring is set to a ring, and
 * cleared again, under the lock of that ring. What sets it holds the event's mmap_mutex
 * as well, so that one link is set at a time. A ring outlives the RCU section in which it
 * was found.
 */
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "core/output.h"

static void attach(struct pmr_event *event, struct pmr_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	list_add_tail(&event->attached, event->polled ? &ring->polled : &ring->writers);
	rcu_assign_pointer(event->ring, ring);	/* the NMI sees it whole or not at all */
}

static void detach(struct pmr_event *event, struct pmr_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	list_del_init(&event->attached);
	rcu_assign_pointer(event->ring, NULL);
}

/* Under the lock of @ring: does @event write into it? */
static bool is_attached(struct pmr_event *event, struct pmr_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	return rcu_access_pointer(event->ring) == ring;
}

/**
 * pmr_output_attach() - let an event without a ring write into one
 * @event: event; its mmap_mutex is held
 * @ring: ring; the event gets the caller's reference
 */
void pmr_output_attach(struct pmr_event *event, struct pmr_ring *ring)
{
	unsigned long flags;

	lockdep_assert_held(&event->mmap_mutex);
	spin_lock_irqsave(&ring->lock, flags);
	attach(event, ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * pmr_output_detach() - records of an event have nowhere to go any more
 * @event: event; its mmap_mutex is held, or no file leads to it
 */
void pmr_output_detach(struct pmr_event *event)
{
	struct pmr_ring *ring;
	unsigned long flags;
	bool attached = false;

	rcu_read_lock();
	ring = rcu_dereference(event->ring);
	if (ring) {
		spin_lock_irqsave(&ring->lock, flags);
		attached = is_attached(event, ring);
		if (attached)
			detach(event, ring);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	rcu_read_unlock();
	if (attached)
		pmr_ring_put(ring);	/* frees after a grace period: an NMI may be writing */
}

/* Return: false if there was none left. */
static bool detach_first(struct pmr_ring *ring, struct list_head *list)
{
	struct pmr_event *event;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	ring->unmapped = true;
	event = list_first_entry_or_null(list, struct pmr_event, attached);
	if (event)
		detach(event, ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (event)
		pmr_ring_put(ring);
	return event;
}

/**
 * pmr_output_detach_all() - the last mapping of a ring is gone
 * @ring: ring to which the caller holds a reference
 *
 * May sleep: thousands of events may write into one ring.
 */
void pmr_output_detach_all(struct pmr_ring *ring)
{
	might_sleep();
	while (detach_first(ring, &ring->writers))
		cond_resched();
	while (detach_first(ring, &ring->polled))
		cond_resched();
}

/* Return: the ring of @target with a reference, or NULL if it has none that is mapped. */
static struct pmr_ring *mapped_ring(struct pmr_event *target)
{
	struct pmr_ring *ring;
	unsigned long flags;
	bool mapped = false;

	rcu_read_lock();
	ring = rcu_dereference(target->ring);
	if (ring) {
		spin_lock_irqsave(&ring->lock, flags);
		mapped = is_attached(target, ring) && !ring->unmapped;
		if (mapped)
			pmr_ring_get(ring);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	rcu_read_unlock();
	return mapped ? ring : NULL;
}

/**
 * pmr_output_share() - let an event write into the ring of another
 * @event: event that is not mapped; its mmap_mutex is held
 * @target: the other, to which the caller holds a reference
 *
 * If @target loses its last mapping meanwhile, that comes second: the event has no ring.
 *
 * Return: 0, or -EINVAL if @target has no ring, or it lost its last mapping.
 */
int pmr_output_share(struct pmr_event *event, struct pmr_event *target)
{
	struct pmr_ring *ring = mapped_ring(target);
	unsigned long flags;
	bool unmapped;

	lockdep_assert_held(&event->mmap_mutex);
	if (!ring)
		return -EINVAL;
	pmr_output_detach(event);
	spin_lock_irqsave(&ring->lock, flags);
	unmapped = ring->unmapped;
	if (!unmapped)
		attach(event, ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (unmapped)
		pmr_ring_put(ring);
	return 0;
}

/**
 * pmr_output_ring() - the ring that an event writes into
 * @event: event
 *
 * Return: the ring with a reference for the caller, or NULL.
 */
struct pmr_ring *pmr_output_ring(struct pmr_event *event)
{
	struct pmr_ring *ring;

	rcu_read_lock();
	ring = rcu_dereference(event->ring);
	if (ring && !kref_get_unless_zero(&ring->ref))
		ring = NULL;
	rcu_read_unlock();
	return ring;
}

/**
 * pmr_output_poll() - an event is polled: from now on its ring's wake-ups reach it
 * @event: event
 *
 * Of the many events that may write into a ring, few are ever polled.
 */
void pmr_output_poll(struct pmr_event *event)
{
	struct pmr_ring *ring;
	unsigned long flags;

	if (READ_ONCE(event->polled))
		return;
	mutex_lock(&event->mmap_mutex);		/* no other link is being set */
	rcu_read_lock();
	WRITE_ONCE(event->polled, true);
	ring = rcu_dereference(event->ring);
	if (ring) {
		spin_lock_irqsave(&ring->lock, flags);
		if (is_attached(event, ring))
			list_move_tail(&event->attached, &ring->polled);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	rcu_read_unlock();
	mutex_unlock(&event->mmap_mutex);
}

/**
 * pmr_output_wake() - wake all who poll an event or one that shares its ring
 * @event: event
 */
void pmr_output_wake(struct pmr_event *event)
{
	struct pmr_event *reader;
	struct pmr_ring *ring;
	unsigned long flags;

	lockdep_assert_irqs_disabled();
	rcu_read_lock();
	ring = rcu_dereference(event->ring);
	if (ring) {
		spin_lock_irqsave(&ring->lock, flags);
		list_for_each_entry(reader, &ring->polled, attached)
			wake_up_all(&reader->waitq);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	rcu_read_unlock();
	wake_up_all(&event->waitq);
}
