// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the READ field: the counts of an event or of its group as they are at
 * the moment, in the layout of read(2).
 *
 * On the event's CPU, NMI or interrupts off; or an event that has ended, with
 * interrupts off. No locks: a group whose members are counting is changed by
 * this CPU only, so it stands still here; whoever changes one links a member in
 * and out in a single store.
 */
#include <linux/list.h>
#include <linux/sched/clock.h>

#include "core/context.h"
#include "sample/sample.h"

/* What one member has beside its count: PERF_FORMAT_ID and _LOST. */
static u32 words_per_member(u64 format)
{
	return 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
}

/**
 * pmr_read_begin() - how large a READ field is
 * @read: filled in
 * @event: event whose record it is
 *
 * Return: bytes.
 */
u32 pmr_read_begin(struct pmr_read *read, struct pmr_event *event)
{
	u64 format = event->attr.read_format;
	const struct pmr_event *sibling;
	u32 words = 0;

	read->event = event;
	read->siblings = 0;
	if (format & PERF_FORMAT_GROUP) {
		words++;	/* the number of members */
		pmr_for_each_sibling(sibling, event->leader)
			read->siblings++;
	}
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words++;
	words += (1 + read->siblings) * words_per_member(format);
	return words * sizeof(u64);
}

/* A counter that is being stopped or moved at this very moment cannot be read. */
static bool can_be_read(const struct pmr_event *event)
{
	return event->state == PMR_STATE_ACTIVE &&
	       (event->hw.pmu->software || event->hw.idx >= 0);
}

/*
 * @reader has just been brought up to date by what has led to the record. Of an
 * inherited event each task's count is told alone, as perf has it: adding up
 * what runs on other CPUs is no work for an NMI.
 */
static u64 count_of(const struct pmr_event *event, const struct pmr_event *reader)
{
	u64 count = event->hw.count;

	if (event != reader && can_be_read(event))
		count = event->hw.pmu->count(&event->hw);
	return count - event->hw.base;
}

static u64 *write_id_and_lost(u64 *pos, const struct pmr_event *event, u64 format)
{
	if (format & PERF_FORMAT_ID)
		*pos++ = event->top->id;
	if (format & PERF_FORMAT_LOST)
		*pos++ = READ_ONCE(event->lost);
	return pos;
}

/* How long the event has been in its present state, with its context in. */
static u64 time_in_state(const struct pmr_event *event)
{
	const struct pmr_context *context = event->context;
	u64 now = context->time;

	if (context->on_cpu >= 0)
		now += local_clock() - context->since;
	return now - READ_ONCE(event->since);
}

static u64 *write_times(u64 *pos, const struct pmr_event *event)
{
	u64 format = event->attr.read_format;
	u64 enabled = READ_ONCE(event->enabled), running = READ_ONCE(event->running);

	if (!(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)))
		return pos;
	if (event->state == PMR_STATE_ACTIVE) {
		u64 passed = time_in_state(event);

		enabled += passed;
		running += passed;
	}
	if (!(format & PERF_FORMAT_GROUP)) {
		enabled += READ_ONCE(event->child_enabled);
		running += READ_ONCE(event->child_running);
	}
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*pos++ = enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*pos++ = running;
	return pos;
}

/* value, times, id, lost */
static u64 *write_one(u64 *pos, const struct pmr_event *event)
{
	*pos++ = count_of(event, event);
	pos = write_times(pos, event);
	return write_id_and_lost(pos, event, event->attr.read_format);
}

static u64 *write_member(u64 *pos, const struct pmr_event *event, const struct pmr_event *reader)
{
	*pos++ = count_of(event, reader);
	return write_id_and_lost(pos, event, reader->attr.read_format);
}

/* number of members, times, and for each member: value, id, lost */
static u64 *write_group(u64 *pos, const struct pmr_event *event, u32 siblings)
{
	const struct pmr_event *sibling;

	*pos++ = 1 + siblings;
	pos = write_times(pos, event);
	pos = write_member(pos, event->leader, event);
	pmr_for_each_sibling(sibling, event->leader)
		pos = write_member(pos, sibling, event);
	return pos;
}

/**
 * pmr_read_write() - write a READ field
 * @pos: where it goes
 * @read: from pmr_read_begin(), with nothing in between that lets a group change
 *
 * Return: its end.
 */
u64 *pmr_read_write(u64 *pos, const struct pmr_read *read)
{
	const struct pmr_event *event = read->event;

	return event->attr.read_format & PERF_FORMAT_GROUP ?
	       write_group(pos, event, read->siblings) : write_one(pos, event);
}
