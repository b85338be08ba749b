// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the order in which flexible groups get counters. The group that has waited longest
 * comes first. A group waits while it is enabled and its context is scheduled in, but it
 * does not count.
 *
 * Each rotation serves the longest wait first, so all waits stay close to the average.
 * A group waits less than that only if it fits where no other group does. Groups of the
 * CPU and of the task compete with each other. Each context keeps the average in its own
 * time; the wait of a group relative to that average compares across contexts.
 *
 * The waits of all waiting groups grow at the same rate, so their order is fixed. They
 * are in a tree, keyed by their wait as of context time 0. Groups that get counters are
 * holders until the next rotation, which puts only these back. So the cost of a rotation
 * depends on the number of counters, not on the number of waiting groups. Groups that
 * need no counters are in a list of their own; groups that are off or bound to another
 * CPU are in no container.
 *
 * Everything runs on the CPU that the contexts are scheduled in on (on any CPU for one
 * that is scheduled out), with interrupts off and the context locked. pmr_wait_start()
 * instead locks one context at a time, and pmr_wait_update() locks none: no other CPU
 * changes a context that is scheduled in here.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>

#include "core/context.h"
#include "core/wait.h"

/*
 * Bound on the difference between two waits. A larger difference comes from a time when
 * one group did not compete, or needed fewer counters, and must not be compensated.
 */
#define WAIT_BOUND	(8 * (s64)TICK_NSEC)

static struct pmr_event *event_of(struct rb_node *node)
{
	return node ? rb_entry(node, struct pmr_event, wait_node) : NULL;
}

/* The wait of a group relative to the average, up to now. */
static s64 wait_of(const struct pmr_event *leader, u64 now)
{
	s64 wait = leader->enabled - leader->running + leader->wait_offset -
		   leader->context->usual_wait;

	return leader->state == PMR_STATE_INACTIVE ? wait + (now - leader->since) : wait;
}

/* The longest wait of all competing groups, or S64_MIN if there is none. */
static s64 longest_wait(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader = event_of(rb_first_cached(&context->queue));
	s64 longest = leader ? wait_of(leader, now) : S64_MIN;

	list_for_each_entry(leader, &context->holders, placed)
		longest = max(longest, wait_of(leader, now));
	return min(longest, WAIT_BOUND);
}

/* Sort order: longest wait first; equal waits in order of insertion. */
static bool waits_longer(struct rb_node *a, const struct rb_node *b)
{
	return (s64)(rb_entry(a, struct pmr_event, wait_node)->wait_key -
		     rb_entry(b, struct pmr_event, wait_node)->wait_key) > 0;
}

/* @longest: the longest wait of all competing groups, or S64_MIN. */
static void bound_wait(struct pmr_event *leader, u64 now, s64 longest)
{
	s64 wait = wait_of(leader, now);

	if (longest != S64_MIN)
		leader->wait_offset += clamp(wait, longest - WAIT_BOUND, longest) - wait;
}

static void enqueue(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	leader->wait_key = leader->enabled - leader->running + leader->wait_offset -
			   leader->since;
	leader->place = PMR_PLACE_QUEUE;
	rb_add_cached(&leader->wait_node, &context->queue, waits_longer);
	context->queued++;
	context->queued_keys += leader->wait_key;
}

static void leave(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	if (leader->place == PMR_PLACE_QUEUE) {
		rb_erase_cached(&leader->wait_node, &context->queue);
		context->queued--;
		context->queued_keys -= leader->wait_key;
	} else if (leader->place != PMR_PLACE_NONE) {
		list_del_init(&leader->placed);
	}
	leader->place = PMR_PLACE_NONE;
}

static bool competes_here(const struct pmr_event *leader)
{
	const struct pmr_context *context = leader->context;

	return leader->state >= PMR_STATE_INACTIVE &&
	       (leader->cpu < 0 || !context->task || leader->cpu == context->last_cpu);
}

static enum pmr_place place_of(const struct pmr_event *leader)
{
	if (!competes_here(leader))
		return PMR_PLACE_NONE;
	if (!pmr_group_needs_counters(leader))
		return PMR_PLACE_SOFTWARE;
	if (leader->state == PMR_STATE_ACTIVE || leader->place == PMR_PLACE_HOLDERS)
		return PMR_PLACE_HOLDERS;
	return PMR_PLACE_QUEUE;
}

/* The group may have waited for counters that it no longer needs: let it start. */
static void place_software(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	list_add_tail(&leader->placed, &context->software);
	if (leader->state == PMR_STATE_ACTIVE || !pmr_context_is_here(context))
		return;
	context->waiting++;
	__this_cpu_write(pmr_schedule_due, true);
}

/* A group that starts to compete waits at most as long as the others, and not much less. */
static void begin_competing(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;
	s64 longest;
	u64 now;

	if (!context->queued && list_empty(&context->holders))
		return;
	now = pmr_context_time(context);
	longest = longest_wait(context, now);
	bound_wait(leader, now, max_t(s64, longest, 0));
}

/**
 * pmr_wait_place() - put a group into the container that its state asks for
 * @leader: its leader, attached to a locked context
 *
 * Called whenever the group's state, or its need for counters, has changed.
 */
void pmr_wait_place(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;
	enum pmr_place place;

	lockdep_assert_held(&context->lock);
	if (leader->attr.pinned)
		return;
	place = place_of(leader);
	if (place == leader->place)
		return;
	if (place >= PMR_PLACE_HOLDERS && leader->place < PMR_PLACE_HOLDERS)
		begin_competing(leader);
	if (leader->place != PMR_PLACE_NONE)
		leave(leader);
	leader->place = place;
	if (place == PMR_PLACE_HOLDERS)
		list_add_tail(&leader->placed, &context->holders);
	else if (place == PMR_PLACE_QUEUE)
		enqueue(leader);
	else if (place == PMR_PLACE_SOFTWARE)
		place_software(leader);
}

/**
 * pmr_wait_add() - add a flexible group to its context
 * @leader: its leader
 *
 * A new group starts with the average wait.
 */
void pmr_wait_add(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	lockdep_assert_held(&context->lock);
	leader->wait_offset = context->usual_wait - (leader->enabled - leader->running);
	INIT_LIST_HEAD(&leader->placed);
	list_add_tail(&leader->entry, &context->flexible);
	context->bound += leader->cpu >= 0;
	pmr_wait_place(leader);
}

/**
 * pmr_wait_remove() - remove a flexible group from its context
 * @leader: its leader
 */
void pmr_wait_remove(struct pmr_event *leader)
{
	lockdep_assert_held(&leader->context->lock);
	leave(leader);
	list_del_init(&leader->entry);
	leader->context->bound -= leader->cpu >= 0;
}

/**
 * pmr_wait_move() - a context is about to be scheduled in on a new CPU
 * @context: context that is scheduled out, locked
 * @cpu: the new CPU
 *
 * Groups bound to the new CPU start to compete, groups bound to the old one stop.
 */
void pmr_wait_move(struct pmr_context *context, int cpu)
{
	struct pmr_event *leader;

	lockdep_assert_held(&context->lock);
	context->last_cpu = cpu;
	if (!context->bound || !context->task)
		return;
	list_for_each_entry(leader, &context->flexible, entry)
		if (leader->cpu >= 0)
			pmr_wait_place(leader);
}

/* Adds the waits of all competing groups to @sum. Return: the number of groups. */
static unsigned int add_waits(const struct pmr_context *context, s64 *sum)
{
	unsigned int number = 0;
	struct pmr_event *leader;
	u64 now;

	if (!pmr_context_is_here(context))
		return 0;
	now = pmr_context_time(context);
	*sum += context->queued_keys + context->queued * (now - context->usual_wait);
	list_for_each_entry(leader, &context->holders, placed) {
		*sum += wait_of(leader, now);
		number++;
	}
	return context->queued + number;
}

/**
 * pmr_wait_update() - update the average wait
 * @task_context: the task's context, or NULL
 *
 * Needed before a context is scheduled in or out, and before groups are compared. The
 * average advances only while a group is waiting, and only in contexts that are scheduled
 * in here. So scheduling a context out does not change the relative waits of its groups.
 */
void pmr_wait_update(struct pmr_context *task_context)
{
	struct pmr_context *cpu_context = this_cpu_ptr(&pmr_cpu_context);
	unsigned int number;
	s64 sum = 0;

	lockdep_assert_irqs_disabled();
	number = add_waits(cpu_context, &sum) + add_waits(task_context, &sum);
	if (!number)
		return;
	sum = div_s64(sum, number);
	if (pmr_context_is_here(cpu_context))
		cpu_context->usual_wait += sum;
	if (pmr_context_is_here(task_context))
		task_context->usual_wait += sum;
}

/**
 * pmr_wait_turn() - rotate: sort the holders that lost their counters back into the queue
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 *
 * Among equal waits, former holders come last. Groups that still count keep their
 * counters.
 */
void pmr_wait_turn(struct pmr_context *context, u64 now)
{
	s64 longest = longest_wait(context, now);
	struct pmr_event *leader, *next;

	lockdep_assert_held(&context->lock);
	list_for_each_entry_safe(leader, next, &context->holders, placed) {
		if (leader->state == PMR_STATE_ACTIVE)
			continue;
		bound_wait(leader, now, longest);
		leave(leader);
		enqueue(leader);
	}
	context->turned = now;
}

/* Holders that lost their counters between rotations come before the queue. */
static struct pmr_event *next_holder(struct pmr_context *context, struct list_head *entry)
{
	struct pmr_event *leader;

	for (entry = entry->next; entry != &context->holders; entry = entry->next) {
		leader = list_entry(entry, struct pmr_event, placed);
		if (leader->state == PMR_STATE_INACTIVE)
			return leader;
	}
	return event_of(rb_first_cached(&context->queue));
}

static struct pmr_event *next_waiting(struct pmr_context *context, struct pmr_event *leader)
{
	if (leader->place == PMR_PLACE_HOLDERS)
		return next_holder(context, &leader->placed);
	return event_of(rb_next(&leader->wait_node));
}

static void count_waiting(struct pmr_context *context)
{
	struct pmr_event *leader;

	context->waiting = context->queued;
	list_for_each_entry(leader, &context->holders, placed)
		context->waiting += leader->state == PMR_STATE_INACTIVE;
}

/**
 * pmr_wait_start_software() - start the groups of one context that need no counters
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 */
void pmr_wait_start_software(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader, *next;

	lockdep_assert_held(&context->lock);
	list_for_each_entry_safe(leader, next, &context->software, placed)
		pmr_group_start(leader, now);
}

/**
 * pmr_wait_stop_software() - stop the groups of one context that need no counters
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 */
void pmr_wait_stop_software(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	lockdep_assert_held(&context->lock);
	list_for_each_entry(leader, &context->software, placed)
		if (leader->state == PMR_STATE_ACTIVE)
			pmr_group_stop(leader, now);
}

static bool is_hopeless(const struct pmr_event *leader, u64 taken)
{
	return !leader->hw.pmu->software && leader->hw.allowed & taken &&
	       !(leader->hw.allowed & ~taken);
}

/* After an attempt to start a group of one: the counters that it could not get. */
static u64 found_taken(const struct pmr_event *leader)
{
	if (leader->state != PMR_STATE_INACTIVE || leader->nr_siblings ||
	    leader->attr.exclusive || leader->hw.pmu->software)
		return 0;
	return leader->hw.allowed;
}

/*
 * @taken: counters that could not be freed for an earlier event. The group may have been
 * disabled since it was queued; then it is only moved.
 */
static void try_start(struct pmr_event *leader, u64 now, u64 *taken)
{
	if (is_hopeless(leader, *taken))
		return;
	if (leader->state == PMR_STATE_INACTIVE)
		pmr_group_start(leader, now);
	else
		pmr_wait_place(leader);
	*taken |= found_taken(leader);
}

/**
 * pmr_wait_start_queued() - start the groups in the queue of one context
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 *
 * In queue order, while counters are left. If no counter could be freed for one event,
 * later events that can use only those counters are skipped.
 */
void pmr_wait_start_queued(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader = event_of(rb_first_cached(&context->queue)), *next;
	u64 taken = 0;

	lockdep_assert_held(&context->lock);
	for (; leader && pmr_counters_left(); leader = next) {
		next = event_of(rb_next(&leader->wait_node));
		try_start(leader, now, &taken);
	}
}

/**
 * struct queue - iterator over the waiting flexible groups of a context
 * @context: context
 * @now: context time
 * @first: leader of the next group, or NULL
 */
struct queue {
	struct pmr_context *context;
	u64 now;
	struct pmr_event *first;
};

static void begin_queue(struct queue *queue, struct pmr_context *context)
{
	queue->context = context;
	queue->first = NULL;
	if (!pmr_context_is_here(context))
		return;
	raw_spin_lock(&context->lock);
	queue->now = pmr_context_time(context);
	pmr_wait_start_software(context, queue->now);
	queue->first = next_holder(context, &context->holders);
	raw_spin_unlock(&context->lock);
}

static void start_first(struct queue *queue, u64 *taken)
{
	struct pmr_event *leader = queue->first;

	raw_spin_lock(&queue->context->lock);
	queue->first = next_waiting(queue->context, leader);
	try_start(leader, queue->now, taken);
	raw_spin_unlock(&queue->context->lock);
}

static void end_queue(struct queue *queue)
{
	if (!pmr_context_is_here(queue->context))
		return;
	raw_spin_lock(&queue->context->lock);
	count_waiting(queue->context);
	raw_spin_unlock(&queue->context->lock);
}

static bool comes_before(const struct queue *queue, const struct queue *other)
{
	if (!queue->first || !other->first)
		return queue->first;
	return min(wait_of(queue->first, queue->now), WAIT_BOUND) >=
	       min(wait_of(other->first, other->now), WAIT_BOUND);
}

/**
 * pmr_wait_start() - start the waiting flexible groups of both contexts
 * @cpu_context: the CPU's context
 * @task_context: the task's context, or NULL
 *
 * The longest wait comes first. On return, the waiting field of each context counts the
 * groups that did not fit.
 */
void pmr_wait_start(struct pmr_context *cpu_context, struct pmr_context *task_context)
{
	struct queue of_cpu, of_task;
	u64 taken = 0;

	lockdep_assert_irqs_disabled();
	begin_queue(&of_cpu, cpu_context);
	begin_queue(&of_task, task_context);
	while ((of_cpu.first || of_task.first) && pmr_counters_left())
		start_first(comes_before(&of_cpu, &of_task) ? &of_cpu : &of_task, &taken);
	end_queue(&of_cpu);
	end_queue(&of_task);
}

/**
 * pmr_wait_stop() - stop the flexible groups that hold counters
 * @context: context that is scheduled in on this CPU, locked
 * @now: context time
 */
void pmr_wait_stop(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	lockdep_assert_held(&context->lock);
	list_for_each_entry(leader, &context->holders, placed) {
		if (leader->state != PMR_STATE_ACTIVE)
			continue;
		pmr_group_stop(leader, now);
		context->waiting++;
	}
}
