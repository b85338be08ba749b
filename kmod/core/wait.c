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
 * On the CPU that the contexts are in on, interrupts off. pmr_wait_sort(): the
 * context locked. pmr_wait_start() locks one at a time. pmr_wait_update() needs no
 * lock: no other CPU changes a context that is in here.
 */
#include <linux/jiffies.h>
#include <linux/list_sort.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "core/context.h"
#include "core/wait.h"

/*
 * How far apart waits can be. More is from times when a group did not compete
 * with the others, or needed less than they, and is nothing to make up for.
 */
#define WAIT_BOUND	(8 * (s64)TICK_NSEC)

static bool competes(const struct pmr_event *leader)
{
	return pmr_event_counts_here(leader) && pmr_group_needs_counters(leader);
}

/* Return: how many compete; their waits, until now, are added to @sum. */
static unsigned int add_waits(const struct pmr_context *context, s64 *sum)
{
	const struct pmr_event *leader;
	unsigned int number = 0;
	u64 now;

	if (!pmr_context_is_here(context))
		return 0;
	now = pmr_context_time(context);
	list_for_each_entry(leader, &context->flexible, entry) {
		if (!competes(leader))
			continue;
		*sum += pmr_wait_of(leader);
		if (leader->state == PMR_STATE_INACTIVE)
			*sum += now - leader->since;
		number++;
	}
	return number;
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

	number = add_waits(cpu_context, &sum) + add_waits(task_context, &sum);
	if (!number)
		return;
	sum = div_s64(sum, number);
	if (pmr_context_is_here(cpu_context))
		cpu_context->usual_wait += sum;
	if (pmr_context_is_here(task_context))
		task_context->usual_wait += sum;
}

static void bound_waits(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader;
	s64 longest = S64_MIN, wait;

	list_for_each_entry(leader, &context->flexible, entry) {
		pmr_event_update_times(leader, now);
		if (competes(leader))
			longest = max(longest, pmr_wait_of(leader));
	}
	if (longest == S64_MIN)
		return;
	longest = min(longest, WAIT_BOUND);
	list_for_each_entry(leader, &context->flexible, entry) {
		wait = pmr_wait_of(leader);
		leader->wait_offset += clamp(wait, longest - WAIT_BOUND, longest) - wait;
	}
}

static int compare_waits(void *unused, const struct list_head *a, const struct list_head *b)
{
	return pmr_wait_of(list_entry(a, struct pmr_event, entry)) <
	       pmr_wait_of(list_entry(b, struct pmr_event, entry));
}

/**
 * pmr_wait_sort() - begin a turn: who has waited longest becomes the first
 * @context: context that is in here, locked
 * @now: its time
 *
 * Of those that have waited equally long, who has counted in the last turn comes
 * last.
 */
void pmr_wait_sort(struct pmr_context *context, u64 now)
{
	struct pmr_event *leader, *next;
	LIST_HEAD(had);

	list_for_each_entry_safe(leader, next, &context->flexible, entry)
		if (leader->turn == context->turn)
			list_move_tail(&leader->entry, &had);
	list_splice_tail(&had, &context->flexible);
	bound_waits(context, now);
	list_sort(NULL, &context->flexible, compare_waits);
	context->turn++;
	context->turned = now;
}

/**
 * struct queue - the flexible groups of a context, one after the other
 * @context: context
 * @now: its time
 * @first: leader of the next one, its times up to date, or NULL
 */
struct queue {
	struct pmr_context *context;
	u64 now;
	struct pmr_event *first;
};

static void set_first(struct queue *queue, struct list_head *entry)
{
	if (entry == &queue->context->flexible) {
		queue->first = NULL;
		return;
	}
	queue->first = list_entry(entry, struct pmr_event, entry);
	pmr_event_update_times(queue->first, queue->now);
}

static void begin_queue(struct queue *queue, struct pmr_context *context)
{
	queue->context = context;
	queue->first = NULL;
	if (!pmr_context_is_here(context))
		return;
	raw_spin_lock(&context->lock);
	queue->now = pmr_context_time(context);
	context->waiting = 0;
	set_first(queue, context->flexible.next);
	raw_spin_unlock(&context->lock);
}

static void start_first(struct queue *queue)
{
	raw_spin_lock(&queue->context->lock);
	if (!pmr_group_start(queue->first, queue->now))
		queue->context->waiting++;
	set_first(queue, queue->first->entry.next);
	raw_spin_unlock(&queue->context->lock);
}

static bool comes_before(const struct queue *queue, const struct queue *other)
{
	if (!queue->first || !other->first)
		return queue->first;
	return pmr_wait_of(queue->first) >= pmr_wait_of(other->first);
}

/**
 * pmr_wait_start() - let all flexible groups count for which there is room
 * @cpu_context: the CPU's context
 * @task_context: the task's, or NULL
 *
 * Who has waited longest comes first. How many find no room is in the contexts'
 * waiting.
 */
void pmr_wait_start(struct pmr_context *cpu_context, struct pmr_context *task_context)
{
	struct queue of_cpu, of_task;

	begin_queue(&of_cpu, cpu_context);
	begin_queue(&of_task, task_context);
	while (of_cpu.first || of_task.first)
		start_first(comes_before(&of_cpu, &of_task) ? &of_cpu : &of_task);
}
