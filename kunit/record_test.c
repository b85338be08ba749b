// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the way of samples, losses and throttle records into the ring
 * (sample/sample.c, sample/record.c) against words worked out by hand from
 * perf_event.h. Called by KUnit in task context.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <asm/segment.h>

#include "core/context.h"
#include "sample/common_sample.h"

/* Fields by their bits in sample_type */
#define IP		0x1ULL
#define TID		0x2ULL
#define TIME		0x4ULL
#define ADDR		0x8ULL
#define ID		0x40ULL
#define CPU		0x80ULL
#define PERIOD		0x100ULL
#define STREAM_ID	0x200ULL
#define IDENTIFIER	0x10000ULL

KUNIT_DEFINE_ACTION_WRAPPER(put_ring, pmr_ring_put, struct pmr_ring *);

/* That of a CPU */
static struct pmr_context nobodys;

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
	struct pmr_ring *ring = pmr_ring_alloc(1, 0, false, false);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_ring, ring), 0);
	KUNIT_ASSERT_NOT_NULL(test, event);
	event->attr.sample_type = types;
	event->attr.sample_id_all = id_all;
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	event->plan.clock = fake_clock;
	event->top = event;
	event->context = &nobodys;
	event->id = 0x5152535455565758;
	event->hw.pmu = &pmr_software_pmu;
	event->hw.last_period = 0x7172737475767778;
	init_irq_work(&event->work, count_wake);
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
	pmr_sample_output(event, event->top, &regs);
	local_irq_restore(flags);
	irq_work_sync(&event->top->work);
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
	irq_work_sync(&event->work);
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

/* A copy writes into the ring of what it is a copy of, with both ids. */
static void a_copy_writes_as_its_original(struct kunit *test)
{
	struct pmr_event *top = new_event(test, ID | STREAM_ID | IDENTIFIER, true);
	struct pmr_event *copy = kunit_kzalloc(test, sizeof(*copy), GFP_KERNEL);
	static const u64 want[] = {
		0x0030000000000002, 0x5152535455565758, 1, 0x5152535455565758,
		0x5152535455565758, 0x5152535455565758,
		0x0020000200000009, 0x5152535455565758, 0x5152535455565758, 0x51,
	};
	struct pmr_ring *ring = ring_of(top);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	copy->top = top;
	copy->context = &nobodys;
	copy->id = 0x51;
	copy->hw.pmu = &pmr_software_pmu;
	ring->paused = true;
	write_sample(copy, __USER_CS);
	KUNIT_EXPECT_EQ(test, top->lost, 1ULL);
	KUNIT_EXPECT_EQ(test, copy->lost, 0ULL);
	KUNIT_EXPECT_TRUE(test, test_bit(PMR_PENDING_WAKE, &top->pending));
	ring->paused = false;
	write_sample(copy, __USER_CS);
	/* The trailer of LOST has the original's id three times. */
	KUNIT_EXPECT_EQ(test, ring->user_page->data_head, (u64)sizeof(want));
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring->data, want, sizeof(want));
}

/* The address of a fault is the software event's; a counter's bits are not it. */
static void only_software_events_have_an_address(struct kunit *test)
{
	static const struct pmr_pmu hardware;
	struct pmr_event *event = new_event(test, ADDR, false);
	const u64 *data = ring_of(event)->data;

	event->hw.addr = 0x8182838485868788;
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, data[0], 0x0010000200000009ULL);
	KUNIT_EXPECT_EQ(test, data[1], 0x8182838485868788ULL);
	event->hw.pmu = &hardware;
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, data[3], 0ULL);
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
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	for (i = 1; i <= 4; i++) {
		write_sample(event, __USER_CS);
		KUNIT_EXPECT_EQ(test, atomic_read(&wakes), i / 2);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&ring_of(event)->poll), 1);
	/* The same word is a number of bytes once attr.watermark says so. */
	event->attr.watermark = 1;
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	write_sample(event, __USER_CS);
	write_sample(event, __USER_CS);
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 2);
}

/* The newest record is where the head points to, the older ones lie behind it. */
static void backward_records_lie_newest_first(struct kunit *test)
{
	struct pmr_ring *ring = pmr_ring_alloc(1, 2048, true, true);
	struct pmr_event *event = new_event(test, PERIOD, false);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_ring, ring), 0);
	RCU_INIT_POINTER(event->ring, ring);
	for (i = 1; i <= 300; i++) {
		const u64 *newest;

		event->hw.last_period = i;
		write_sample(event, __USER_CS);
		KUNIT_ASSERT_EQ(test, ring->user_page->data_head, -16ULL * i);
		newest = ring->data + (-16 * i & 4095);
		KUNIT_ASSERT_EQ(test, newest[0], 0x0010000200000009ULL);
		KUNIT_ASSERT_EQ(test, newest[1], (u64)i);
		if (i > 1)
			KUNIT_ASSERT_EQ(test, newest[3], (u64)i - 1);
	}
	/* each time that more than 2048 bytes have come */
	KUNIT_EXPECT_EQ(test, atomic_read(&wakes), 2);
	KUNIT_EXPECT_EQ(test, event->lost, 0ULL);
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

static struct kunit_case record_cases[] = {
	KUNIT_CASE(a_sample_of_user_space),
	KUNIT_CASE(a_sample_of_the_kernel),
	KUNIT_CASE(user_space_is_never_hidden),
	KUNIT_CASE(a_copy_writes_as_its_original),
	KUNIT_CASE(only_software_events_have_an_address),
	KUNIT_CASE(a_loss_is_told_before_the_next_sample),
	KUNIT_CASE(throttling_is_told),
	KUNIT_CASE(wakeup_events_wake),
	KUNIT_CASE(backward_records_lie_newest_first),
	KUNIT_CASE(without_a_ring_nothing_happens),
	{}
};

static struct kunit_suite record_suite = {
	.name = "pmuring_record",
	.test_cases = record_cases,
};

kunit_test_suite(record_suite);
