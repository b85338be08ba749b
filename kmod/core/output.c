// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the link between events and rings. An event writes into the ring that it was mapped
 * with, or into that of another event (PERF_EVENT_IOC_SET_OUTPUT). Any event of a ring
 * wakes the readers of all events of that ring.
 *
 * Task context, except pmr_output_wake(): hard IRQ. The lock of a ring protects its lists
 * of events and the event->ring pointers to it. Setting event->ring also requires the
 * event's mmap_mutex, which serializes setters. A ring found under RCU stays allocated
 * until the RCU section ends.
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
	rcu_assign_pointer(event->ring, ring);	/* the NMI sees NULL or a complete ring */
}

static void detach(struct pmr_event *event, struct pmr_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	list_del_init(&event->attached);
	rcu_assign_pointer(event->ring, NULL);
}

/* Does @event write into @ring? Requires the lock of @ring. */
static bool is_attached(struct pmr_event *event, struct pmr_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	return rcu_access_pointer(event->ring) == ring;
}

/**
 * pmr_output_attach() - attach an event without a ring to one
 * @event: event; its mmap_mutex is held
 * @ring: ring; the caller's reference passes to the event
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
 * pmr_output_detach() - detach an event from its ring, if it has one
 * @event: event; its mmap_mutex is held, or its file is being released
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

/* Return: false if the list was empty. */
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
 * pmr_output_detach_all() - detach all events after the last mapping of a ring is gone
 * @ring: ring to which the caller holds a reference
 *
 * Context: task context, may sleep: thousands of events may write into one ring.
 */
void pmr_output_detach_all(struct pmr_ring *ring)
{
	might_sleep();
	while (detach_first(ring, &ring->writers))
		cond_resched();
	while (detach_first(ring, &ring->polled))
		cond_resched();
}

/* Return: the mapped ring of @target with a reference, or NULL. */
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
 * pmr_output_share() - redirect an event to the ring of another event
 * @event: event that is not mapped; its mmap_mutex is held
 * @target: event to which the caller holds a reference
 *
 * If the ring loses its last mapping during the call, the call succeeds and leaves @event
 * without a ring, as if the unmapping came second.
 *
 * Return: 0, or -EINVAL if @target has no mapped ring.
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
 * pmr_output_poll() - let the wake-ups of an event's ring reach its own readers
 * @event: event that is polled
 *
 * Many events may write into a ring, but few are ever polled. A wake-up visits only those.
 */
void pmr_output_poll(struct pmr_event *event)
{
	struct pmr_ring *ring;
	unsigned long flags;

	if (READ_ONCE(event->polled))
		return;
	mutex_lock(&event->mmap_mutex);		/* excludes attach, which reads polled */
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
 * pmr_output_wake() - wake the readers of an event and of all that share its ring
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
