// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the layout of records in sample/sample.c against bytes worked out by
 * hand from perf_event.h (enum perf_event_type). Called by KUnit in task
 * context.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/timekeeping.h>
#include <asm/segment.h>

#include "sample/sample.h"

/* The fields of this floor by their bits in sample_type */
#define IP		0x1ULL
#define TID		0x2ULL
#define TIME		0x4ULL
#define ID		0x40ULL
#define CPU		0x80ULL
#define PERIOD		0x100ULL
#define STREAM_ID	0x200ULL
#define IDENTIFIER	0x10000ULL

static const struct pmr_sample sample = {
	.ip = 0x1112131415161718,
	.pid = 0x21222324,
	.tid = 0x31323334,
	.time = 0x4142434445464748,
	.id = 0x5152535455565758,
	.cpu = 0x61626364,
	.period = 0x7172737475767778,
};

#define IP_BYTES	"\x18\x17\x16\x15\x14\x13\x12\x11"
#define TID_BYTES	"\x24\x23\x22\x21\x34\x33\x32\x31"
#define TIME_BYTES	"\x48\x47\x46\x45\x44\x43\x42\x41"
#define ID_BYTES	"\x58\x57\x56\x55\x54\x53\x52\x51"
#define CPU_BYTES	"\x64\x63\x62\x61\0\0\0\0"
#define PERIOD_BYTES	"\x78\x77\x76\x75\x74\x73\x72\x71"

/**
 * struct field - one field
 * @type: its bit
 * @bytes: what it looks like
 */
struct field {
	u64 type;
	u8 bytes[8];
};

/* In the order of PERF_RECORD_SAMPLE */
static const struct field body[] = {
	{ IDENTIFIER, ID_BYTES },
	{ IP, IP_BYTES },
	{ TID, TID_BYTES },
	{ TIME, TIME_BYTES },
	{ ID, ID_BYTES },
	{ STREAM_ID, ID_BYTES },
	{ CPU, CPU_BYTES },
	{ PERIOD, PERIOD_BYTES },
};

/* In the order of struct sample_id */
static const struct field trailer[] = {
	{ TID, TID_BYTES },
	{ TIME, TIME_BYTES },
	{ ID, ID_BYTES },
	{ STREAM_ID, ID_BYTES },
	{ CPU, CPU_BYTES },
	{ IDENTIFIER, ID_BYTES },
};

typedef u64 *(*write_fn)(u64 *pos, u64 sample_type, const struct pmr_sample *sample);

/* Bytes that @write writes; nothing may be touched behind them. */
static size_t write_into(struct kunit *test, write_fn write, u64 types, u8 *out, size_t size)
{
	size_t length;
	u8 *end;

	memset(out, 0xee, size);
	end = (u8 *)write((u64 *)out, types, &sample);
	length = end - out;
	KUNIT_ASSERT_LE(test, length, size);
	KUNIT_EXPECT_NULL(test, memchr_inv(end, 0xee, size - length));
	return length;
}

static void each_field_alone(struct kunit *test)
{
	u64 out[10];
	int i;

	for (i = 0; i < ARRAY_SIZE(body); i++) {
		KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, body[i].type, (u8 *)out,
						 sizeof(out)), 8);
		KUNIT_EXPECT_MEMEQ(test, (u8 *)out, body[i].bytes, 8);
	}
	for (i = 0; i < ARRAY_SIZE(trailer); i++) {
		KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write_id, trailer[i].type,
						 (u8 *)out, sizeof(out)), 8);
		KUNIT_EXPECT_MEMEQ(test, (u8 *)out, trailer[i].bytes, 8);
	}
}

static void all_fields_together(struct kunit *test)
{
	static const u8 whole_body[] =
		ID_BYTES IP_BYTES TID_BYTES TIME_BYTES ID_BYTES ID_BYTES CPU_BYTES PERIOD_BYTES;
	static const u8 whole_trailer[] =
		TID_BYTES TIME_BYTES ID_BYTES ID_BYTES CPU_BYTES ID_BYTES;
	u64 out[10];

	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, 0x103c7, (u8 *)out, sizeof(out)),
			64);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)out, whole_body, 64);
	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write_id, 0x103c7, (u8 *)out,
					 sizeof(out)), 48);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)out, whole_trailer, 48);
}

static void other_fields_are_left_out(struct kunit *test)
{
	u64 out[10];

	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, ~0x103c7ULL, (u8 *)out,
					 sizeof(out)), 0);
	/* IP and PERIOD are no part of the trailer. */
	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write_id, ~0x103c7ULL | IP | PERIOD,
					 (u8 *)out, sizeof(out)), 0);
}

/* Combination @n of the eight fields as sample_type */
static u64 combination(int n)
{
	u64 types = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(body); i++)
		if (n & BIT(i))
			types |= body[i].type;
	return types;
}

static size_t expected(u8 *out, const struct field *fields, int number, u64 types)
{
	size_t length = 0;
	int i;

	for (i = 0; i < number; i++) {
		if (!(types & fields[i].type))
			continue;
		memcpy(out + length, fields[i].bytes, 8);
		length += 8;
	}
	return length;
}

static void every_combination_has_its_plan(struct kunit *test)
{
	u64 out[10];
	u8 want[64];
	int n;

	for (n = 0; n < 256; n++) {
		struct perf_event_attr attr = { .sample_type = combination(n), .sample_id_all = 1 };
		struct pmr_plan plan = { };
		size_t length;

		pmr_sample_plan(&plan, &attr, &init_pid_ns);
		length = expected(want, body, ARRAY_SIZE(body), attr.sample_type);
		KUNIT_ASSERT_EQ(test, write_into(test, pmr_sample_write, plan.sample_type,
						 (u8 *)out, sizeof(out)), length);
		KUNIT_ASSERT_MEMEQ(test, (u8 *)out, want, length);
		KUNIT_ASSERT_EQ(test, plan.sample_size, 8 + length);

		length = expected(want, trailer, ARRAY_SIZE(trailer), attr.sample_type);
		KUNIT_ASSERT_EQ(test, write_into(test, pmr_sample_write_id, plan.sample_type,
						 (u8 *)out, sizeof(out)), length);
		KUNIT_ASSERT_MEMEQ(test, (u8 *)out, want, length);
		KUNIT_ASSERT_EQ(test, plan.id_size, length);
		KUNIT_ASSERT_EQ(test, plan.lost_size, 24 + length);
		KUNIT_ASSERT_EQ(test, plan.throttle_size, 32 + length);
	}
}

static void no_trailer_unless_asked_for(struct kunit *test)
{
	struct perf_event_attr attr = { .sample_type = 0x103c7 };
	struct pmr_plan plan = { };

	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_EQ(test, plan.sample_size, 72);
	KUNIT_EXPECT_EQ(test, plan.id_size, 0);
	KUNIT_EXPECT_EQ(test, plan.lost_size, 24);
	KUNIT_EXPECT_EQ(test, plan.throttle_size, 32);
}

static void the_plan_knows_the_clock(struct kunit *test)
{
	struct perf_event_attr attr = { .clockid = CLOCK_MONOTONIC };
	struct pmr_plan plan = { };

	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, NULL);
	attr.use_clockid = 1;
	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, &ktime_get_mono_fast_ns);
	attr.clockid = CLOCK_MONOTONIC_RAW;
	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, &ktime_get_raw_fast_ns);
}

KUNIT_DEFINE_ACTION_WRAPPER(put_ring, pmr_ring_put, struct pmr_ring *);

static atomic_t wakes;

static void count_wake(struct irq_work *work)
{
	atomic_inc(&wakes);
}

static u64 fake_clock(void)
{
	return 0x4142434445464748;
}

/* An event that writes all fields into a ring of one page, and is on no counter */
static struct pmr_event *new_event(struct kunit *test, u64 types, bool id_all)
{
	struct pmr_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct pmr_ring *ring = pmr_ring_alloc(1, 0, false);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_ring, ring), 0);
	KUNIT_ASSERT_NOT_NULL(test, event);
	event->attr.sample_type = types;
	event->attr.sample_id_all = id_all;
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	event->plan.clock = fake_clock;
	event->id = 0x5152535455565758;
	event->hw.last_period = 0x7172737475767778;
	init_irq_work(&event->wake, count_wake);
	atomic_set(&wakes, 0);
	RCU_INIT_POINTER(event->ring, ring);
	return event;
}

static struct pmr_ring *ring_of(const struct pmr_event *event)
{
	return rcu_dereference_protected(event->ring, true);
}

/* As from an NMI: on one CPU, which is returned */
static u32 write_sample(struct pmr_event *event, unsigned long cs)
{
	struct pt_regs regs = { .ip = 0x1112131415161718, .cs = cs };
	unsigned long flags;
	u32 cpu;

	local_irq_save(flags);
	cpu = smp_processor_id();
	pmr_sample_output(event, &regs);
	local_irq_restore(flags);
	irq_work_sync(&event->wake);
	return cpu;
}

static u32 write_throttle(struct pmr_event *event, bool throttle)
{
	unsigned long flags;
	u32 cpu;

	local_irq_save(flags);
	cpu = smp_processor_id();
	pmr_throttle_output(event, throttle);
	local_irq_restore(flags);
	irq_work_sync(&event->wake);
	return cpu;
}

static u64 this_task(void)
{
	return (u32)current->tgid | (u64)current->pid << 32;
}

/* type 9, misc 2 (user), size 72 */
static void a_sample_of_user_space(struct kunit *test)
{
	struct pmr_event *event = new_event(test, 0x103c7, true);
	u32 cpu = write_sample(event, __USER_CS);
	const u64 want[] = {
		0x0048000200000009, 0x5152535455565758, 0x1112131415161718, this_task(),
		0x4142434445464748, 0x5152535455565758, 0x5152535455565758, cpu,
		0x7172737475767778,
	};

	KUNIT_EXPECT_EQ(test, ring_of(event)->user_page->data_head, 72ULL);
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring_of(event)->data, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 0);
}

/* type 9, misc 1 (kernel), size 16 */
static void a_sample_of_the_kernel(struct kunit *test)
{
	static const u64 want[] = {
		0x0010000100000009, 0x1112131415161718, 0x0010000100000009, 0,
	};
	struct pmr_event *event = new_event(test, IP, false);

	write_sample(event, __KERNEL_CS);
	event->plan.hide_kernel = true;
	write_sample(event, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, ring_of(event)->user_page->data_head, 32ULL);
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring_of(event)->data, want, sizeof(want));
}

/* What hides the kernel hides no user space. */
static void user_space_is_never_hidden(struct kunit *test)
{
	struct pmr_event *event = new_event(test, IP, false);

	event->plan.hide_kernel = true;
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, ((u64 *)ring_of(event)->data)[1], 0x1112131415161718ULL);
}

/* LOST is type 2: header, id, lost, trailer; its misc is 0. */
static void a_loss_is_told_before_the_next_sample(struct kunit *test)
{
	struct pmr_event *event = new_event(test, IP | TIME | IDENTIFIER, true);
	static const u64 want[] = {
		0x0028000000000002, 0x5152535455565758, 2, 0x4142434445464748,
		0x5152535455565758,
		0x0020000200000009, 0x5152535455565758, 0x1112131415161718, 0x4142434445464748,
	};
	struct pmr_ring *ring = ring_of(event);

	ring->paused = true;
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 1);
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 1);
	KUNIT_EXPECT_EQ(test, event->lost, 2ULL);
	ring->paused = false;
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, (u64)sizeof(want));
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring->data, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, event->lost, 2ULL);
}

/* THROTTLE is type 5, UNTHROTTLE 6: header, time, id, stream id, trailer. */
static void throttling_is_told(struct kunit *test)
{
	struct pmr_event *event = new_event(test, IP | TID | TIME | CPU, true);
	u32 first = write_throttle(event, true);
	u32 second = write_throttle(event, false);
	const u64 want[] = {
		0x0038000000000005, 0x4142434445464748, 0x5152535455565758, 0x5152535455565758,
		this_task(), 0x4142434445464748, first,
		0x0038000000000006, 0x4142434445464748, 0x5152535455565758, 0x5152535455565758,
		this_task(), 0x4142434445464748, second,
	};

	KUNIT_EXPECT_EQ(test, ring_of(event)->user_page->data_head, (u64)sizeof(want));
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring_of(event)->data, want, sizeof(want));
}

static void wakeup_events_wake(struct kunit *test)
{
	struct pmr_event *event = new_event(test, IP, false);
	int i;

	event->attr.wakeup_events = 2;
	for (i = 1; i <= 4; i++) {
		write_sample(event, __USER_CS);
		KUNIT_EXPECT_EQ(test, atomic_read(&wakes), i / 2);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&ring_of(event)->poll), 1);
	/* The same word is a number of bytes once attr.watermark says so. */
	event->attr.watermark = 1;
	write_sample(event, __USER_CS);
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 2);
}

static void without_a_ring_nothing_happens(struct kunit *test)
{
	struct pmr_event *event = new_event(test, IP, false);

	RCU_INIT_POINTER(event->ring, NULL);
	write_sample(event, __USER_CS);
	write_throttle(event, true);
	KUNIT_EXPECT_EQ(test, event->lost, 0ULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 0);
}

static struct kunit_case sample_cases[] = {
	KUNIT_CASE(each_field_alone),
	KUNIT_CASE(all_fields_together),
	KUNIT_CASE(other_fields_are_left_out),
	KUNIT_CASE(every_combination_has_its_plan),
	KUNIT_CASE(no_trailer_unless_asked_for),
	KUNIT_CASE(the_plan_knows_the_clock),
	KUNIT_CASE(a_sample_of_user_space),
	KUNIT_CASE(a_sample_of_the_kernel),
	KUNIT_CASE(user_space_is_never_hidden),
	KUNIT_CASE(a_loss_is_told_before_the_next_sample),
	KUNIT_CASE(throttling_is_told),
	KUNIT_CASE(wakeup_events_wake),
	KUNIT_CASE(without_a_ring_nothing_happens),
	{}
};

static struct kunit_suite sample_suite = {
	.name = "pmuring_sample",
	.test_cases = sample_cases,
};

kunit_test_suite(sample_suite);
