// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the layout of records and their way into the ring.
 *
 * pmr_sample_plan(): task context, at open. The rest: NMI, or a hard IRQ or
 * sched_switch for THROTTLE and UNTHROTTLE; no locks, no allocation, bounded.
 *
 * What a record of an event consists of is decided at open (struct pmr_plan),
 * so a sample is one reservation and stores straight into the ring.
 */
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include "sample/sample.h"

struct lost_record {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

struct throttle_record {
	struct perf_event_header header;
	u64 time;
	u64 id;
	u64 stream_id;
};

static u64 (*clock_of(const struct perf_event_attr *attr))(void)
{
	if (!attr->use_clockid)
		return NULL;
	return attr->clockid == CLOCK_MONOTONIC ? ktime_get_mono_fast_ns : ktime_get_raw_fast_ns;
}

/* Fields that appear in the sample_id trailer as well. */
#define ID_TYPES (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
		  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/**
 * pmr_sample_plan() - decide what the records of an event consist of
 * @plan: filled in, but for hide_kernel
 * @attr: checked attr
 * @pid_ns: namespace whose pids the records carry
 *
 * All fields of this floor are 8 bytes wide (perf_event.h, PERF_RECORD_SAMPLE).
 */
void pmr_sample_plan(struct pmr_plan *plan, const struct perf_event_attr *attr,
		     struct pid_namespace *pid_ns)
{
	u64 types = attr->sample_type & PMR_SAMPLE_TYPES;

	plan->sample_type = types;
	plan->sample_size = sizeof(struct perf_event_header) + 8 * hweight64(types);
	plan->id_size = attr->sample_id_all ? 8 * hweight64(types & ID_TYPES) : 0;
	plan->lost_size = sizeof(struct lost_record) + plan->id_size;
	plan->throttle_size = sizeof(struct throttle_record) + plan->id_size;
	plan->init_pid_ns = pid_ns == &init_pid_ns;
	plan->clock = clock_of(attr);
}

static u64 two_words(u32 first, u32 second)
{
	return first | (u64)second << 32;
}

/* Inline, so that the values of a sample need not go through memory. */
static __always_inline u64 *write_body(u64 *pos, u64 sample_type, const struct pmr_sample *sample)
{
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_IP)
		*pos++ = sample->ip;
	if (sample_type & PERF_SAMPLE_TID)
		*pos++ = two_words(sample->pid, sample->tid);
	if (sample_type & PERF_SAMPLE_TIME)
		*pos++ = sample->time;
	if (sample_type & PERF_SAMPLE_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_CPU)
		*pos++ = two_words(sample->cpu, 0);
	if (sample_type & PERF_SAMPLE_PERIOD)
		*pos++ = sample->period;
	return pos;
}

/**
 * pmr_sample_write() - the body of a PERF_RECORD_SAMPLE
 * @pos: where it goes
 * @sample_type: its fields; those outside PMR_SAMPLE_TYPES are ignored
 * @sample: their values
 *
 * Return: the end of the body.
 */
u64 *pmr_sample_write(u64 *pos, u64 sample_type, const struct pmr_sample *sample)
{
	return write_body(pos, sample_type, sample);
}

/**
 * pmr_sample_write_id() - the sample_id trailer of other records
 * @pos: where it goes
 * @sample_type: its fields
 * @sample: their values
 *
 * Return: the end of the record.
 */
u64 *pmr_sample_write_id(u64 *pos, u64 sample_type, const struct pmr_sample *sample)
{
	if (sample_type & PERF_SAMPLE_TID)
		*pos++ = two_words(sample->pid, sample->tid);
	if (sample_type & PERF_SAMPLE_TIME)
		*pos++ = sample->time;
	if (sample_type & PERF_SAMPLE_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_CPU)
		*pos++ = two_words(sample->cpu, 0);
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		*pos++ = sample->id;
	return pos;
}

/*
 * -1 for a task that has no pid any more on its way out, as perf shows it; 0
 * for one that the opener's namespace does not see.
 */
static __always_inline u32 pid_of(const struct pmr_event *event, struct task_struct *task,
				  enum pid_type type)
{
	if (unlikely(!pid_alive(task)))
		return is_idle_task(task) ? 0 : -1;
	if (likely(event->plan.init_pid_ns))
		return type == PIDTYPE_TGID ? task->tgid : task->pid;
	return __task_pid_nr_ns(task, type, event->pid_ns);
}

/*
 * A task's events begin to count before the switch to its stack, while current
 * is still the previous task; the event knows better.
 */
static __always_inline void fill_common(struct pmr_sample *sample, const struct pmr_event *event)
{
	u64 types = event->plan.sample_type;

	if (types & PERF_SAMPLE_TID) {
		struct task_struct *task = event->task ?: current;

		sample->pid = pid_of(event, task, PIDTYPE_TGID);
		sample->tid = pid_of(event, task, PIDTYPE_PID);
	}
	sample->time = 0;
	if (types & PERF_SAMPLE_TIME)
		sample->time = event->plan.clock ? event->plan.clock() : local_clock();
	sample->id = event->id;
	sample->cpu = smp_processor_id();
}

static noinline void wake(struct pmr_event *event, struct pmr_ring *ring)
{
	atomic_set(&ring->poll, 1);
	irq_work_queue(&event->wake);
}

/*
 * Out of line and given values only: the sample that is about to be written
 * stays in registers. The record has the sample's time, or the two would be
 * out of order.
 */
static noinline void *put_lost(struct lost_record *record, const struct pmr_event *event,
			       u64 lost, u64 time)
{
	struct pmr_sample sample;

	record->header = (struct perf_event_header) {
		.type = PERF_RECORD_LOST,
		.size = event->plan.lost_size,
	};
	record->id = event->id;
	record->lost = lost;
	if (!event->plan.id_size)
		return record + 1;
	fill_common(&sample, event);
	sample.time = time;
	return pmr_sample_write_id((u64 *)(record + 1), event->plan.sample_type, &sample);
}

static __always_inline bool begin(struct pmr_ring_write *write, struct pmr_event *event,
				  struct pmr_ring *ring, u32 size, u64 time)
{
	if (likely(pmr_ring_begin(write, ring, size, event->plan.lost_size))) {
		if (unlikely(write->lost_size))
			write->pos = put_lost(write->pos, event, write->lost, time);
		return true;
	}
	if (ring->size)
		__this_cpu_inc(pmr_cpu_stats.lost);
	if (write->wake)
		wake(event, ring);
	return false;
}

/**
 * pmr_sample_output() - write a PERF_RECORD_SAMPLE
 * @event: event that overflowed
 * @regs: where it interrupted
 */
void pmr_sample_output(struct pmr_event *event, struct pt_regs *regs)
{
	struct pmr_ring *ring = rcu_dereference_sched(event->ring);
	struct perf_event_header *header;
	struct pmr_ring_write write;
	struct pmr_sample sample;
	bool user = user_mode(regs);
	bool due;

	if (!ring)
		return;
	fill_common(&sample, event);
	sample.ip = user || !event->plan.hide_kernel ? regs->ip : 0;
	sample.period = event->hw.last_period;

	if (!begin(&write, event, ring, event->plan.sample_size, sample.time)) {
		if (ring->size)
			WRITE_ONCE(event->lost, event->lost + 1);
		return;
	}
	header = write.pos;
	*header = (struct perf_event_header) {
		.type = PERF_RECORD_SAMPLE,
		.misc = user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL,
		.size = event->plan.sample_size,
	};
	write_body((u64 *)(header + 1), event->plan.sample_type, &sample);
	due = !event->attr.watermark && pmr_ring_count_sample(ring, event->attr.wakeup_events);
	pmr_ring_end(&write);
	__this_cpu_inc(pmr_cpu_stats.samples);
	if (unlikely(write.wake || due))
		wake(event, ring);
}

/**
 * pmr_throttle_output() - write a PERF_RECORD_THROTTLE or UNTHROTTLE
 * @event: event that was throttled, or samples again
 * @throttle: which of the two
 */
void pmr_throttle_output(struct pmr_event *event, bool throttle)
{
	struct pmr_ring *ring = rcu_dereference_sched(event->ring);
	struct throttle_record *record;
	struct pmr_ring_write write;
	struct pmr_sample sample;

	if (!ring)
		return;
	fill_common(&sample, event);
	if (!begin(&write, event, ring, event->plan.throttle_size, sample.time))
		return;
	record = write.pos;
	record->header = (struct perf_event_header) {
		.type = throttle ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE,
		.size = event->plan.throttle_size,
	};
	record->time = event->plan.sample_type & PERF_SAMPLE_TIME ? sample.time : local_clock();
	record->id = event->id;
	record->stream_id = event->id;
	if (event->plan.id_size)
		pmr_sample_write_id((u64 *)(record + 1), event->plan.sample_type, &sample);
	pmr_ring_end(&write);
	if (write.wake)
		wake(event, ring);
}
