// SPDX-License-Identifier: GPL-2.0
/*
 * Owns samples: their layout, and their way into the ring. The part through which
 * nearly all of them pass is inline, in common_sample.h.
 *
 * pmr_sample_plan(): task context, at open. The rest: on the event's CPU, NMI or
 * interrupts off; no locks, no allocation, bounded.
 *
 * What a record of an event consists of is decided at open (struct pmr_plan),
 * so a sample is one reservation and stores straight into the ring. A sample
 * with one of the rarer fields takes a separate path, so that the others need
 * not ask for each of those.
 */
#include <linux/ktime.h>
#include <linux/lockdep.h>

#include "sample/common_sample.h"
#include "sample/record.h"

/* The last three cannot be read in an NMI; pmr_attr_supported() sees to it. */
static u64 (*clock_of(const struct perf_event_attr *attr))(void)
{
	if (!attr->use_clockid)
		return NULL;
	switch (attr->clockid) {
	case CLOCK_MONOTONIC:
		return ktime_get_mono_fast_ns;
	case CLOCK_MONOTONIC_RAW:
		return ktime_get_raw_fast_ns;
	case CLOCK_REALTIME:
		return ktime_get_real_ns;
	case CLOCK_BOOTTIME:
		return ktime_get_boottime_ns;
	case CLOCK_TAI:
		return ktime_get_clocktai_ns;
	default:
		return NULL;
	}
}

/* Fields that appear in the sample_id trailer as well. */
#define ID_TYPES (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
		  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Fields whose size is known only when the sample is taken. */
#define VARIABLE_TYPES (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)

/**
 * pmr_sample_plan() - decide what the records of an event consist of
 * @plan: filled in, but for hide_kernel
 * @attr: checked attr
 * @pid_ns: namespace whose pids the records carry
 *
 * All fixed fields are 8 bytes wide (perf_event.h, PERF_RECORD_SAMPLE; RAW
 * without data is its size and four bytes of padding).
 */
void pmr_sample_plan(struct pmr_plan *plan, const struct perf_event_attr *attr,
		     struct pid_namespace *pid_ns)
{
	u64 types = attr->sample_type & PMR_SAMPLE_TYPES;

	plan->sample_type = types;
	plan->sample_size = sizeof(struct perf_event_header) +
			    8 * hweight64(types & ~(u64)VARIABLE_TYPES);
	plan->sample_header = pmr_sample_header(plan->sample_size);
	plan->id_size = attr->sample_id_all ? 8 * hweight64(types & ID_TYPES) : 0;
	plan->lost_size = sizeof(struct perf_event_header) + 2 * sizeof(u64) + plan->id_size;
	plan->throttle_size = sizeof(struct perf_event_header) + 3 * sizeof(u64) + plan->id_size;
	plan->variable = types & ~(u64)PMR_SAMPLE_COMMON;
	plan->wakeup_events = attr->watermark ? 0 : attr->wakeup_events;
	plan->init_pid_ns = pid_ns == &init_pid_ns;
	plan->clock = clock_of(attr);
}

/*
 * Without a PMU that knows more, as perf fills them: no raw data, no weight, no
 * source of the data, no transaction.
 */
static u64 *write_constants(u64 *pos, u64 sample_type)
{
	if (sample_type & PERF_SAMPLE_RAW)
		*pos++ = pmr_two_words(sizeof(u32), 0);
	if (sample_type & PERF_SAMPLE_WEIGHT_TYPE)
		*pos++ = 0;
	if (sample_type & PERF_SAMPLE_DATA_SRC)
		*pos++ = PERF_MEM_NA;
	if (sample_type & PERF_SAMPLE_TRANSACTION)
		*pos++ = 0;
	return pos;
}

/**
 * pmr_sample_write() - the body of a PERF_RECORD_SAMPLE with any field
 * @pos: where it goes
 * @sample_type: its fields; those outside PMR_SAMPLE_TYPES are ignored
 * @sample: their values
 *
 * Return: the end of the body.
 */
u64 *pmr_sample_write(u64 *pos, u64 sample_type, const struct pmr_sample *sample)
{
	pos = pmr_sample_write_to_time(pos, sample_type, sample, NULL, NULL);
	if (sample_type & PERF_SAMPLE_ADDR)
		*pos++ = sample->addr;
	pos = pmr_sample_write_to_period(pos, sample_type, sample);
	if (sample_type & PERF_SAMPLE_READ)
		pos = pmr_read_write(pos, sample->read);
	if (sample_type & PERF_SAMPLE_CALLCHAIN) {
		size_t words = 1 + sample->callchain->nr;

		memcpy(pos, sample->callchain, words * sizeof(u64));
		pos += words;
	}
	return write_constants(pos, sample_type);
}

/**
 * pmr_sample_output_any() - write a PERF_RECORD_SAMPLE with any field
 * @event: event that overflowed
 * @ring: ring of its top
 * @regs: where it interrupted
 *
 * What varies in size is gathered first.
 */
void pmr_sample_output_any(struct pmr_event *event, struct pmr_ring *ring, struct pt_regs *regs)
{
	struct pmr_event *top = event->top;
	const struct pmr_plan *plan = &top->plan;
	u32 size = plan->sample_size;
	struct pmr_ring_write write;
	struct pmr_sample sample;
	struct pmr_read read;

	lockdep_assert_irqs_disabled();
	pmr_record_fill(&sample, event, top, current);
	sample.ip = pmr_sample_ip(top, regs);
	sample.period = event->hw.last_period;
	sample.addr = event->hw.pmu->software ? event->hw.addr : 0;
	sample.callchain = NULL;
	if (plan->sample_type & PERF_SAMPLE_READ) {
		size += pmr_read_begin(&read, event);
		sample.read = &read;
	}
	if (plan->sample_type & PERF_SAMPLE_CALLCHAIN) {
		sample.callchain = pmr_callchain_begin(event, regs, size);
		size += 8 * (1 + sample.callchain->nr);
	}
	if (pmr_record_reserve(&write, top, ring, size, sample.time)) {
		pmr_sample_write(pmr_sample_put_header(write.pos, regs, pmr_sample_header(size)),
				 plan->sample_type, &sample);
		pmr_sample_end(&write, top, ring);
	}
	if (sample.callchain)
		pmr_callchain_end(sample.callchain);
}
