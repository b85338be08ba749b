// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the layout of sideband records (perf_event.h, enum perf_event_type):
 * MMAP, MMAP2, COMM, FORK, EXIT, SWITCH, SWITCH_CPU_WIDE, READ.
 *
 * Called by core/sideband.c on the event's CPU with interrupts off, the event's
 * context locked; SWITCH under the runqueue lock as well. Takes RCU.
 */
#include <linux/align.h>
#include <linux/lockdep.h>
#include <linux/mman.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "core/context.h"
#include "sample/record.h"
#include "sample/sideband.h"

static u64 pids(const struct pmr_event *event, struct task_struct *task)
{
	return pmr_two_words(pmr_record_pid(event->top, task, PIDTYPE_TGID),
			     pmr_record_pid(event->top, task, PIDTYPE_PID));
}

static u64 *begin(struct pmr_record *record, struct pmr_event *event,
		  const struct perf_event_header *header, struct task_struct *task)
{
	lockdep_assert_held(&event->context->lock);
	return pmr_record_begin(record, event, header, task);
}

/* Bytes of a record whose body has that many words. */
static u32 record_size(u32 words)
{
	return sizeof(struct perf_event_header) + words * sizeof(u64);
}

#define MMAP_WORDS	4
#define MMAP2_WORDS	(MMAP_WORDS + 4)

/**
 * pmr_mmap_output() - write a PERF_RECORD_MMAP or MMAP2
 * @event: event that gets it
 * @mmap: what current has mapped
 */
void pmr_mmap_output(struct pmr_event *event, const struct pmr_mmap *mmap)
{
	bool second = event->attr.mmap2;
	const struct perf_event_header header = {
		.type = second ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
		.misc = PERF_RECORD_MISC_USER |
			(mmap->prot & PROT_EXEC ? 0 : PERF_RECORD_MISC_MMAP_DATA),
		.size = record_size(second ? MMAP2_WORDS : MMAP_WORDS) + mmap->name_size,
	};
	struct pmr_record record;
	u64 *pos = begin(&record, event, &header, current);

	if (!pos)
		return;
	*pos++ = pids(event, current);
	*pos++ = mmap->start;
	*pos++ = mmap->length;
	*pos++ = mmap->offset;
	if (second) {
		*pos++ = pmr_two_words(mmap->major, mmap->minor);
		*pos++ = mmap->inode;
		*pos++ = mmap->generation;
		*pos++ = pmr_two_words(mmap->prot, mmap->flags);
	}
	memcpy(pos, mmap->name, mmap->name_size);
	pmr_record_end(&record, pos + mmap->name_size / sizeof(u64));
}

/**
 * pmr_comm_output() - write a PERF_RECORD_COMM
 * @event: event that gets it
 * @task: who has a new name
 * @comm: TASK_COMM_LEN bytes: the name, zeros behind it
 * @exec: it has it from an exec
 */
void pmr_comm_output(struct pmr_event *event, struct task_struct *task, const char *comm,
		     bool exec)
{
	u32 size = ALIGN(strnlen(comm, TASK_COMM_LEN - 1) + 1, sizeof(u64));
	const struct perf_event_header header = {
		.type = PERF_RECORD_COMM,
		.misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
		.size = record_size(1) + size,
	};
	struct pmr_record record;
	u64 *pos = begin(&record, event, &header, current);

	if (!pos)
		return;
	*pos++ = pids(event, task);
	memcpy(pos, comm, size);
	pmr_record_end(&record, pos + size / sizeof(u64));
}

/* FORK and EXIT: whose, and the time, whether or not the trailer has one. */
static void output_task(struct pmr_event *event, u32 type, struct task_struct *task, u64 parent)
{
	const struct perf_event_header header = { .type = type, .size = record_size(3) };
	struct pmr_record record;
	u64 *pos = begin(&record, event, &header, current);
	u64 whose = pids(event, task);

	if (!pos)
		return;
	*pos++ = pmr_two_words(lower_32_bits(whose), lower_32_bits(parent));
	*pos++ = pmr_two_words(upper_32_bits(whose), upper_32_bits(parent));
	*pos++ = record.sample.time ?: pmr_record_clock(record.top);
	pmr_record_end(&record, pos);
}

/**
 * pmr_fork_output() - write a PERF_RECORD_FORK
 * @event: event that gets it
 * @child: new task of current
 */
void pmr_fork_output(struct pmr_event *event, struct task_struct *child)
{
	output_task(event, PERF_RECORD_FORK, child, pids(event, current));
}

/**
 * pmr_exit_output() - write a PERF_RECORD_EXIT
 * @event: event that gets it
 * @task: task that ends
 *
 * The parent's thread is not told: perf has the process twice.
 */
void pmr_exit_output(struct pmr_event *event, struct task_struct *task)
{
	u32 parent;

	rcu_read_lock();
	parent = pmr_record_pid(event->top, rcu_dereference(task->real_parent), PIDTYPE_TGID);
	rcu_read_unlock();
	output_task(event, PERF_RECORD_EXIT, task, pmr_two_words(parent, parent));
}

/**
 * pmr_switch_output() - write a PERF_RECORD_SWITCH or SWITCH_CPU_WIDE
 * @event: event that gets it
 * @task: who leaves the CPU, or comes
 * @other: who comes after it, or was there before; told to a CPU's event only
 * @misc: PERF_RECORD_MISC_SWITCH_*
 */
void pmr_switch_output(struct pmr_event *event, struct task_struct *task,
		       struct task_struct *other, u16 misc)
{
	bool cpu_wide = !event->context->task;
	const struct perf_event_header header = {
		.type = cpu_wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH,
		.misc = misc,
		.size = record_size(cpu_wide),
	};
	struct pmr_record record;
	u64 *pos = begin(&record, event, &header, task);

	if (!pos)
		return;
	if (cpu_wide)
		*pos++ = pids(event, other);
	pmr_record_end(&record, pos);
}

/**
 * pmr_read_note_pids() - remember the pids that a READ record will have
 * @copy: inherited event whose task ends, or execs
 */
void pmr_read_note_pids(struct pmr_event *copy)
{
	struct task_struct *task = copy->context->task;

	copy->end_pid = pmr_record_pid(copy->top, task, PIDTYPE_TGID);
	copy->end_tid = pmr_record_pid(copy->top, task, PIDTYPE_PID);
}

/**
 * pmr_read_output() - write a PERF_RECORD_READ
 * @copy: inherited event that has ended, its pids noted
 */
void pmr_read_output(struct pmr_event *copy)
{
	struct perf_event_header header = { .type = PERF_RECORD_READ };
	struct pmr_record record;
	struct pmr_read read;
	u64 *pos;

	header.size = record_size(1) + pmr_read_begin(&read, copy);
	pos = begin(&record, copy, &header, current);
	if (!pos)
		return;
	record.sample.pid = copy->end_pid;
	record.sample.tid = copy->end_tid;
	*pos++ = pmr_two_words(copy->end_pid, copy->end_tid);
	pmr_record_end(&record, pmr_read_write(pos, &read));
}
