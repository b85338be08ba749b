// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the order in which flexible groups get counters: by how long they have
 * waited for some, that is, have been enabled while their context was in, and have
 * not counted.
 *
 * If the first one gets counters whenever turns are taken, all wait equally long:
 * as long as is usual. Only those wait less that fit where no other does. This
 * holds for groups of the CPU and of the task together: each context knows what is
 * usual, in its own time, and what a group has waited more than that can be compared.
 *
 * Groups that wait keep their order among each other, since all wait on: they are in a
 * tree, by what their waits would have been at time 0 of the context. Groups that have
 * counters are holders until their turn ends; only these have to be put back then. So a
 * turn costs as much as there are counters, however many groups wait. Groups that need no
 * counters are in a list of their own, those that are off or for another CPU in none.
 *
 * On the CPU that the contexts are in on (or on any, for one that is out), interrupts off.
 * The context is locked, but for pmr_wait_start(), which locks one at a time, and
 * pmr_wait_update(): no other CPU changes a context that is in here.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>

#include "core/context.h"
#include "core/wait.h"

/*
 * How far apart waits can be. More is from times when a group did not compete
 * with the others, or needed less than they, and is nothing to make up for.
 */
#define WAIT_BOUND	(8 * (s64)TICK_NSEC)

static struct pmr_event *event_of(struct rb_node *node)
{
	return node ? rb_entry(node, struct pmr_event, wait_node) : NULL;
}

/* How much longer than usual a group has waited; it may wait still. */
static s64 wait_of(const struct pmr_event *leader, u64 now)
{
	s64 wait = leader->enabled - leader->running + leader->wait_offset -
		   leader->context->usual_wait;

	return leader->state == PMR_STATE_INACTIVE ? wait + (now - leader->since) : wait;
}

/* The longest wait of those that compete, or S64_MIN if none does. */
static s64 longest_wait(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader = event_of(rb_first_cached(&context->queue));
	s64 longest = leader ? wait_of(leader, now) : S64_MIN;

	list_for_each_entry(leader, &context->holders, placed)
		longest = max(longest, wait_of(leader, now));
	return min(longest, WAIT_BOUND);
}

/* The longest wait comes first; of equal ones, the one that came first. */
static bool waits_longer(struct rb_node *a, const struct rb_node *b)
{
	return (s64)(rb_entry(a, struct pmr_event, wait_node)->wait_key -
		     rb_entry(b, struct pmr_event, wait_node)->wait_key) > 0;
}

/* @longest: of all that compete, or S64_MIN. */
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

/* It needs no counters any more, and may have waited for some. */
static void place_software(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	list_add_tail(&leader->placed, &context->software);
	if (leader->state == PMR_STATE_ACTIVE || !pmr_context_is_here(context))
		return;
	context->waiting++;
	__this_cpu_write(pmr_schedule_due, true);
}

/* It has no claim to what others have had meanwhile, and is not far behind them. */
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
 * pmr_wait_place() - put a group where its state belongs
 * @leader: its leader, which is attached to its context
 *
 * Whenever it, or what it needs, has changed.
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
 * pmr_wait_add() - a group is new in its context
 * @leader: its leader
 *
 * It has waited as long as is usual.
 */
void pmr_wait_add(struct pmr_event *leader)
{
	struct pmr_context *context = leader->context;

	leader->wait_offset = context->usual_wait - (leader->enabled - leader->running);
	INIT_LIST_HEAD(&leader->placed);
	list_add_tail(&leader->entry, &context->flexible);
	context->bound += leader->cpu >= 0;
	pmr_wait_place(leader);
}

/**
 * pmr_wait_remove() - a flexible group leaves its context
 * @leader: its leader
 */
void pmr_wait_remove(struct pmr_event *leader)
{
	leave(leader);
	list_del_init(&leader->entry);
	leader->context->bound -= leader->cpu >= 0;
}

/**
 * pmr_wait_move() - a context comes in on another CPU than the last time
 * @context: context that is out, locked
 * @cpu: the CPU
 *
 * Groups that are for one of the two CPUs begin to compete, or cease to.
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

/* Return: how many compete; their waits, until now, are added to @sum. */
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
 * pmr_wait_update() - bring what is usual up to date, before a context comes in
 * or goes out, and before groups are compared
 * @task_context: the task's context, or NULL
 *
 * What is usual grows while somebody waits, and for those contexts that are in
 * here. So one that is out finds its groups as far from it as they were.
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
 * pmr_wait_turn() - begin a turn: the group that has waited longest becomes the first
 * @context: context that is in here, locked
 * @now: its time
 *
 * Of those that have waited equally long, those that have counted in the last turn
 * come last. Groups that count still keep their counters.
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

/* Holders that have lost their counters in mid-turn come before all others. */
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
 * pmr_wait_start_software() - let groups of one context count that need no counters
 * @context: context that is in here, locked
 * @now: its time
 */
void pmr_wait_start_software(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader, *next;

	lockdep_assert_held(&context->lock);
	list_for_each_entry_safe(leader, next, &context->software, placed)
		pmr_group_start(leader, now);
}

/**
 * pmr_wait_stop_software() - these groups go out with their context
 * @context: context that is in here, locked
 * @now: its time
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

/* The counters of which @leader, alone and after an attempt to start it, has got none. */
static u64 found_taken(const struct pmr_event *leader)
{
	if (leader->state != PMR_STATE_INACTIVE || leader->nr_siblings ||
	    leader->attr.exclusive || leader->hw.pmu->software)
		return 0;
	return leader->hw.allowed;
}

/*
 * @taken: counters that are known to be taken, by events that can use no others. The
 * group may not want to count any more.
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
 * pmr_wait_start_queued() - let groups of one context count that wait for counters
 * @context: context that is in here, locked
 * @now: its time
 *
 * In the order of their waits, while there are counters. Once no counter could be made
 * free for one event, none can for an event that could use no others.
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
 * struct queue - the flexible groups of a context that wait, one after the other
 * @context: context
 * @now: its time
 * @first: leader of the next one, or NULL
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
 * pmr_wait_start() - let all flexible groups count for which there is room
 * @cpu_context: the CPU's context
 * @task_context: the task's, or NULL
 *
 * The one that has waited longest comes first. How many find no room is in the contexts'
 * waiting.
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
 * pmr_wait_stop() - flexible groups make room
 * @context: context that is in here, locked
 * @now: its time
 */
void pmr_wait_stop(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, &context->holders, placed) {
		if (leader->state != PMR_STATE_ACTIVE)
			continue;
		pmr_group_stop(leader, now);
		context->waiting++;
	}
}
