// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the link between events and rings: an event writes into the ring that it
 * was mapped with, or into another's (PERF_EVENT_IOC_SET_OUTPUT), and who reads
 * any of the events of a ring is woken by all of them.
 *
 * Task context, but for pmr_output_wake(): hard IRQ. All take output_lock, with
 * interrupts off.
 */
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "core/output.h"

/*
 * Protects the ring of each event and the list of each ring, against each other:
 * whoever is on the list writes into the ring, and nobody else. Links change
 * rarely, so one lock does for all. wait_queue locks are taken inside.
 */
static DEFINE_SPINLOCK(output_lock);

static struct pmr_ring *ring_of(struct pmr_event *event)
{
	return rcu_dereference_protected(event->ring, lockdep_is_held(&output_lock));
}

static void attach(struct pmr_event *event, struct pmr_ring *ring)
{
	list_add_tail(&event->attached, &ring->writers);
	rcu_assign_pointer(event->ring, ring);	/* the NMI sees it whole or not at all */
}

/* Return: the ring, with the reference that the event had. */
static struct pmr_ring *detach(struct pmr_event *event)
{
	struct pmr_ring *ring = ring_of(event);

	if (ring) {
		list_del_init(&event->attached);
		rcu_assign_pointer(event->ring, NULL);
	}
	return ring;
}

/**
 * pmr_output_attach() - let an event without a ring write into one
 * @event: event
 * @ring: ring; the event gets the caller's reference
 */
void pmr_output_attach(struct pmr_event *event, struct pmr_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	attach(event, ring);
	spin_unlock_irqrestore(&output_lock, flags);
}

/**
 * pmr_output_detach() - records of an event have nowhere to go any more
 * @event: event
 */
void pmr_output_detach(struct pmr_event *event)
{
	struct pmr_ring *ring;
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	ring = detach(event);
	spin_unlock_irqrestore(&output_lock, flags);
	pmr_ring_put(ring);	/* frees after a grace period: an NMI may be writing */
}

/**
 * pmr_output_detach_all() - the last mapping of a ring is gone
 * @ring: ring to which the caller holds a reference
 */
void pmr_output_detach_all(struct pmr_ring *ring)
{
	struct pmr_event *event, *next;
	unsigned int references = 0;
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	list_for_each_entry_safe(event, next, &ring->writers, attached) {
		detach(event);
		references++;
	}
	spin_unlock_irqrestore(&output_lock, flags);
	while (references--)
		pmr_ring_put(ring);
}

/**
 * pmr_output_share() - let an event write into the ring of another
 * @event: event that is not mapped
 * @target: the other, to which the caller holds a reference
 *
 * Return: 0, or -EINVAL if @target has no ring, or it lost its last mapping.
 */
int pmr_output_share(struct pmr_event *event, struct pmr_event *target)
{
	struct pmr_ring *ring, *old = NULL;
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	ring = ring_of(target);
	if (ring) {
		pmr_ring_get(ring);
		old = detach(event);
		attach(event, ring);
	}
	spin_unlock_irqrestore(&output_lock, flags);
	pmr_ring_put(old);
	return ring ? 0 : -EINVAL;
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
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	ring = ring_of(event);
	if (ring)
		pmr_ring_get(ring);
	spin_unlock_irqrestore(&output_lock, flags);
	return ring;
}

/**
 * pmr_output_wake() - wake all who poll an event or one that shares its ring
 * @event: event
 */
void pmr_output_wake(struct pmr_event *event)
{
	struct pmr_event *writer;
	struct pmr_ring *ring;
	unsigned long flags;

	spin_lock_irqsave(&output_lock, flags);
	ring = ring_of(event);
	if (ring)
		list_for_each_entry(writer, &ring->writers, attached)
			wake_up_all(&writer->waitq);
	spin_unlock_irqrestore(&output_lock, flags);
	wake_up_all(&event->waitq);
}
