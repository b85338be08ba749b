/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all records have in common: whose they are, and how room for them is
 * made. Inline, because each sample passes through it; for files of sample/
 * only. On the event's CPU, NMI or interrupts off.
 *
 * An inherited copy writes as what it is a copy of (@top), into its ring.
 */
#ifndef PMR_RECORD_H
#define PMR_RECORD_H

#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "core/context.h"
#include "sample/sample.h"

void pmr_record_wake(struct pmr_event *top, struct pmr_ring *ring);
void pmr_record_lost(struct pmr_event *top, const struct pmr_ring *ring);
void *pmr_record_put_lost(void *pos, const struct pmr_event *top, u64 lost, u64 time);

/* The clock of an event's records. */
static __always_inline u64 pmr_record_clock(const struct pmr_event *top)
{
	return top->plan.clock ? top->plan.clock() : local_clock();
}

/*
 * -1 for a task that has no pid any more on its way out, as perf shows it; 0
 * for one that the opener's namespace does not see.
 */
static __always_inline u32 pmr_record_pid(const struct pmr_event *top, struct task_struct *task,
					  enum pid_type type)
{
	if (unlikely(!pid_alive(task)))
		return is_idle_task(task) ? 0 : -1;
	if (likely(top->plan.init_pid_ns))
		return type == PIDTYPE_TGID ? task->tgid : task->pid;
	return __task_pid_nr_ns(task, type, top->pid_ns);
}

/*
 * The task of a record is the context's, if it follows one: relatives may change
 * events. A task's events begin to count before the switch to its stack, while
 * current is still the previous task.
 */
static __always_inline void pmr_record_fill_task(struct pmr_sample *sample,
						 const struct pmr_event *event,
						 const struct pmr_event *top,
						 struct task_struct *task)
{
	task = event->context->task ?: task;
	sample->pid = pmr_record_pid(top, task, PIDTYPE_TGID);
	sample->tid = pmr_record_pid(top, task, PIDTYPE_PID);
}

static __always_inline u64 pmr_record_tids(const struct pmr_event *event,
					   const struct pmr_event *top, struct task_struct *task)
{
	struct pmr_sample sample __uninitialized;

	pmr_record_fill_task(&sample, event, top, task);
	return pmr_two_words(sample.pid, sample.tid);
}

static __always_inline u64 pmr_record_time(const struct pmr_event *top)
{
	return top->plan.sample_type & PERF_SAMPLE_TIME ? pmr_record_clock(top) : 0;
}

static __always_inline void pmr_record_fill_ids(struct pmr_sample *sample,
						const struct pmr_event *event,
						const struct pmr_event *top)
{
	sample->id = top->id;
	sample->stream_id = event->id;
	sample->cpu = smp_processor_id();
}

static __always_inline void pmr_record_fill(struct pmr_sample *sample,
					    const struct pmr_event *event,
					    const struct pmr_event *top, struct task_struct *task)
{
	if (top->plan.sample_type & PERF_SAMPLE_TID)
		pmr_record_fill_task(sample, event, top, task);
	sample->time = pmr_record_time(top);
	pmr_record_fill_ids(sample, event, top);
}

/* The rest of a reservation that may have failed. */
static __always_inline bool pmr_record_reserved(struct pmr_ring_write *write, bool room,
						struct pmr_event *top, struct pmr_ring *ring,
						u64 time)
{
	if (likely(room)) {
		if (unlikely(write->lost_size))
			write->pos = pmr_record_put_lost(write->pos, top, write->lost, time);
		return true;
	}
	pmr_record_lost(top, ring);
	if (write->wake)
		pmr_record_wake(top, ring);
	return false;
}

/*
 * Room for a record of @size bytes, behind a LOST record with time @time if
 * there is a loss to be told. False: the record is lost, and that is counted.
 */
static __always_inline bool pmr_record_reserve(struct pmr_ring_write *write, struct pmr_event *top,
					       struct pmr_ring *ring, u32 size, u64 time)
{
	bool room = pmr_ring_begin(write, ring, size, top->plan.lost_size);

	return pmr_record_reserved(write, room, top, ring, time);
}

/* The same in a ring that is not unusual, in one piece. */
static __always_inline bool pmr_record_reserve_usual(struct pmr_ring_write *write,
						     struct pmr_event *top,
						     struct pmr_ring *ring, u32 size, u64 time)
{
	bool room = pmr_ring_begin_usual(write, ring, size, top->plan.lost_size);

	return pmr_record_reserved(write, room, top, ring, time);
}

#endif /* PMR_RECORD_H */
