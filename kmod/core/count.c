// SPDX-License-Identifier: GPL-2.0
/*
 * Owns reading: what an event, or all members of a group, have counted, with
 * what inherited copies have, live or ended.
 *
 * Task context, may sleep; takes the context's mutex, so that groups and copies
 * stand still, and no copy's count is met twice or not at all on its way from
 * the copy to the event. Those static functions that get a context run where
 * pmr_context_call() puts them.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core/context.h"
#include "core/event.h"
#include "core/inherit.h"

/* read() and samples of a group stay below this (perf_event_open(2), E2BIG). */
#define READ_SIZE_MAX	(16 * 1024)

/**
 * struct read - counts on their way from a context
 * @event: event, or leader of a group
 * @values: added to: of the event, or of the leader and its siblings
 */
struct read {
	struct pmr_event *event;
	struct pmr_value *values;
};

static void add_value(struct pmr_event *event, struct pmr_value *value, u64 now)
{
	u64 count = event->state == PMR_STATE_ACTIVE ? event->hw.pmu->count(&event->hw) :
						       event->hw.count;

	pmr_event_update_times(event, now);
	value->count += count - event->hw.base;
	value->enabled += event->enabled;
	value->running += event->running;
}

static void read_one(struct pmr_context *context, void *arg)
{
	struct read *read = arg;

	add_value(read->event, read->values, pmr_context_time(context));
	pmr_event_update_user_page(read->event);
}

static void read_group(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct read *read = arg;
	struct pmr_event *event;
	unsigned int i = 0;

	add_value(read->event, &read->values[i++], now);
	pmr_for_each_sibling(event, read->event)
		add_value(event, &read->values[i++], now);
	pmr_event_update_user_page(read->event);
}

/* What does not come from a PMU: of ended copies, and the rest. */
static void begin_value(const struct pmr_event *event, struct pmr_value *value)
{
	*value = (struct pmr_value) {
		.count = event->child_count,
		.enabled = event->child_enabled,
		.running = event->child_running,
		.id = event->id,
		.lost = READ_ONCE(event->lost),
	};
}

/**
 * pmr_event_read() - the count and its times, all of one moment
 * @event: event
 * @value: filled in
 */
void pmr_event_read(struct pmr_event *event, struct pmr_value *value)
{
	struct read arg = { .event = event, .values = value };
	struct pmr_event *copy;

	mutex_lock(&event->context->mutex);
	begin_value(event, value);
	pmr_context_call(event->context, read_one, &arg);
	pmr_for_each_copy(copy, event) {
		arg.event = copy;
		pmr_context_call(copy->context, read_one, &arg);
	}
	mutex_unlock(&event->context->mutex);
}

/* A copy that does not mirror its original cannot be added member by member. */
static bool mirrors(const struct pmr_event *copy, const struct pmr_event *leader)
{
	return copy->nr_siblings == leader->nr_siblings && copy->generation == leader->generation;
}

static int read_copies(struct pmr_event *leader, struct pmr_value *values)
{
	struct read arg = { .values = values };
	struct pmr_event *copy;

	pmr_for_each_copy(copy, leader) {
		if (!mirrors(copy, leader))
			return -ECHILD;
		arg.event = copy;
		pmr_context_call(copy->context, read_group, &arg);
	}
	return 0;
}

static int read_members(struct pmr_event *leader, struct pmr_value *values)
{
	struct read arg = { .event = leader, .values = values };
	struct pmr_event *event;
	unsigned int i = 0;

	begin_value(leader, &values[i++]);
	pmr_for_each_sibling(event, leader)
		begin_value(event, &values[i++]);
	pmr_context_call(leader->context, read_group, &arg);
	return read_copies(leader, values);
}

/**
 * pmr_group_read() - the counts of a whole group, all of one moment
 * @event: any member
 * @values: leader first, then the siblings in the order in which they were
 *	attached; the caller frees it with kfree()
 * @max: most members that the caller can use
 *
 * Return: number of members; -ENOSPC if there are more than @max; -ECHILD if
 * the group changed after a task had inherited it; -ENOMEM.
 */
int pmr_group_read(struct pmr_event *event, struct pmr_value **values, unsigned int max)
{
	struct pmr_context *context = event->context;
	struct pmr_event *leader;
	int number, err;

	mutex_lock(&context->mutex);
	leader = event->leader;
	number = leader->nr_siblings + 1;
	err = number > max ? -ENOSPC : 0;
	if (!err) {
		*values = kcalloc(number, sizeof(**values), GFP_KERNEL);
		err = *values ? read_members(leader, *values) : -ENOMEM;
		if (err)
			kfree(*values);
	}
	mutex_unlock(&context->mutex);
	return err ?: number;
}

/**
 * pmr_read_words() - size of what read() returns
 * @format: PERF_FORMAT_*
 * @members: members of the group
 *
 * Return: number of u64 (perf_event.h, enum perf_event_read_format).
 */
unsigned int pmr_read_words(u64 format, unsigned int members)
{
	unsigned int each = 1, once = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		once++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		once++;
	if (format & PERF_FORMAT_ID)
		each++;
	if (format & PERF_FORMAT_LOST)
		each++;
	if (!(format & PERF_FORMAT_GROUP))
		return once + each;
	return 1 + once + each * members;
}

static bool too_big(const struct pmr_event *event, unsigned int members)
{
	return pmr_read_words(event->attr.read_format, members) * sizeof(u64) >= READ_SIZE_MAX;
}

/**
 * pmr_group_check_size() - can a group that grows still be read at once?
 * @leader: its leader, whose context's mutex is held
 * @event: its leader, or one that is to become a sibling
 *
 * Return: 0, or -E2BIG if the new event or any member could not.
 */
int pmr_group_check_size(struct pmr_event *leader, struct pmr_event *event)
{
	unsigned int members = leader->nr_siblings + 2;
	struct pmr_event *sibling;

	if (leader == event)
		return 0;
	if (too_big(event, members) || too_big(leader, members))
		return -E2BIG;
	pmr_for_each_sibling(sibling, leader)
		if (too_big(sibling, members))
			return -E2BIG;
	return 0;
}
