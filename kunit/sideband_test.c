// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the layout of sideband records (sample/sideband.c) and of the READ field
 * (sample/read.c) against words worked out by hand from perf_event.h. Called by
 * KUnit in task context.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "core/context.h"
#include "sample/sideband.h"

#define ID		0x5152535455565758ULL
#define TIME		0x4142434445464748ULL

/* sample_type: TIME | IDENTIFIER; both are in the trailer */
#define TYPES		0x10004ULL

KUNIT_DEFINE_ACTION_WRAPPER(put_ring, pmr_ring_put, struct pmr_ring *);

static u64 fake_clock(void)
{
	return TIME;
}

/* A CPU's, and one of this task */
static struct pmr_context nobodys, mine;

static void no_wake(struct irq_work *work)
{
}

static int sideband_init(struct kunit *test)
{
	pmr_context_init(&nobodys);
	pmr_context_init(&mine);
	return 0;
}

static struct pmr_event *new_event(struct kunit *test)
{
	struct pmr_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct pmr_ring *ring = pmr_ring_alloc(1, 0, false, false);

	KUNIT_ASSERT_NOT_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_ring, ring), 0);
	KUNIT_ASSERT_NOT_NULL(test, event);
	event->attr.sample_type = TYPES;
	event->attr.sample_id_all = 1;
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	event->plan.clock = fake_clock;
	event->top = event;
	event->leader = event;
	event->context = &nobodys;
	INIT_LIST_HEAD(&event->siblings);
	event->id = ID;
	init_irq_work(&event->work, no_wake);
	RCU_INIT_POINTER(event->ring, ring);
	return event;
}

static void expect(struct kunit *test, const struct pmr_event *event, const u64 *want,
		   size_t size)
{
	const struct pmr_ring *ring = rcu_dereference_protected(event->ring, true);

	KUNIT_ASSERT_EQ(test, ring->user_page->data_head, (u64)size);
	KUNIT_EXPECT_MEMEQ(test, (u64 *)ring->data, want, size);
}

#define EXPECT(test, event, want) expect(test, event, want, sizeof(want))

static u64 this_task(void)
{
	return (u32)current->tgid | (u64)current->pid << 32;
}

static const struct pmr_mmap mapping = {
	.start = 0x400000,
	.length = 0x3000,
	.offset = 0x1000,
	.major = 8,
	.minor = 3,
	.inode = 0x123456789,
	.generation = 0x77,
	.prot = PROT_READ | PROT_EXEC,
	.flags = MAP_PRIVATE,
	.name = "/bin/program\0\0\0",
	.name_size = 16,
};

#define NAME_1	0x6f72702f6e69622fULL	/* "/bin/pro" */
#define NAME_2	0x000000006d617267ULL	/* "gram" */

/* type 1, misc 2 (user), size 72 */
static void mmap_record(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	const u64 want[] = {
		0x0048000200000001, this_task(), 0x400000, 0x3000, 0x1000, NAME_1, NAME_2,
		TIME, ID,
	};
	unsigned long flags;

	event->attr.mmap = 1;
	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_mmap_output(event, &mapping);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

/* type 10, misc 2 (user) and bit 13 (no code), size 104 */
static void mmap2_record(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	const u64 want[] = {
		0x006820020000000a, this_task(), 0x400000, 0x3000, 0x1000,
		0x0000000300000008, 0x123456789, 0x77, 0x0000000100000003,
		NAME_1, NAME_2, TIME, ID,
	};
	struct pmr_mmap data = mapping;
	unsigned long flags;

	event->attr.mmap2 = 1;
	data.prot = PROT_READ | PROT_WRITE;
	data.flags = MAP_SHARED;
	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_mmap_output(event, &data);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

/* type 3; misc bit 13: by an exec. The name and its zero fill whole words. */
static void comm_record(struct kunit *test)
{
	static const char seven[TASK_COMM_LEN] = "abcdefg", eight[TASK_COMM_LEN] = "abcdefgh";
	struct pmr_event *event = new_event(test);
	const u64 want[] = {
		0x0028000000000003, this_task(), 0x0067666564636261, TIME, ID,
		0x0030200000000003, this_task(), 0x6867666564636261, 0, TIME, ID,
	};
	unsigned long flags;

	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_comm_output(event, current, seven, false);
	pmr_comm_output(event, current, eight, true);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

/* FORK is type 7: pid, ppid, tid, ptid, time. EXIT, type 4, has the parent's pid twice. */
static void fork_and_exit_records(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	u64 parent = task_ppid_nr(current);
	u64 pid = (u32)current->tgid, tid = (u32)current->pid;
	const u64 want[] = {
		0x0030000000000007, pid | pid << 32, tid | tid << 32, TIME, TIME, ID,
		0x0030000000000004, pid | parent << 32, tid | parent << 32, TIME, TIME, ID,
	};
	unsigned long flags;

	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_fork_output(event, current);
	pmr_exit_output(event, current);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

/* The time in FORK needs no PERF_SAMPLE_TIME. */
static void fork_always_has_a_time(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	u64 pid = (u32)current->tgid, tid = (u32)current->pid;
	const u64 want[] = { 0x0020000000000007, pid | pid << 32, tid | tid << 32, TIME };
	unsigned long flags;

	event->attr.sample_type = 0;
	event->attr.sample_id_all = 0;
	pmr_sample_plan(&event->plan, &event->attr, &init_pid_ns);
	event->plan.clock = fake_clock;
	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_fork_output(event, current);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

/* SWITCH is type 14, of a task's event; SWITCH_CPU_WIDE type 15, with the other task. */
static void switch_records(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	const u64 want[] = {
		0x0018200000000000 | 14, TIME, ID,
		0x0020600000000000 | 15, this_task(), TIME, ID,
	};
	unsigned long flags;

	mine.task = current;
	event->context = &mine;
	raw_spin_lock_irqsave(&mine.lock, flags);
	pmr_switch_output(event, current, current, PERF_RECORD_MISC_SWITCH_OUT);
	raw_spin_unlock_irqrestore(&mine.lock, flags);
	event->context = &nobodys;
	raw_spin_lock_irqsave(&nobodys.lock, flags);
	pmr_switch_output(event, current, current, PERF_RECORD_MISC_SWITCH_OUT |
			  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	raw_spin_unlock_irqrestore(&nobodys.lock, flags);
	EXPECT(test, event, want);
}

static u64 live_count(const struct pmr_hw *hw)
{
	return hw->count + 0x1000;
}

static const struct pmr_pmu fake_pmu = { .software = true, .count = live_count };

/**
 * struct group - a leader and its sibling
 * @context: theirs; out, at time 500
 * @leader: active since time 300
 * @sibling: likewise, the child of an event with id 22
 * @original: that event
 */
struct group {
	struct pmr_context context;
	struct pmr_event leader;
	struct pmr_event sibling;
	struct pmr_event original;
};

static struct group *new_group(struct kunit *test, u64 format)
{
	struct group *group = kunit_kzalloc(test, sizeof(*group), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, group);
	group->context.on_cpu = -1;
	group->context.time = 500;
	group->leader = (struct pmr_event) {
		.hw = { .pmu = &fake_pmu, .count = 107, .base = 7 },
		.id = 11, .lost = 5, .state = PMR_STATE_ACTIVE, .context = &group->context,
		.top = &group->leader, .leader = &group->leader,
		.since = 300, .enabled = 70, .running = 40,
		.child_enabled = 10000, .child_running = 20000,
		.attr.read_format = format,
	};
	group->original.id = 22;
	group->sibling = (struct pmr_event) {
		.hw = { .pmu = &fake_pmu, .count = 209, .base = 9 },
		.id = 33, .state = PMR_STATE_ACTIVE, .context = &group->context,
		.top = &group->original, .leader = &group->leader,
		.since = 300, .enabled = 71, .running = 41,
		.attr.read_format = format,
	};
	INIT_LIST_HEAD(&group->leader.siblings);
	list_add(&group->sibling.siblings, &group->leader.siblings);
	group->leader.nr_siblings = 1;
	return group;
}

static void expect_read(struct kunit *test, struct pmr_event *event, const u64 *want,
			unsigned int words)
{
	struct pmr_read read;
	u64 out[16] = { }, *end;
	unsigned long flags;
	u32 size;

	local_irq_save(flags);
	size = pmr_read_begin(&read, event);
	end = pmr_read_write(out, &read);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, size, words * 8);
	KUNIT_EXPECT_PTR_EQ(test, end, out + words);
	KUNIT_EXPECT_MEMEQ(test, out, want, words * 8);
}

/* read_format: 1 enabled, 2 running, 4 id, 8 group, 16 lost */
static void read_of_one(struct kunit *test)
{
	struct group *group = new_group(test, 0);
	u64 format;

	for (format = 0; format < 32; format++) {
		unsigned int words = 0;
		u64 want[5];

		if (format & 8)
			continue;
		want[words++] = 100;
		if (format & 1)
			want[words++] = 10270;
		if (format & 2)
			want[words++] = 20240;
		if (format & 4)
			want[words++] = 11;
		if (format & 16)
			want[words++] = 5;
		group->leader.attr.read_format = format;
		expect_read(test, &group->leader, want, words);
	}
}

/* Who is not the reader is read now; ids are those of the originals. */
static void read_of_a_group(struct kunit *test)
{
	struct group *group = new_group(test, 0);
	u64 format;

	for (format = 8; format < 32; format++) {
		unsigned int words = 0;
		u64 want[9];

		if (!(format & 8))
			continue;
		want[words++] = 2;
		if (format & 1)
			want[words++] = 270;
		if (format & 2)
			want[words++] = 240;
		want[words++] = 100;
		if (format & 4)
			want[words++] = 11;
		if (format & 16)
			want[words++] = 5;
		want[words++] = 0x1000 + 200;
		if (format & 4)
			want[words++] = 22;
		if (format & 16)
			want[words++] = 0;
		group->leader.attr.read_format = format;
		expect_read(test, &group->leader, want, words);
	}
}

static void read_by_a_sibling(struct kunit *test)
{
	static const u64 want[] = { 2, 271, 241, 0x1000 + 100, 200 };
	struct group *group = new_group(test, 8 | 1 | 2);

	expect_read(test, &group->sibling, want, ARRAY_SIZE(want));
}

/* One that is not counting has the count it had, and its times stand still. */
static void read_of_the_stopped(struct kunit *test)
{
	static const u64 want[] = { 2, 70, 40, 100, 200 };
	struct group *group = new_group(test, 8 | 1 | 2);

	group->leader.state = PMR_STATE_EXIT;
	group->sibling.state = PMR_STATE_INACTIVE;
	expect_read(test, &group->leader, want, ARRAY_SIZE(want));
}

/* READ is type 8: pid, tid, the field. */
static void read_record(struct kunit *test)
{
	struct pmr_event *event = new_event(test);
	const u64 want[] = { 0x0030000000000008, this_task(), 300, ID, TIME, ID };
	unsigned long flags;

	event->hw.pmu = &fake_pmu;
	event->hw.count = 300;
	event->state = PMR_STATE_EXIT;
	mine.task = current;
	event->context = &mine;
	event->attr.read_format = 4;
	raw_spin_lock_irqsave(&event->context->lock, flags);
	pmr_read_note_pids(event);
	pmr_read_output(event);
	raw_spin_unlock_irqrestore(&event->context->lock, flags);
	EXPECT(test, event, want);
}

static struct kunit_case sideband_cases[] = {
	KUNIT_CASE(mmap_record),
	KUNIT_CASE(mmap2_record),
	KUNIT_CASE(comm_record),
	KUNIT_CASE(fork_and_exit_records),
	KUNIT_CASE(fork_always_has_a_time),
	KUNIT_CASE(switch_records),
	KUNIT_CASE(read_of_one),
	KUNIT_CASE(read_of_a_group),
	KUNIT_CASE(read_by_a_sibling),
	KUNIT_CASE(read_of_the_stopped),
	KUNIT_CASE(read_record),
	{}
};

static struct kunit_suite sideband_suite = {
	.name = "pmuring_sideband",
	.init = sideband_init,
	.test_cases = sideband_cases,
};

kunit_test_suite(sideband_suite);
