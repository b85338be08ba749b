// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the protocol of ring/ring.c: what is reserved, published, dropped and
 * announced, and that nothing user space writes leads outside. Called by KUnit
 * in task context; nobody else writes into these rings.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "ring/ring.h"

#define LOST_SIZE	16

KUNIT_DEFINE_ACTION_WRAPPER(put_ring, pmr_ring_put, struct pmr_ring *);

static struct pmr_ring *keep(struct kunit *test, struct pmr_ring *ring)
{
	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_ring, ring), 0);
	return ring;
}

static struct pmr_ring *new_ring(struct kunit *test, unsigned int pages, u64 watermark,
				 bool overwrite)
{
	return keep(test, pmr_ring_alloc(pages, watermark, overwrite, false));
}

/* One record; true if it found room. */
static bool put_record(struct pmr_ring *ring, u32 size)
{
	struct pmr_ring_write write;

	if (!pmr_ring_begin(&write, ring, size, LOST_SIZE))
		return false;
	memset(write.pos, 0x5a, size + write.lost_size);
	pmr_ring_end(&write);
	return true;
}

static void read_all(struct pmr_ring *ring)
{
	ring->user_page->data_tail = ring->user_page->data_head;
}

/* Lets an empty ring be at @head, as if all before had been read. */
static void start_at(struct pmr_ring *ring, u64 head)
{
	local_set(&ring->head, head);
	local_set(&ring->wakeup, head);
	ring->user_page->data_head = head;
	ring->user_page->data_tail = head;
}

static void alloc_describes_itself(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 4, 0, false);

	KUNIT_EXPECT_EQ(test, ring->user_page->data_offset, 4096ULL);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_size, 16384ULL);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	KUNIT_EXPECT_EQ(test, ring->watermark, 8192ULL);
	KUNIT_EXPECT_EQ(test, pmr_ring_pages(ring), 5UL);
	KUNIT_EXPECT_EQ(test, new_ring(test, 1, 100, false)->watermark, 100ULL);
	KUNIT_EXPECT_EQ(test, new_ring(test, 1, 5000, false)->watermark, 4096ULL);
}

static void pages_are_those_of_the_data(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 2, 0, false);

	KUNIT_EXPECT_PTR_EQ(test, page_address(pmr_ring_page(ring, 0)), (void *)ring->user_page);
	strscpy(ring->data, "first", 8);
	strscpy(ring->data + 4096, "second", 8);
	KUNIT_EXPECT_STREQ(test, (char *)page_address(pmr_ring_page(ring, 1)), "first");
	KUNIT_EXPECT_STREQ(test, (char *)page_address(pmr_ring_page(ring, 2)), "second");
	KUNIT_EXPECT_NULL(test, pmr_ring_page(ring, 3));
	KUNIT_EXPECT_NULL(test, pmr_ring_page(ring, 4));
	KUNIT_EXPECT_NULL(test, pmr_ring_page(ring, ULONG_MAX));
}

static void data_is_mapped_twice(struct kunit *test)
{
	unsigned int pages;
	u64 *word;
	u64 i;

	for (pages = 1; pages <= 8; pages *= 2) {
		struct pmr_ring *ring = new_ring(test, pages, 0, false);

		word = ring->data;
		for (i = 0; i < ring->size / 8; i++)
			word[i] = i;
		KUNIT_EXPECT_MEMEQ(test, ring->data, ring->data + ring->size, ring->size);
		word[ring->size / 8] = 4711;
		KUNIT_EXPECT_EQ(test, word[0], 4711ULL);
	}
}

static void end_publishes(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	struct pmr_ring_write write;

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, write.pos, ring->data);
	KUNIT_EXPECT_EQ(test, write.lost_size, 0);
	KUNIT_EXPECT_EQ(test, write.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 24ULL);

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 8, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, write.pos, ring->data + 24);
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 32ULL);
}

static void a_record_across_the_wrap_is_whole(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 2, 0, false);
	struct pmr_ring_write write;
	u64 *start = ring->data;
	u64 *end = ring->data + 8184;

	start_at(ring, 3 * 8192 - 8);
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_ASSERT_PTR_EQ(test, write.pos, (void *)end);
	((u64 *)write.pos)[0] = 1;
	((u64 *)write.pos)[1] = 2;
	((u64 *)write.pos)[2] = 3;
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, *end, 1ULL);
	KUNIT_EXPECT_EQ(test, start[0], 2ULL);
	KUNIT_EXPECT_EQ(test, start[1], 3ULL);
	KUNIT_EXPECT_EQ(test, start[2], 0ULL);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 3 * 8192 + 16ULL);
	/* What has wrapped continues in the first mapping. */
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 8, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, write.pos, (void *)(start + 2));
	pmr_ring_end(&write);
}

/* One byte stays free, so 4088 of 4096 can be used. */
static void a_full_ring_takes_no_more(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	int i;

	for (i = 0; i < 170; i++)
		KUNIT_ASSERT_TRUE(test, put_record(ring, 24));
	KUNIT_EXPECT_TRUE(test, put_record(ring, 8));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 8));
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 4088ULL);
	KUNIT_EXPECT_EQ(test, local_read(&ring->head), 4088L);
	KUNIT_EXPECT_EQ(test, local_read(&ring->nest), 0L);
}

static void room_comes_back_with_the_tail(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);

	KUNIT_EXPECT_FALSE(test, put_record(ring, 4096));
	local_set(&ring->lost, 0);
	KUNIT_EXPECT_TRUE(test, put_record(ring, 4088));
	ring->user_page->data_tail = 40;
	KUNIT_EXPECT_TRUE(test, put_record(ring, 40));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 8));
}

static void only_the_outermost_publishes(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	struct pmr_ring_write task, irq, nmi;

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&task, ring, 16, LOST_SIZE));
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&irq, ring, 24, LOST_SIZE));
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&nmi, ring, 32, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, irq.pos, ring->data + 16);
	KUNIT_EXPECT_PTR_EQ(test, nmi.pos, ring->data + 40);
	pmr_ring_end(&nmi);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	pmr_ring_end(&irq);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&irq, ring, 8, LOST_SIZE));
	pmr_ring_end(&irq);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	pmr_ring_end(&task);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 80ULL);
	KUNIT_EXPECT_EQ(test, local_read(&ring->nest), 0L);
}

static void a_drop_inside_publishes_nothing(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	struct pmr_ring_write outer;

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&outer, ring, 4088, LOST_SIZE));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 8));
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	pmr_ring_end(&outer);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 4088ULL);
	KUNIT_EXPECT_EQ(test, local_read(&ring->lost), 1L);
}

static void drops_are_announced_once(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	struct pmr_ring_write write;

	KUNIT_ASSERT_TRUE(test, put_record(ring, 4080));
	KUNIT_EXPECT_FALSE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_TRUE(test, write.wake);
	KUNIT_EXPECT_FALSE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_FALSE(test, write.wake);
	/* It would fit, but not with the LOST record before it. */
	KUNIT_EXPECT_FALSE(test, pmr_ring_begin(&write, ring, 8, LOST_SIZE));
	KUNIT_EXPECT_EQ(test, local_read(&ring->head), 4080L);

	read_all(ring);
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_EQ(test, write.lost, 3ULL);
	KUNIT_EXPECT_EQ(test, write.lost_size, LOST_SIZE);
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 4080ULL + LOST_SIZE + 24);

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_EQ(test, write.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, write.lost_size, 0);
	pmr_ring_end(&write);
}

static void a_ring_without_data_loses_nothing(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 0, 0, false);
	struct pmr_ring_write write;

	KUNIT_EXPECT_EQ(test, ring->user_page->data_size, 0ULL);
	KUNIT_EXPECT_EQ(test, pmr_ring_pages(ring), 1UL);
	KUNIT_EXPECT_NULL(test, pmr_ring_page(ring, 1));
	KUNIT_EXPECT_FALSE(test, pmr_ring_begin(&write, ring, 8, LOST_SIZE));
	KUNIT_EXPECT_FALSE(test, write.wake);
	KUNIT_EXPECT_EQ(test, local_read(&ring->lost), 0L);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	KUNIT_EXPECT_EQ(test, local_read(&ring->nest), 0L);
}

static void a_paused_ring_counts_drops(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	struct pmr_ring_write write;

	ring->paused = true;
	KUNIT_EXPECT_FALSE(test, put_record(ring, 24));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 24));
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 0ULL);
	ring->paused = false;
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_EQ(test, write.lost, 2ULL);
	pmr_ring_end(&write);
}

static void overwriting_never_drops(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, true);
	int i;

	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_TRUE(test, put_record(ring, 24));
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, 24000ULL);
	KUNIT_EXPECT_EQ(test, local_read(&ring->lost), 0L);
	/* No record may run into itself. */
	KUNIT_EXPECT_TRUE(test, put_record(ring, 4088));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 4096));
}

/* Returns the number of the first of @records (of 24 bytes) that wakes, or 0. */
static int first_wake(struct pmr_ring *ring, int records)
{
	struct pmr_ring_write write;
	int i;

	for (i = 1; i <= records; i++) {
		if (!pmr_ring_begin(&write, ring, 24, LOST_SIZE))
			return -1;
		pmr_ring_end(&write);
		if (write.wake)
			return i;
	}
	return 0;
}

/* Woken when more than 100 bytes came since the last one: at 120, 216, 312, 408. */
/* The head falls from 0, and records lie upward from it, newest first. */
static void backward_grows_downward(struct kunit *test)
{
	struct pmr_ring *ring = keep(test, pmr_ring_alloc(1, 0, true, true));
	struct pmr_ring_write write;

	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 24, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, write.pos, ring->data + 4096 - 24);
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, -24ULL);
	KUNIT_ASSERT_TRUE(test, pmr_ring_begin(&write, ring, 40, LOST_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, write.pos, ring->data + 4096 - 64);
	pmr_ring_end(&write);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, -64ULL);
}

static void a_full_backward_ring_takes_no_more(struct kunit *test)
{
	struct pmr_ring *ring = keep(test, pmr_ring_alloc(1, 0, false, true));
	int i;

	for (i = 0; i < 127; i++)
		KUNIT_ASSERT_TRUE(test, put_record(ring, 32));
	KUNIT_EXPECT_FALSE(test, put_record(ring, 32));
	KUNIT_EXPECT_EQ(test, local_read(&ring->lost), 1L);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, -127 * 32ULL);
	ring->user_page->data_tail -= 64;
	/* Announced with the next one, which needs room for both. */
	KUNIT_EXPECT_TRUE(test, put_record(ring, 32));
	KUNIT_EXPECT_EQ(test, local_read(&ring->lost), 0L);
}

static void the_watermark_wakes(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 100, false);

	KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 5);
	KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 4);
	KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 4);
	KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 4);
	KUNIT_EXPECT_EQ(test, first_wake(ring, 3), 0);
	/* Half of the ring if the user names none: 2064 is the first above. */
	KUNIT_EXPECT_EQ(test, first_wake(new_ring(test, 1, 0, false), 100), 86);
}

static void positions_go_round(struct kunit *test)
{
	static const u64 starts[] = { -64ULL, S64_MAX - 63, U32_MAX - 63 };
	int i, n;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct pmr_ring *ring = new_ring(test, 1, 100, false);

		start_at(ring, starts[i]);
		KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 5);
		KUNIT_EXPECT_EQ(test, first_wake(ring, 50), 4);
		KUNIT_EXPECT_EQ(test, ring->user_page->data_head, starts[i] + 216);
		for (n = 0; n < 1000; n++, read_all(ring))
			KUNIT_ASSERT_TRUE(test, put_record(ring, 24));
	}
}

static void wakeup_events_count_samples(struct kunit *test)
{
	struct pmr_ring *ring = new_ring(test, 1, 0, false);
	int i;

	for (i = 1; i <= 9; i++)
		KUNIT_EXPECT_EQ_MSG(test, pmr_ring_count_sample(ring, 3), i % 3 == 0, "%d", i);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, pmr_ring_count_sample(ring, 0));
		KUNIT_EXPECT_TRUE(test, pmr_ring_count_sample(ring, 1));
	}
}

/* Whatever the tail says, a record starts in the first mapping and ends in the second. */
static void a_hostile_tail_leads_nowhere(struct kunit *test)
{
	struct perf_event_mmap_page *before = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct pmr_ring *ring = new_ring(test, 2, 0, false);
	struct pmr_ring_write write;
	struct rnd_state rnd;
	u64 head = 0, tail;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, before);
	prandom_seed_state(&rnd, 3);
	for (i = 0; i < 20000; i++) {
		const u64 tails[] = {
			0, head, head + 1, head - 1, head + 8192, head - 8192, ~0ULL, 1ULL << 63,
			prandom_u32_state(&rnd), (u64)prandom_u32_state(&rnd) << 32,
		};
		u32 size = 8 * (1 + prandom_u32_state(&rnd) % 1100);

		tail = tails[prandom_u32_state(&rnd) % ARRAY_SIZE(tails)];
		ring->user_page->data_tail = tail;
		memcpy(before, ring->user_page, PAGE_SIZE);
		if (pmr_ring_begin(&write, ring, size, LOST_SIZE)) {
			size += write.lost_size;
			KUNIT_ASSERT_PTR_EQ(test, write.pos, ring->data + head % 8192);
			KUNIT_ASSERT_LT(test, size, 8192);
			memset(write.pos, 0xa5, size);
			pmr_ring_end(&write);
			head += size;
		}
		before->data_head = head;
		KUNIT_ASSERT_EQ(test, local_read(&ring->nest), 0L);
		KUNIT_ASSERT_EQ(test, memcmp(before, ring->user_page, PAGE_SIZE), 0);
	}
	KUNIT_EXPECT_GT(test, head, 8192ULL);
	read_all(ring);
	KUNIT_EXPECT_TRUE(test, put_record(ring, 24));
}

/**
 * struct traffic - writers that interrupt each other, and one reader
 * @ring: what they share
 * @rnd: what they do
 * @produced: records that were to be written
 * @written: of these, found room
 * @read: records read
 * @lost: records announced as lost
 * @depth: writers that are between begin and end
 * @errors: what the reader found wrong
 */
struct traffic {
	struct pmr_ring *ring;
	struct rnd_state rnd;
	u64 produced;
	u64 written;
	u64 read;
	u64 lost;
	int depth;
	int errors;
};

/* A record is: its size, its number, its number again up to the end. */
static void fill(u64 *word, u32 size, u64 number)
{
	u32 i;

	word[0] = size;
	for (i = 1; i < size / 8; i++)
		word[i] = number;
}

static void produce(struct traffic *traffic)
{
	u32 size = 8 * (2 + prandom_u32_state(&traffic->rnd) % 30);
	u64 number = traffic->produced++;
	struct pmr_ring_write write;
	u64 published;

	if (!pmr_ring_begin(&write, traffic->ring, size, LOST_SIZE))
		return;
	traffic->written++;
	published = traffic->ring->user_page->data_head;
	traffic->depth++;
	while (traffic->depth < 3 && prandom_u32_state(&traffic->rnd) % 4 == 0)
		produce(traffic);
	traffic->depth--;
	if (traffic->ring->user_page->data_head != published)
		traffic->errors++;
	if (write.lost_size) {
		((u64 *)write.pos)[0] = 0;
		((u64 *)write.pos)[1] = write.lost;
		write.pos += LOST_SIZE;
	}
	fill(write.pos, size, number);
	pmr_ring_end(&write);
}

static u32 consume_one(struct traffic *traffic, const u64 *word)
{
	u64 expected = traffic->read + traffic->lost;
	u32 i;

	if (!word[0]) {
		traffic->lost += word[1];
		return LOST_SIZE;
	}
	for (i = 1; i < word[0] / 8; i++)
		if (word[i] != expected)
			traffic->errors++;
	traffic->read++;
	return word[0];
}

static void consume(struct traffic *traffic, u64 records)
{
	struct perf_event_mmap_page *page = traffic->ring->user_page;

	while (records-- && page->data_tail != page->data_head && !traffic->errors)
		page->data_tail += consume_one(traffic, traffic->ring->data +
						       page->data_tail % page->data_size);
}

/* The reader finds each record whole, in order, or announced as lost. */
static void written_and_lost_are_all(struct kunit *test)
{
	struct traffic traffic = { .ring = new_ring(test, 1, 0, false) };
	int i;

	prandom_seed_state(&traffic.rnd, 7);
	for (i = 0; i < 100000 && !traffic.errors; i++) {
		produce(&traffic);
		if (prandom_u32_state(&traffic.rnd) % 64 == 0)
			consume(&traffic, prandom_u32_state(&traffic.rnd) % 60);
	}
	consume(&traffic, U64_MAX);
	KUNIT_EXPECT_EQ(test, traffic.errors, 0);
	KUNIT_EXPECT_EQ(test, traffic.read, traffic.written);
	KUNIT_EXPECT_GT(test, traffic.written, 10000ULL);
	KUNIT_EXPECT_GT(test, traffic.lost, 10000ULL);
	KUNIT_EXPECT_EQ(test, traffic.written + traffic.lost + local_read(&traffic.ring->lost),
			traffic.produced);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(alloc_describes_itself),
	KUNIT_CASE(pages_are_those_of_the_data),
	KUNIT_CASE(data_is_mapped_twice),
	KUNIT_CASE(end_publishes),
	KUNIT_CASE(a_record_across_the_wrap_is_whole),
	KUNIT_CASE(a_full_ring_takes_no_more),
	KUNIT_CASE(room_comes_back_with_the_tail),
	KUNIT_CASE(only_the_outermost_publishes),
	KUNIT_CASE(a_drop_inside_publishes_nothing),
	KUNIT_CASE(drops_are_announced_once),
	KUNIT_CASE(a_ring_without_data_loses_nothing),
	KUNIT_CASE(a_paused_ring_counts_drops),
	KUNIT_CASE(overwriting_never_drops),
	KUNIT_CASE(backward_grows_downward),
	KUNIT_CASE(a_full_backward_ring_takes_no_more),
	KUNIT_CASE(the_watermark_wakes),
	KUNIT_CASE(positions_go_round),
	KUNIT_CASE(wakeup_events_count_samples),
	KUNIT_CASE(a_hostile_tail_leads_nowhere),
	KUNIT_CASE(written_and_lost_are_all),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "pmuring_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
