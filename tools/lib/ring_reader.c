// SPDX-License-Identifier: GPL-2.0
/*
 * The reader's side of a perf ring. The kernel writes records and then
 * data_head; we read data_head (acquire), the records, and then write
 * data_tail (release). Both are free-running, so their difference is the unread data.
 * Called by the tool, the tests and the bench, one thread per ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring_reader.h"

/* header.size is 16 bits wide */
#define RECORD_MAX	65536

/**
 * ring_map - map the ring of an event
 * @ring: filled in
 * @fd: the event
 * @data_pages: a power of two
 *
 * Return: 0, or -1 with errno
 */
int ring_map(struct ring *ring, int fd, size_t data_pages)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	size_t map_size = (data_pages + 1) * page_size;
	void *map, *whole = malloc(RECORD_MAX);

	if (!whole)
		return -1;
	map = mmap(NULL, map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		free(whole);
		return -1;
	}
	*ring = (struct ring){
		.page = map,
		.data = (unsigned char *)map + page_size,
		.size = data_pages * page_size,
		.map_size = map_size,
		.whole = whole,
	};
	/* a second mapping of a ring starts at the first reader's position */
	ring->tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	return 0;
}

/**
 * ring_unmap - let go of a ring
 * @ring: mapped, or all zero
 */
void ring_unmap(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->map_size);
	free(ring->whole);
	memset(ring, 0, sizeof(*ring));
}

/**
 * ring_head - where the kernel will write next
 * @ring: mapped
 *
 * Records before the returned position are complete and visible.
 *
 * Return: the free-running head
 */
uint64_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/**
 * ring_spans - the unread bytes, without copying them
 * @ring: mapped
 * @head: from ring_head()
 * @iov: one or two pieces; whole records from the first byte to the last
 *
 * Return: how many pieces, 0 to 2
 */
int ring_spans(const struct ring *ring, uint64_t head, struct iovec iov[2])
{
	uint64_t at = ring->tail & (ring->size - 1);
	uint64_t len = head - ring->tail;
	uint64_t first = len < ring->size - at ? len : ring->size - at;

	if (!len)
		return 0;
	iov[0].iov_base = (void *)(ring->data + at);
	iov[0].iov_len = first;
	iov[1].iov_base = (void *)ring->data;
	iov[1].iov_len = len - first;
	return len == first ? 1 : 2;
}

/**
 * ring_next - take the next record
 * @ring: mapped
 * @rec: the record, whole; valid until the next ring_next() or ring_release()
 *
 * The space is not released before ring_release().
 *
 * Return: 1 with a record, 0 when there is none, -1 with EBADMSG when the ring
 * holds something other than a record
 */
int ring_next(struct ring *ring, const struct perf_event_header **rec)
{
	const struct perf_event_header *hdr;
	uint64_t unread = ring_head(ring) - ring->tail;
	uint64_t at = ring->tail & (ring->size - 1);
	uint64_t first;

	if (!unread)
		return 0;
	/* records are 8-byte aligned, so a header never wraps */
	hdr = (const void *)(ring->data + at);
	if (unread > ring->size || hdr->size < sizeof(*hdr) ||
	    hdr->size % 8 || hdr->size > unread) {
		errno = EBADMSG;
		return -1;
	}
	ring->tail += hdr->size;
	first = ring->size - at;
	if (hdr->size > first) {
		size_t size = hdr->size;

		memcpy(ring->whole, hdr, first);
		memcpy(ring->whole + first, ring->data, size - first);
		hdr = (const void *)ring->whole;
	}
	*rec = hdr;
	return 1;
}

/**
 * ring_release - release the space of all records read so far
 * @ring: mapped
 */
void ring_release(struct ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
