/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring: memory that the kernel writes records into and user space reads
 * them from. It knows nothing of events; it carries bytes, free-running
 * positions, and the number of records that found no room.
 *
 * The protocol is inline, because each sample passes through it in the NMI.
 * pmr_ring_begin() and pmr_ring_end(): any context including NMI, with
 * interrupts off or from an NMI, so that the writers of one ring nest (task <
 * IRQ < NMI on one CPU) and never overlap otherwise. No locks.
 *
 * Kernel and reader meet in four accesses:
 *
 *	kernel (writer)				user space (reader)
 *
 *	A: load-acquire data_tail		C: load-acquire data_head
 *	   store the record			   load the records
 *	B: store-release data_head		D: store-release data_tail
 *
 * A pairs with D: what is overwritten has been read before its room was given
 * back. B pairs with C: a reader that sees the head sees all bytes below it.
 */
#ifndef PMR_RING_H
#define PMR_RING_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <asm/local.h>

/**
 * struct pmr_ring - one ring and its user page
 * @user_page: the page that is mapped first, shared with user space
 * @data: kernel address of the data; the same pages follow once more behind
 *	the last one, so that a record never has to be split at the wrap
 * @size: bytes of data, a power of two of pages, or 0: the user page only,
 *	every record is dropped and none is counted as lost
 * @mask: @size - 1
 * @watermark: unread bytes that wake the reader
 * @overwrite: the mapping is read-only, so nobody moves data_tail: the
 *	newest records overwrite the oldest
 * @paused: PERF_EVENT_IOC_PAUSE_OUTPUT: records are counted as lost
 * @backward: records are written downward from 0, so that the newest one
 *	begins at the head (attr.write_backward)
 * @no_data: @size is 0
 * @unusual: any of the four above
 * @head: where the next record goes; runs freely, is masked on use
 * @nest: writers on this CPU that have begun and not ended
 * @wakeup: position up to which the reader has been woken
 * @events: samples since the last wakeup by attr.wakeup_events
 * @lost: records dropped since the last one that was announced
 * @poll: EPOLLIN is due to the next poll()
 * @lock: protects @writers, @polled and @unmapped; the core's, as these are
 * @writers: events that write into it and were never polled
 * @polled: events that write into it and have been polled
 * @unmapped: the last mapping is gone, no event may be added
 * @pages: the data pages, linked by their lru field
 * @ref: held by each event that writes into it
 * @free_work: frees the memory after a grace period, in task context
 */
struct pmr_ring {
	struct perf_event_mmap_page *user_page;
	void *data;
	u64 size;
	u64 mask;
	u64 watermark;
	union {	/* one question instead of four */
		struct {
			bool overwrite;
			bool paused;
			bool backward;
			bool no_data;
		};
		u32 unusual;
	};
	local_t head;
	local_t nest;
	local_t wakeup;
	local_t events;
	local_t lost;
	atomic_t poll;
	spinlock_t lock;	/* protects writers, polled and unmapped */
	struct list_head writers;
	struct list_head polled;
	bool unmapped;
	struct list_head pages;
	struct kref ref;
	struct rcu_work free_work;
};

/**
 * struct pmr_ring_write - a reservation between begin and end
 * @ring: where it was made
 * @pos: address of the first byte to write
 * @lost: if not 0, the reservation starts with room for a LOST record that
 *	has to announce this many records
 * @lost_size: bytes of that room
 * @wake: the reader is due to be woken
 */
struct pmr_ring_write {
	struct pmr_ring *ring;
	void *pos;
	u64 lost;
	u32 lost_size;
	bool wake;
};

struct pmr_ring *pmr_ring_alloc(unsigned int data_pages, u64 watermark, bool overwrite,
				bool backward);
void pmr_ring_get(struct pmr_ring *ring);
void pmr_ring_put(struct pmr_ring *ring);
struct page *pmr_ring_page(struct pmr_ring *ring, unsigned long pgoff);
unsigned long pmr_ring_pages(const struct pmr_ring *ring);

bool pmr_ring_drop(struct pmr_ring *ring);
bool pmr_ring_begin(struct pmr_ring_write *write, struct pmr_ring *ring, u32 size, u32 lost_size);

int pmr_ring_init(void);
void pmr_ring_exit(void);

/*
 * One byte always stays free, because readers that compare masked positions
 * take equal for empty. Whatever user space writes into data_tail, the result
 * lies between 0 and size - 1: a wrong tail costs samples, nothing else.
 */
static __always_inline u64 pmr_ring_room(const struct pmr_ring *ring, u64 head)
{
	u64 tail = smp_load_acquire(&ring->user_page->data_tail);	/* A, pairs with D */

	return (tail - head - 1) & ring->mask;
}

/* @gone: how far the head has gone, in either direction */
static __always_inline void pmr_ring_check_watermark(struct pmr_ring_write *write, long gone)
{
	struct pmr_ring *ring = write->ring;

	if (likely(gone - local_read(&ring->wakeup) <= (long)ring->watermark))
		return;
	local_add(ring->watermark, &ring->wakeup);
	write->wake = true;
}

/* Forward, and the reader moves the tail. */
static __always_inline bool pmr_ring_reserve(struct pmr_ring_write *write, u32 size)
{
	struct pmr_ring *ring = write->ring;
	long head;

	do {
		head = local_read(&ring->head);
		if (unlikely(pmr_ring_room(ring, head) < size))
			return false;
	} while (local_cmpxchg(&ring->head, head, head + size) != head);
	pmr_ring_check_watermark(write, head + size);
	write->pos = ring->data + (head & ring->mask);
	return true;
}

/*
 * Publishes the head unless this writer interrupted another one, which has
 * reserved below and not yet written: then that one will publish.
 */
static __always_inline void pmr_ring_publish(struct pmr_ring *ring)
{
	long head;

	if (local_read(&ring->nest) > 1) {
		local_dec(&ring->nest);
		return;
	}
	for (;;) {
		head = local_read(&ring->head);
		smp_store_release(&ring->user_page->data_head, head);	/* B, pairs with C */
		barrier();	/* an NMI from here on publishes for itself */
		local_set(&ring->nest, 0);
		barrier();	/* read head again only after that */
		if (likely(local_read(&ring->head) == head))
			return;
		local_set(&ring->nest, 1);
		barrier();	/* an NMI from here on leaves publishing to us */
	}
}

static __always_inline void pmr_ring_write_init(struct pmr_ring_write *write,
						struct pmr_ring *ring, u32 lost_size)
{
	write->ring = ring;
	write->lost = 0;
	write->lost_size = unlikely(local_read(&ring->lost)) ? lost_size : 0;
	write->wake = false;
}

/**
 * pmr_ring_begin_usual() - pmr_ring_begin() for a ring that is not @unusual
 * @write: reservation, filled in
 * @ring: ring, with data, written forward, read and not paused
 * @size: bytes of the record, a multiple of 8
 * @lost_size: bytes of the LOST record that precedes it if records were
 *	dropped before
 *
 * Return: as pmr_ring_begin().
 */
static __always_inline bool pmr_ring_begin_usual(struct pmr_ring_write *write,
						 struct pmr_ring *ring, u32 size, u32 lost_size)
{
	pmr_ring_write_init(write, ring, lost_size);
	local_inc(&ring->nest);
	barrier();	/* nest before reserve: an NMI must see that we began */
	if (unlikely(!pmr_ring_reserve(write, size + write->lost_size))) {
		pmr_ring_publish(ring);
		write->wake = pmr_ring_drop(ring);
		return false;
	}
	if (unlikely(write->lost_size))
		write->lost = local_xchg(&ring->lost, 0);
	return true;
}

/**
 * pmr_ring_end() - the record is written
 * @write: reservation of a pmr_ring_begin() that returned true
 *
 * Afterwards @write->wake tells whether the reader is due to be woken.
 */
static __always_inline void pmr_ring_end(struct pmr_ring_write *write)
{
	pmr_ring_publish(write->ring);
}

/**
 * pmr_ring_count_sample() - count a sample for attr.wakeup_events
 * @ring: ring
 * @wakeup_events: wake the reader each time after that many, 0 for never
 *
 * Return: true if the reader is due to be woken.
 */
static __always_inline bool pmr_ring_count_sample(struct pmr_ring *ring, u32 wakeup_events)
{
	if (!wakeup_events || local_inc_return(&ring->events) < wakeup_events)
		return false;
	local_sub(wakeup_events, &ring->events);
	return true;
}

#endif /* PMR_RING_H */
