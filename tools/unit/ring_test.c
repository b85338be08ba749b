// SPDX-License-Identifier: GPL-2.0
/*
 * The ring reader on a hand-made ring: wrap, positions beyond the size, and malformed
 * records. Run on the host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring_reader.h"
#include "tap.h"

#define SIZE	4096

static struct perf_event_mmap_page page;
static _Alignas(8) unsigned char data[SIZE];

static struct ring make_ring(uint64_t at)
{
	struct ring ring = { .page = &page, .data = data, .size = SIZE, .tail = at };

	ring.whole = malloc(65536);
	memset(&page, 0, sizeof(page));
	page.data_head = at;
	page.data_tail = at;
	return ring;
}

/* write a record of @size bytes, filled with @fill after the header */
static void put(uint64_t *at, uint16_t size, unsigned char fill)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = size };

	for (size_t i = 0; i < size; i++)
		data[(*at + i) % SIZE] = i < sizeof(header) ? ((unsigned char *)&header)[i] : fill;
	*at += size;
}

static bool filled(const struct perf_event_header *rec, unsigned char fill)
{
	const unsigned char *bytes = (const unsigned char *)rec;

	for (size_t i = sizeof(*rec); i < rec->size; i++)
		if (bytes[i] != fill)
			return false;
	return true;
}

static void test_records_from(uint64_t start, const char *where)
{
	struct ring ring = make_ring(start);
	const struct perf_event_header *rec = NULL;
	uint64_t at = start;
	struct iovec iov[2];

	put(&at, 48, 1);
	put(&at, 56, 2);
	is(ring_next(&ring, &rec), 0, "%s: nothing before the head moves", where);
	page.data_head = at;
	ring_spans(&ring, at, iov);
	is(iov[0].iov_len + (iov[0].iov_len < 104 ? iov[1].iov_len : 0), 104,
	   "%s: the spans hold both records", where);
	ok(ring_next(&ring, &rec) == 1 && rec->size == 48 && filled(rec, 1),
	   "%s: first record whole", where);
	ok(ring_next(&ring, &rec) == 1 && rec->size == 56 && filled(rec, 2),
	   "%s: second record whole", where);
	is(page.data_tail, start, "%s: nothing is given back before release", where);
	ring_release(&ring);
	is(page.data_tail, at, "%s: release moves the tail to the head, not masked", where);
	free(ring.whole);
}

static void test_bad_record(uint16_t size, uint64_t head, const char *what)
{
	struct ring ring = make_ring(0);
	const struct perf_event_header *rec;
	uint64_t at = 0;

	memset(data, 0, sizeof(data));
	put(&at, 8, 0);
	((struct perf_event_header *)data)->size = size;
	page.data_head = head;
	errno = 0;
	ok(ring_next(&ring, &rec) == -1 && errno == EBADMSG, "refused: %s", what);
	is(ring.tail, 0, "and not stepped over: %s", what);
	free(ring.whole);
}

int main(void)
{
	plan(4 * 6 + 4 * 2);
	test_records_from(0, "start");
	test_records_from(SIZE - 16, "wrap");
	test_records_from((1ULL << 32) - 16, "beyond 4 GiB");
	test_records_from(-16ULL, "head wraps around 2^64");
	test_bad_record(0, 64, "size 0");
	test_bad_record(12, 64, "size not aligned");
	test_bad_record(128, 64, "longer than what is unread");
	test_bad_record(48, 2 * SIZE, "head further away than the ring is long");
	return done();
}
