/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reader's side of a perf ring in user space: mapping it, taking records
 * out in order, and giving the room back. One thread at a time per ring.
 *
 *	while (ring_next(&ring, &rec) > 0)
 *		handle(rec);
 *	ring_release(&ring);
 */
#ifndef PMURING_LIB_RING_READER_H
#define PMURING_LIB_RING_READER_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/**
 * struct ring - a mapped ring
 * @page: the header page, shared with the kernel
 * @data: the data pages
 * @size: their bytes, a power of two
 * @map_size: bytes of the whole mapping
 * @tail: where the next unread record begins; runs freely, masked on use
 * @whole: room for one record that wraps around the end
 */
struct ring {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t size;
	size_t map_size;
	uint64_t tail;
	unsigned char *whole;
};

int ring_map(struct ring *ring, int fd, size_t data_pages);
void ring_unmap(struct ring *ring);
uint64_t ring_head(const struct ring *ring);
int ring_next(struct ring *ring, const struct perf_event_header **rec);
int ring_spans(const struct ring *ring, uint64_t head, struct iovec iov[2]);
void ring_release(struct ring *ring);

#endif
