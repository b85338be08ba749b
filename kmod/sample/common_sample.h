/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sample of PMR_SAMPLE_COMMON fields in a usual ring: one reservation, and
 * stores straight into it. Inline, because nearly all samples pass through it, so that
 * their values stay in registers. For sample.c and overflow.c. On the event's
 * CPU, NMI or interrupts off; no locks.
 *
 * The order of the fields is that of perf_event.h (PERF_RECORD_SAMPLE).
 */
#ifndef PMR_COMMON_SAMPLE_H
#define PMR_COMMON_SAMPLE_H

#include "sample/record.h"

/* Fields that perf's clients ask for with several events or CPUs only. */
#define PMR_SAMPLE_IDS	(PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU)

/* @event: not NULL: @sample has no pids yet, and they are worth a register. */
static __always_inline u64 *pmr_sample_write_to_time(u64 *pos, u64 sample_type,
						     const struct pmr_sample *sample,
						     const struct pmr_event *event,
						     const struct pmr_event *top)
{
	if (unlikely(sample_type & PERF_SAMPLE_IDENTIFIER))
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_IP)
		*pos++ = sample->ip;
	if (sample_type & PERF_SAMPLE_TID)
		*pos++ = event ? pmr_record_tids(event, top, current) :
				 pmr_two_words(sample->pid, sample->tid);
	if (sample_type & PERF_SAMPLE_TIME)
		*pos++ = sample->time;
	return pos;
}

static __always_inline u64 *pmr_sample_write_ids(u64 *pos, u64 sample_type,
						 const struct pmr_sample *sample)
{
	if (sample_type & PERF_SAMPLE_ID)
		*pos++ = sample->id;
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		*pos++ = sample->stream_id;
	if (sample_type & PERF_SAMPLE_CPU)
		*pos++ = pmr_two_words(sample->cpu, 0);
	return pos;
}

static __always_inline u64 *pmr_sample_write_to_period(u64 *pos, u64 sample_type,
						       const struct pmr_sample *sample)
{
	if (unlikely(sample_type & PMR_SAMPLE_IDS))
		pos = pmr_sample_write_ids(pos, sample_type, sample);
	if (sample_type & PERF_SAMPLE_PERIOD)
		*pos++ = sample->period;
	return pos;
}

static __always_inline u64 pmr_sample_ip(const struct pmr_event *top, struct pt_regs *regs)
{
	return user_mode(regs) || !top->plan.hide_kernel ? regs->ip : 0;
}

/* @header: struct perf_event_header of a sample in the kernel, as one word */
static __always_inline u64 *pmr_sample_put_header(u64 *pos, struct pt_regs *regs, u64 header)
{
	BUILD_BUG_ON(PERF_RECORD_MISC_USER - PERF_RECORD_MISC_KERNEL != 1);
	*pos = header + ((u64)!!user_mode(regs) << PMR_HEADER_MISC_SHIFT);
	return pos + 1;
}

static __always_inline void pmr_sample_end(struct pmr_ring_write *write, struct pmr_event *top,
					   struct pmr_ring *ring)
{
	bool due = pmr_ring_count_sample(ring, top->plan.wakeup_events);

	pmr_ring_end(write);
	__this_cpu_inc(pmr_cpu_stats.samples);
	if (unlikely(write->wake || due))
		pmr_record_wake(top, ring);
}

static __always_inline void pmr_sample_output_common(const struct pmr_event *event,
						     struct pmr_event *top,
						     struct pmr_ring *ring, struct pt_regs *regs)
{
	const struct pmr_plan *plan = &top->plan;
	u64 types = plan->sample_type;
	/* Zeroing what is about to be filled in would cost more than that. */
	struct pmr_ring_write write __uninitialized;
	struct pmr_sample sample __uninitialized;
	u64 *pos;

	sample.time = pmr_record_time(top);
	if (!pmr_record_reserve_usual(&write, top, ring, plan->sample_size, sample.time))
		return;
	if (unlikely(types & (PMR_SAMPLE_IDS | PERF_SAMPLE_IDENTIFIER)))
		pmr_record_fill_ids(&sample, event, top);
	sample.ip = pmr_sample_ip(top, regs);
	sample.period = event->hw.last_period;
	pos = pmr_sample_put_header(write.pos, regs, plan->sample_header);
	pos = pmr_sample_write_to_time(pos, types, &sample, event, top);
	pmr_sample_write_to_period(pos, types, &sample);
	pmr_sample_end(&write, top, ring);
}

/**
 * pmr_sample_output() - write a PERF_RECORD_SAMPLE
 * @event: event that overflowed
 * @top: its top
 * @regs: where it interrupted
 */
static __always_inline void pmr_sample_output(struct pmr_event *event, struct pmr_event *top,
					      struct pt_regs *regs)
{
	struct pmr_ring *ring = rcu_dereference_sched(top->ring);

	if (unlikely(!ring))
		return;
	if (unlikely(top->plan.variable | READ_ONCE(ring->unusual)))
		pmr_sample_output_any(event, ring, regs);
	else
		pmr_sample_output_common(event, top, ring, regs);
}

#endif /* PMR_COMMON_SAMPLE_H */
