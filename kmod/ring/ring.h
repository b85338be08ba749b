/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring: memory that the kernel writes records into and user space reads
 * them from. It knows nothing of events; it carries bytes, free-running
 * positions, and the number of records that found no room.
 */
#ifndef PMR_RING_H
#define PMR_RING_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/perf_event.h>
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
 * @watermark: unread bytes that wake the reader
 * @overwrite: the mapping is read-only, so nobody moves data_tail: the
 *	newest records overwrite the oldest
 * @paused: PERF_EVENT_IOC_PAUSE_OUTPUT: records are counted as lost
 * @head: where the next record goes; runs freely, is masked on use
 * @nest: writers on this CPU that have begun and not ended
 * @wakeup: position up to which the reader has been woken
 * @events: samples since the last wakeup by attr.wakeup_events
 * @lost: records dropped since the last one that was announced
 * @poll: EPOLLIN is due to the next poll()
 * @pages: the data pages, linked by their lru field
 * @ref: the event and each mapping hold one
 * @free_work: frees the memory after a grace period, in task context
 */
struct pmr_ring {
	struct perf_event_mmap_page *user_page;
	void *data;
	u64 size;
	u64 watermark;
	bool overwrite;
	bool paused;
	local_t head;
	unsigned int nest;
	local_t wakeup;
	local_t events;
	local_t lost;
	atomic_t poll;
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

struct pmr_ring *pmr_ring_alloc(unsigned int data_pages, u64 watermark, bool overwrite);
void pmr_ring_get(struct pmr_ring *ring);
void pmr_ring_put(struct pmr_ring *ring);
struct page *pmr_ring_page(struct pmr_ring *ring, unsigned long pgoff);
unsigned long pmr_ring_pages(const struct pmr_ring *ring);

bool pmr_ring_begin(struct pmr_ring_write *write, struct pmr_ring *ring, u32 size, u32 lost_size);
void pmr_ring_end(struct pmr_ring_write *write);
bool pmr_ring_count_sample(struct pmr_ring *ring, u32 wakeup_events);

int pmr_ring_init(void);
void pmr_ring_exit(void);

#endif /* PMR_RING_H */
