// SPDX-License-Identifier: GPL-2.0
/*
 * Owns records in general: their sample_id trailer, losses and how they are
 * told, wake-ups; and the records of throttling.
 *
 * On the event's CPU, NMI or interrupts off, also under the runqueue lock and a
 * context's lock: no locks, no allocation, nothing is woken but by irq_work.
 */
#include <linux/lockdep.h>

#include "sample/record.h"

/**
 * struct pmr_lost_record - PERF_RECORD_LOST
 * @header: header
 * @id: the event's
 * @lost: records lost since the last one of this type
 */
struct pmr_lost_record {
	struct perf_event_header header;
	u64 id;
	u64 lost;
};

/**
 * pmr_sample_write_id() - the sample_id trailer of records that are no samples
 * @pos: where it goes
 * @sample_type: its fields
 * @sample: their values
 *
 * Return: the end of the record.
 */
u64 *pmr_sample_write_id(u64 *pos, u64 sample_type, const struct pmr_sample *sample)
{
	if (sample_type & PERF_SAMPLE_TID)
		*pos++ = pmr_two_words(sample->pid, sample->tid);
	if (sample_type & PERF_SAMPLE_TIME)
		*pos++ = sample->time;
	if (sample_type & PERF_SAMPLE_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		*pos++ = sample->stream_id;
	if (sample_type & PERF_SAMPLE_CPU)
		*pos++ = pmr_two_words(sample->cpu, 0);
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		*pos++ = sample->id;
	return pos;
}

/**
 * pmr_record_wake() - the reader of a ring is due to be woken
 * @top: event that wrote into it
 * @ring: ring
 *
 * Several events may write into one ring; @top's irq_work wakes the readers of
 * them all.
 */
void pmr_record_wake(struct pmr_event *top, struct pmr_ring *ring)
{
	atomic_set(&ring->poll, 1);
	set_bit(PMR_PENDING_WAKE, &top->pending);
	irq_work_queue(&top->work);
}

/**
 * pmr_record_lost() - count a record that found no room
 * @top: whose it was
 * @ring: ring; one without data is written by nobody and loses nothing
 *
 * Copies may lose on several CPUs at once, each of them in an NMI as well.
 */
void pmr_record_lost(struct pmr_event *top, const struct pmr_ring *ring)
{
	u64 lost = READ_ONCE(top->lost);

	if (ring->no_data)
		return;
	while (!try_cmpxchg(&top->lost, &lost, lost + 1))
		;
	__this_cpu_inc(pmr_cpu_stats.lost);
}

/**
 * pmr_record_put_lost() - write a PERF_RECORD_LOST
 * @pos: where it goes
 * @top: whose records were lost
 * @lost: how many
 * @time: time of the record behind it, or the two would be out of order
 *
 * Out of line and given values only: the sample that is about to be written
 * stays in registers.
 *
 * Return: the end of the record.
 */
void *pmr_record_put_lost(void *pos, const struct pmr_event *top, u64 lost, u64 time)
{
	struct pmr_lost_record *record = pos;
	struct pmr_sample sample;

	record->header = (struct perf_event_header) {
		.type = PERF_RECORD_LOST,
		.size = top->plan.lost_size,
	};
	record->id = top->id;
	record->lost = lost;
	if (!top->plan.id_size)
		return record + 1;
	pmr_record_fill(&sample, top, top, current);
	sample.time = time;
	return pmr_sample_write_id((u64 *)(record + 1), top->plan.sample_type, &sample);
}

/**
 * pmr_record_begin() - begin a record that is no sample
 * @record: filled in
 * @event: event that gets it
 * @header: its header; the size is that of the record without the trailer
 * @task: whose pids the trailer has, if the event follows no task
 *
 * Return: where the record goes on behind its header, or NULL: there is no
 * ring or no room, and the record must not be ended.
 */
u64 *pmr_record_begin(struct pmr_record *record, struct pmr_event *event,
		      const struct perf_event_header *header, struct task_struct *task)
{
	struct pmr_event *top = event->top;
	struct pmr_ring *ring = rcu_dereference_sched(top->ring);
	u32 size = header->size + top->plan.id_size;
	struct perf_event_header *pos;

	lockdep_assert_irqs_disabled();
	if (!ring)
		return NULL;
	record->top = top;
	pmr_record_fill(&record->sample, event, top, task);
	if (!pmr_record_reserve(&record->write, top, ring, size, record->sample.time))
		return NULL;
	pos = record->write.pos;
	*pos = *header;
	pos->size = size;
	return (u64 *)(pos + 1);
}

/**
 * pmr_record_end() - finish a record
 * @record: from pmr_record_begin()
 * @pos: end of what has been written
 */
void pmr_record_end(struct pmr_record *record, u64 *pos)
{
	struct pmr_event *top = record->top;

	if (top->plan.id_size)
		pmr_sample_write_id(pos, top->plan.sample_type, &record->sample);
	pmr_ring_end(&record->write);
	if (record->write.wake)
		pmr_record_wake(top, record->write.ring);
}

/**
 * pmr_throttle_output() - write a PERF_RECORD_THROTTLE or UNTHROTTLE
 * @event: event that was throttled, or samples again
 * @throttle: which of the two
 */
void pmr_throttle_output(struct pmr_event *event, bool throttle)
{
	const struct perf_event_header header = {
		.type = throttle ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE,
		.size = sizeof(header) + 3 * sizeof(u64),
	};
	struct pmr_record record;
	u64 *pos = pmr_record_begin(&record, event, &header, current);

	if (!pos)
		return;
	*pos++ = record.sample.time ?: pmr_record_clock(record.top);
	*pos++ = record.sample.id;
	*pos++ = record.sample.stream_id;
	pmr_record_end(&record, pos);
}
