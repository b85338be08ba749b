// SPDX-License-Identifier: GPL-2.0
/*
 * Owns ring memory. How records get into it is in ring.h, where the NMI path
 * can be compiled in one piece; what few rings are is here.
 *
 * Task context, may sleep; pmr_ring_put() any context but NMI; pmr_ring_drop() any
 * context; pmr_ring_begin() as ring.h has it. No locks.
 */
#include <linux/bug.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring/ring.h"

static struct workqueue_struct *free_queue;

static void free_pages_of(struct pmr_ring *ring)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &ring->pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
}

static void free_ring(struct pmr_ring *ring)
{
	if (ring->data)
		vunmap(ring->data);
	free_pages_of(ring);
	if (ring->user_page)
		free_page((unsigned long)ring->user_page);
	kfree(ring);
}

/* Maps the pages of @ring twice in a row, see struct pmr_ring. */
static int map_twice(struct pmr_ring *ring, unsigned int pages)
{
	struct page **twice, *page;
	unsigned int i = 0;

	twice = kvmalloc_array(2 * pages, sizeof(*twice), GFP_KERNEL);
	if (!twice)
		return -ENOMEM;
	list_for_each_entry(page, &ring->pages, lru) {
		twice[i] = page;
		twice[i + pages] = page;
		i++;
	}
	ring->data = vmap(twice, 2 * pages, VM_MAP, PAGE_KERNEL);
	kvfree(twice);
	return ring->data ? 0 : -ENOMEM;
}

static int alloc_data(struct pmr_ring *ring, unsigned int pages)
{
	struct page *page;
	unsigned int i;

	for (i = 0; i < pages; i++) {
		/*
		 * Order 0: each page is mapped and given back on its own. A
		 * size that memory cannot hold is the caller's to ask for and
		 * no reason for a report in the log or for the OOM killer.
		 */
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN |
				  __GFP_RETRY_MAYFAIL);
		if (!page)
			return -ENOMEM;
		list_add_tail(&page->lru, &ring->pages);
	}
	return pages ? map_twice(ring, pages) : 0;
}

/**
 * pmr_ring_alloc() - make a ring
 * @data_pages: data pages, a power of two, or 0
 * @watermark: unread bytes that wake the reader; 0 stands for half of the
 *	ring, more than the ring for all of it (as attr.wakeup_watermark)
 * @overwrite: see struct pmr_ring
 * @backward: see struct pmr_ring
 *
 * Task context, may sleep. Return: the ring with one reference, or NULL.
 */
struct pmr_ring *pmr_ring_alloc(unsigned int data_pages, u64 watermark, bool overwrite,
				bool backward)
{
	struct pmr_ring *ring;

	might_sleep();
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return NULL;
	INIT_LIST_HEAD(&ring->pages);
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->writers);
	INIT_LIST_HEAD(&ring->polled);
	kref_init(&ring->ref);
	ring->user_page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!ring->user_page || alloc_data(ring, data_pages)) {
		free_ring(ring);
		return NULL;
	}
	ring->size = (u64)data_pages << PAGE_SHIFT;
	ring->mask = ring->size - 1;
	ring->no_data = !ring->size;
	ring->overwrite = overwrite;
	ring->backward = backward;
	ring->watermark = watermark ? min(watermark, ring->size) : ring->size / 2;
	ring->user_page->data_offset = PAGE_SIZE;
	ring->user_page->data_size = ring->size;
	return ring;
}

static void free_worker(struct work_struct *work)
{
	free_ring(container_of(to_rcu_work(work), struct pmr_ring, free_work));
}

static void free_later(struct kref *ref)
{
	struct pmr_ring *ring = container_of(ref, struct pmr_ring, ref);

	/* An NMI may still be writing; the grace period outlasts it. */
	INIT_RCU_WORK(&ring->free_work, free_worker);
	queue_rcu_work(free_queue, &ring->free_work);
}

/**
 * pmr_ring_get() - take a reference
 * @ring: ring to which somebody holds one
 */
void pmr_ring_get(struct pmr_ring *ring)
{
	kref_get(&ring->ref);
}

/**
 * pmr_ring_put() - drop a reference
 * @ring: ring or NULL
 *
 * Any context but NMI. The last reference frees the memory, after a grace
 * period and in task context.
 */
void pmr_ring_put(struct pmr_ring *ring)
{
	WARN_ON_ONCE(in_nmi());
	if (ring)
		kref_put(&ring->ref, free_later);
}

/**
 * pmr_ring_pages() - size of the mapping in pages, user page included
 * @ring: ring
 */
unsigned long pmr_ring_pages(const struct pmr_ring *ring)
{
	return 1 + (ring->size >> PAGE_SHIFT);
}

/**
 * pmr_ring_page() - the page behind an offset of the mapping
 * @ring: ring
 * @pgoff: 0 for the user page, 1 for the first data page
 *
 * Return: the page, or NULL behind the end.
 */
struct page *pmr_ring_page(struct pmr_ring *ring, unsigned long pgoff)
{
	if (!pgoff)
		return virt_to_page(ring->user_page);
	if (pgoff >= pmr_ring_pages(ring))
		return NULL;
	return vmalloc_to_page(ring->data + ((pgoff - 1) << PAGE_SHIFT));
}

/**
 * pmr_ring_drop() - account a record that found no room
 * @ring: ring
 *
 * A reader may sleep through its watermark when the ring never fills that far;
 * it must not sleep through a loss as well, so the first one wakes it.
 *
 * Return: true if the reader is due to be woken.
 */
bool pmr_ring_drop(struct pmr_ring *ring)
{
	return local_inc_return(&ring->lost) == 1;
}

static u64 room_of(const struct pmr_ring *ring, u64 head)
{
	u64 tail;

	if (ring->overwrite)
		return ring->mask;
	if (!ring->backward)
		return pmr_ring_room(ring, head);
	tail = smp_load_acquire(&ring->user_page->data_tail);	/* A, pairs with D */
	return (head - tail - 1) & ring->mask;
}

/* Backward, the head falls from 0. */
static bool reserve_unusual(struct pmr_ring_write *write, u32 size)
{
	struct pmr_ring *ring = write->ring;
	long head, next;

	do {
		head = local_read(&ring->head);
		next = ring->backward ? head - size : head + size;
		if (room_of(ring, head) < size)
			return false;
	} while (local_cmpxchg(&ring->head, head, next) != head);
	pmr_ring_check_watermark(write, ring->backward ? -next : next);
	write->pos = ring->data + ((ring->backward ? next : head) & ring->mask);
	return true;
}

static bool begin_unusual(struct pmr_ring_write *write, struct pmr_ring *ring, u32 size,
			  u32 lost_size)
{
	pmr_ring_write_init(write, ring, lost_size);
	if (ring->no_data)
		return false;
	if (READ_ONCE(ring->paused)) {
		write->wake = pmr_ring_drop(ring);
		return false;
	}
	local_inc(&ring->nest);
	barrier();	/* nest before reserve: an NMI must see that we began */
	if (!reserve_unusual(write, size + write->lost_size)) {
		pmr_ring_publish(ring);
		write->wake = pmr_ring_drop(ring);
		return false;
	}
	if (write->lost_size)
		write->lost = local_xchg(&ring->lost, 0);
	return true;
}

/**
 * pmr_ring_begin() - reserve room for one record
 * @write: reservation, filled in
 * @ring: ring
 * @size: bytes of the record, a multiple of 8
 * @lost_size: bytes of the LOST record that precedes it if records were
 *	dropped before
 *
 * Return: true if there is room: the caller fills it and calls
 * pmr_ring_end(). Otherwise the record is dropped and counted, the
 * reservation must not be ended, and only @write->wake is valid.
 */
bool pmr_ring_begin(struct pmr_ring_write *write, struct pmr_ring *ring, u32 size, u32 lost_size)
{
	return READ_ONCE(ring->unusual) ? begin_unusual(write, ring, size, lost_size) :
					  pmr_ring_begin_usual(write, ring, size, lost_size);
}

/**
 * pmr_ring_init() - make what frees rings
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_ring_init(void)
{
	free_queue = alloc_workqueue("pmuring_free", 0, 0);
	return free_queue ? 0 : -ENOMEM;
}

/**
 * pmr_ring_exit() - wait until every ring is freed
 *
 * Task context, after the last pmr_ring_put().
 */
void pmr_ring_exit(void)
{
	rcu_barrier();	/* no ring may still be on its way into the queue */
	destroy_workqueue(free_queue);
}
