// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the counts of an event or of a group, including inherited copies, live or ended.
 *
 * Task context, may sleep. Takes the context's mutex, so that groups do not grow, and so
 * that the reaper cannot move a count from a copy to its top event during the read. An exec
 * can take members out of a group under the context's lock alone, so groups are walked
 * under that lock. Static functions with a context argument are context function calls.
 */
#include <linux/slab.h>

#include "core/context.h"
#include "core/event.h"
#include "core/inherit.h"

/* Limit on the size of a group read (perf_event_open(2), E2BIG). */
#define READ_SIZE_MAX	(16 * 1024)

/**
 * struct read - argument of read_one()
 * @event: event to read
 * @value: sum that the count and times are added to
 */
struct read {
	struct pmr_event *event;
	struct pmr_value *value;
};

static u64 count_of(const struct pmr_event *event)
{
	const struct pmr_hw *hw = &event->hw;

	lockdep_assert_held(&event->context->lock);
	return (event->state == PMR_STATE_ACTIVE ? hw->pmu->count(hw) : hw->count) - hw->base;
}

static void read_one(struct pmr_context *context, void *arg)
{
	struct read *read = arg;
	struct pmr_event *event = read->event;
	u64 now = pmr_context_time(context);

	pmr_event_update_times(event, now);
	read->value->count += count_of(event);
	read->value->enabled += event->enabled;
	read->value->running += event->running;
	pmr_event_update_user_page(event, now);
}

/**
 * pmr_event_read() - read the count and times of an event and its copies
 * @event: event
 * @value: filled in
 *
 * Count and times of one event match. The copies are read one after the other.
 */
void pmr_event_read(struct pmr_event *event, struct pmr_value *value)
{
	struct read arg = { .event = event, .value = value };
	struct pmr_event *copy;

	mutex_lock(&event->context->mutex);
	*value = (struct pmr_value) {
		.count = event->child_count,
		.enabled = event->child_enabled,
		.running = event->child_running,
	};
	pmr_context_call(event->context, read_one, &arg);
	pmr_for_each_copy(copy, event) {
		arg.event = copy;
		pmr_context_call(copy->context, read_one, &arg);
	}
	mutex_unlock(&event->context->mutex);
}

/* Words of one member: count, id, losses. */
static __always_inline unsigned int words_each(u64 format)
{
	return 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
}

static __always_inline unsigned int read_words(u64 format, unsigned int members)
{
	unsigned int each = words_each(format);
	unsigned int once = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (!(format & PERF_FORMAT_GROUP))
		return once + each;
	return 1 + once + each * members;
}

/**
 * struct group_read - a group read in progress
 * @event: the member that is read; then each copy of the leader in turn
 * @leader: the group's leader
 * @generation: the group's generation when the layout was made
 * @nr_siblings: number of siblings at that time
 * @words: result of read()
 * @room: size of @words
 * @used: number of words used
 * @enabled: word that the leader's enabled time is added to, or NULL
 * @running: word that its running time is added to, or NULL
 * @counts: word that the first count is added to
 * @stride: words from one count to the next
 * @error: -ECHILD, or -ENOSPC
 */
struct group_read {
	struct pmr_event *event;
	struct pmr_event *leader;
	u32 generation;
	u32 nr_siblings;
	u64 *words;
	unsigned int room;
	unsigned int used;
	u64 *enabled;
	u64 *running;
	u64 *counts;
	unsigned int stride;
	int error;
};

static void begin_member(u64 *word, u64 format, const struct pmr_event *event)
{
	*word++ = event->child_count;
	if (format & PERF_FORMAT_ID)
		*word++ = event->id;
	if (format & PERF_FORMAT_LOST)
		*word++ = READ_ONCE(event->lost);
}

/* Lays out the result: all of it but the counts and times of live events. */
static void begin_group(struct group_read *read, u64 format)
{
	struct pmr_event *leader = read->leader, *event;
	u64 *word = read->words;

	*word++ = leader->nr_siblings + 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		read->enabled = word;
		*word++ = leader->child_enabled;
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) {
		read->running = word;
		*word++ = leader->child_running;
	}
	read->counts = word;
	begin_member(word, format, leader);
	pmr_for_each_sibling(event, leader) {
		word += read->stride;
		begin_member(word, format, event);
	}
}

/*
 * Adds one group, the original or a copy, to the result. @leader may be a sibling: an exec
 * removed the leader of the original group, but not the copy of that leader.
 */
static void add_counts(struct group_read *read, struct pmr_event *leader, u64 now)
{
	struct pmr_event *event;
	u64 *count = read->counts;

	pmr_event_update_times(leader, now);
	if (read->enabled)
		*read->enabled += leader->enabled;
	if (read->running)
		*read->running += leader->running;
	*count += count_of(leader);
	pmr_for_each_sibling(event, leader) {
		count += read->stride;
		*count += count_of(event);
	}
	pmr_event_update_user_page(leader, now);
}

/* The layout is made here, under the context's lock: an exec may shrink the group. */
static void read_group(struct pmr_context *context, void *arg)
{
	struct group_read *read = arg;
	struct pmr_event *leader = read->event->leader;
	u64 format = read->event->attr.read_format;

	read->leader = leader;
	read->generation = leader->generation;
	read->nr_siblings = leader->nr_siblings;
	read->used = read_words(format, leader->nr_siblings + 1);
	if (read->used > read->room) {
		read->error = -ENOSPC;
		return;
	}
	begin_group(read, format);
	add_counts(read, leader, pmr_context_time(context));
}

/* A copy whose members differ from the original's cannot be added member by member. */
static void read_copy(struct pmr_context *context, void *arg)
{
	struct group_read *read = arg;
	struct pmr_event *copy = read->event;

	if (copy->nr_siblings != read->nr_siblings || copy->generation != read->generation)
		read->error = -ECHILD;
	else
		add_counts(read, copy, pmr_context_time(context));
}

static void read_with_copies(struct group_read *read)
{
	struct pmr_event *copy;

	pmr_context_call(read->event->context, read_group, read);
	if (read->error)
		return;
	pmr_for_each_copy(copy, read->leader) {
		read->event = copy;
		pmr_context_call(copy->context, read_copy, read);
		if (read->error)
			return;
	}
}

/*
 * Not locked: while the mutex is held a group only shrinks.
 *
 * Return: words that a group's counts take at most.
 */
static unsigned int group_words(const struct pmr_event *event)
{
	const struct pmr_event *leader = READ_ONCE(event->leader);

	lockdep_assert_held(&event->context->mutex);
	return read_words(event->attr.read_format, READ_ONCE(leader->nr_siblings) + 1);
}

/**
 * pmr_group_read() - read the counts of a group and its copies
 * @event: any member; its attr.read_format determines the layout
 * @few: room for PMR_READ_FEW words, which is enough for most groups
 * @words: result in the layout of read(): leader first, then the siblings in the order
 *	in which they were attached, with the leader's times. Either @few, or memory that
 *	the caller frees with kfree()
 * @size: bytes that the caller has room for
 *
 * The members of one group are read at the same time. The copies of the group are read one
 * after the other.
 *
 * Return: number of bytes; -ENOSPC if it exceeds @size; -ECHILD if the group changed
 * after a task inherited it; -ENOMEM.
 */
ssize_t pmr_group_read(struct pmr_event *event, u64 *few, u64 **words, size_t size)
{
	u64 format = event->attr.read_format;
	struct group_read read = {
		.event = event,
		.stride = words_each(format),
	};

	mutex_lock(&event->context->mutex);
	read.room = min_t(size_t, group_words(event), size / sizeof(u64));
	read.words = few;
	if (unlikely(read.room > PMR_READ_FEW))
		read.words = kmalloc_array(read.room, sizeof(u64), GFP_KERNEL);
	if (likely(read.words))
		read_with_copies(&read);
	else
		read.error = -ENOMEM;
	mutex_unlock(&event->context->mutex);
	if (unlikely(read.error)) {
		if (read.words != few)
			kfree(read.words);
		return read.error;
	}
	*words = read.words;
	return read.used * sizeof(u64);
}

/**
 * pmr_read_words() - size of the result of read()
 * @format: PERF_FORMAT_*
 * @members: number of group members
 *
 * Return: number of u64, see enum perf_event_read_format in perf_event.h.
 */
unsigned int pmr_read_words(u64 format, unsigned int members)
{
	return read_words(format, members);
}

static bool too_big(const struct pmr_event *event, unsigned int members)
{
	return pmr_read_words(event->attr.read_format, members) * sizeof(u64) > READ_SIZE_MAX;
}

/**
 * pmr_group_check_size() - limit the size of a group read before a sibling is added
 * @leader: the leader; the mutex of its context is held
 * @event: the leader itself, or the new sibling
 *
 * Return: 0, or -E2BIG if a group read of any member would exceed READ_SIZE_MAX.
 */
int pmr_group_check_size(struct pmr_event *leader, struct pmr_event *event)
{
	unsigned int members;
	struct pmr_event *sibling;
	bool big;

	lockdep_assert_held(&leader->context->mutex);
	if (leader == event)
		return 0;
	raw_spin_lock_irq(&leader->context->lock);
	members = leader->nr_siblings + 2;
	big = too_big(event, members) || too_big(leader, members);
	pmr_for_each_sibling(sibling, leader)
		big |= too_big(sibling, members);
	raw_spin_unlock_irq(&leader->context->lock);
	return big ? -E2BIG : 0;
}
