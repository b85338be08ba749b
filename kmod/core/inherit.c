// SPDX-License-Identifier: GPL-2.0
/*
 * Makes inherited copies (child events) at a fork. reap.c ends them.
 *
 * pmr_task_fork(): the forking task, preemption off. Locks the context of the parent
 * task, then, nested, that of the child task, which has not run yet, then children_lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/sideband.h"
#include "pmu/period.h"
#include "pmu/x86/rdpmc.h"

/*
 * Events that are copied with interrupts off at a time, but for a group, which is copied
 * whole.
 */
#define PORTION		64

static atomic64_t missed;

/* A copy has the original's hw event, with all counts at zero and on no counter. */
static void copy_hw(struct pmr_hw *hw, const struct pmr_hw *original, u64 period)
{
	*hw = *original;
	hw->count = 0;
	hw->base = 0;
	hw->user_page = NULL;
	hw->idx = -1;
	hw->throttled = false;
	if (hw->sampling)
		pmr_period_set(hw, period);
	if (hw->pmu->software)
		pmr_software_init_copy(hw);
}

static void fill_copy(struct pmr_event *copy, struct pmr_event *event, struct pmr_context *context)
{
	struct pmr_event *top = event->top;

	/*
	 * PERF_EVENT_IOC_PERIOD changes the top event and copies made later. It holds the
	 * lock of the top's context, and the copy of a copy is made under another one.
	 */
	data_race(copy->attr = top->attr);
	copy->attr.sample_period = READ_ONCE(top->attr.sample_period);
	copy_hw(&copy->hw, &event->hw,
		copy->attr.freq ? event->hw.period : copy->attr.sample_period);
	copy->freq_period = event->freq_period;
	copy->plan = event->plan;
	copy->top = top;
	copy->cpu = event->cpu;
	copy->pid_ns = top->pid_ns;	/* no reference: the top outlives the copy */
	copy->context = context;
	copy->task = get_task_struct(context->task);	/* marks a task event */
	copy->state = event->state >= PMR_STATE_INACTIVE ? PMR_STATE_INACTIVE : PMR_STATE_OFF;
	copy->since = pmr_context_time(context);
	pmr_event_init_common(copy);
	refcount_inc(&context->ref);
	kref_get(&top->ref);
}

/* The close of the top event is about to remove @event from its group and context. */
static bool is_orphaned(const struct pmr_event *event)
{
	return READ_ONCE(event->top->orphaned);
}

static bool is_inherited(const struct pmr_event *event, u64 clone_flags)
{
	return event->attr.inherit && event->state > PMR_STATE_EXIT &&
	       (!event->attr.inherit_thread || clone_flags & CLONE_THREAD);
}

/**
 * struct fork - a fork in progress
 * @context: the child's context
 * @id: of this fork, never 0
 * @spares: events to make copies of
 * @number: how many
 * @wanted: spares that the next portion takes
 * @short_of_memory: there will be no more of them
 * @group: copies of the group that is being copied
 * @clone_flags: of the fork
 * @total: copies to be made, when the fork began
 * @copied: copies made
 * @missed: copies that could not be made
 */
struct fork {
	struct pmr_context *context;
	u64 id;
	struct list_head spares;
	unsigned int number;
	unsigned int wanted;
	bool short_of_memory;
	struct list_head group;
	u64 clone_flags;
	unsigned int total;
	unsigned int copied;
	unsigned int missed;
};

static struct pmr_event *copy_event(struct fork *fork, struct pmr_event *event,
				    struct pmr_event *leader)
{
	struct pmr_event *copy = list_first_entry(&fork->spares, struct pmr_event, all);

	list_del_init(&copy->all);
	fork->number--;
	fork->copied++;
	fill_copy(copy, event, fork->context);
	pmr_group_attach(copy, leader ?: copy);
	list_add_tail(&copy->picked, &fork->group);
	return copy;
}

/*
 * As in perf, the siblings of a leader whose top is being closed become single events. A
 * skipped sibling is about to leave the original group too, which increments generation
 * there; left_out makes up for that.
 */
static void copy_members(struct fork *fork, struct pmr_event *leader)
{
	struct pmr_event *copy = NULL, *sibling;
	unsigned int left_out = 0;

	if (!is_orphaned(leader))
		copy = copy_event(fork, leader, NULL);
	pmr_for_each_sibling(sibling, leader) {
		if (is_orphaned(sibling))
			left_out++;
		else
			copy_event(fork, sibling, copy);
	}
	if (copy)
		copy->generation = leader->generation + left_out;
}

/*
 * The original is still in its locked context, so a close of the top event has not reached
 * it yet. The close walks the list in order, so it will also find the copy, added behind.
 */
static void add_child(struct pmr_event *top, struct pmr_event *copy)
{
	raw_spin_lock(&top->children_lock);
	list_add_tail_rcu(&copy->child, &top->children);
	raw_spin_unlock(&top->children_lock);
}

/* Readers must not find an incomplete group. */
static void publish_group(struct fork *fork)
{
	struct pmr_event *copy, *next;

	list_for_each_entry_safe(copy, next, &fork->group, picked) {
		list_del_init(&copy->picked);
		add_child(copy->top, copy);
	}
}

/* Its siblings as well: if the leader is closed before the next portion, they are leaders. */
static void mark_group(struct fork *fork, struct pmr_event *leader)
{
	struct pmr_event *sibling;

	leader->forked = fork->id;
	pmr_for_each_sibling(sibling, leader)
		sibling->forked = fork->id;
}

/*
 * A portion, or as many as are left to copy, or a big group takes. If groups have come
 * meanwhile, more than are likely to come again.
 */
static unsigned int spares_for(const struct fork *fork, unsigned int members)
{
	unsigned int done = fork->copied + fork->missed;
	unsigned int left = fork->total > done ? fork->total - done : PORTION;

	return max(members, min_t(unsigned int, left, PORTION));
}

/*
 * A group whole or not at all: nobody could read it together with half a copy.
 *
 * Return: false if it takes more spares.
 */
static bool copy_group(struct fork *fork, struct pmr_event *leader)
{
	unsigned int members = 1 + leader->nr_siblings;

	if (leader->forked == fork->id || !is_inherited(leader, fork->clone_flags))
		return true;
	if (fork->number < members && !fork->short_of_memory) {
		fork->wanted = spares_for(fork, members);
		return false;
	}
	mark_group(fork, leader);
	if (fork->number < members) {
		fork->missed += members;
		return true;
	}
	copy_members(fork, leader);
	publish_group(fork);
	return true;
}

/* PERF_RECORD_READ reports the count of one task, so inherit_stat excludes swapping. */
static bool may_be_exchanged(const struct pmr_event *event, u64 clone_flags)
{
	return is_inherited(event, clone_flags) && !event->attr.inherit_stat;
}

/*
 * A context that holds copies of all events of its parent, and no other event, is a clone,
 * and so are the clones made from it. Contexts of opened events are never swapped.
 */
static void found_family(struct fork *fork, struct pmr_context *parent)
{
	static atomic64_t families;
	struct pmr_event *event;

	if (fork->missed || fork->copied != parent->number ||
	    fork->context->number != parent->number)
		return;
	/* Between two portions one event may leave and another come: the number stays. */
	list_for_each_entry(event, &parent->events, all)
		if (event->forked != fork->id || !may_be_exchanged(event, fork->clone_flags))
			return;
	if (!parent->offspring)
		parent->offspring = parent->family ?: atomic64_inc_return(&families);
	fork->context->family = parent->offspring;
}

static unsigned int number_of_copies(struct pmr_context *parent, u64 clone_flags)
{
	struct pmr_event *event;
	unsigned int number = 0;

	list_for_each_entry(event, &parent->events, all)
		number += is_inherited(event->leader, clone_flags);
	return number;
}

/* Return: true if all groups of the list have been copied. */
static bool copy_list(struct fork *fork, struct list_head *groups)
{
	struct pmr_event *leader;

	list_for_each_entry(leader, groups, entry)
		if (!copy_group(fork, leader))
			return false;
	return true;
}

/*
 * As many groups as there are spares for. Interrupts are off meanwhile, some 0.3 us for
 * each event; between two portions groups may change as before or after the fork.
 *
 * Return: true if all have been copied.
 */
static bool copy_portion(struct fork *fork, struct pmr_context *parent)
{
	struct pmr_context *context = fork->context;
	unsigned long flags;
	bool all;

	raw_spin_lock_irqsave(&parent->lock, flags);
	raw_spin_lock_nested(&context->lock, SINGLE_DEPTH_NESTING);
	all = copy_list(fork, &parent->pinned) && copy_list(fork, &parent->flexible);
	if (all)
		found_family(fork, parent);
	raw_spin_unlock(&context->lock);
	raw_spin_unlock_irqrestore(&parent->lock, flags);
	return all;
}

static void report_missed(struct task_struct *child, unsigned int number)
{
	atomic64_add(number, &missed);
	pr_warn_ratelimited("%u events not inherited by task %d: out of memory\n",
			    number, task_pid_nr(child));
}

/*
 * Nothing may sleep here. The task that forks pays: its memory cgroup is charged, if
 * need be beyond its limit, which the next allocation of the task then has to mend.
 */
static void take_spares(struct fork *fork)
{
	struct pmr_event *event;

	for (; fork->number < fork->wanted; fork->number++) {
		event = kzalloc(sizeof(*event), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
		if (!event) {
			fork->short_of_memory = true;
			return;
		}
		list_add(&event->all, &fork->spares);
	}
}

static void free_spares(struct fork *fork)
{
	struct pmr_event *event, *next;

	list_for_each_entry_safe(event, next, &fork->spares, all)
		kfree(event);
}

static void inherit(struct pmr_context *parent, struct task_struct *child, u64 clone_flags,
		    unsigned int number)
{
	static atomic64_t forks;
	struct fork fork = {
		.id = atomic64_inc_return(&forks),
		.wanted = min_t(unsigned int, number, PORTION),
		.total = number,
		.spares = LIST_HEAD_INIT(fork.spares),
		.group = LIST_HEAD_INIT(fork.group),
		.clone_flags = clone_flags,
	};

	fork.context = pmr_task_context_new(child);
	if (!fork.context) {
		report_missed(child, number);
		return;
	}
	/* Groups may come meanwhile, but not without end: a context's events are limited. */
	do
		take_spares(&fork);
	while (!copy_portion(&fork, parent));
	free_spares(&fork);
	if (fork.missed)
		report_missed(child, fork.missed);
	pmr_context_put(fork.context);
}

static unsigned int count_copies(struct pmr_context *parent, u64 clone_flags)
{
	unsigned int number;
	unsigned long flags;

	raw_spin_lock_irqsave(&parent->lock, flags);
	number = number_of_copies(parent, clone_flags);
	raw_spin_unlock_irqrestore(&parent->lock, flags);
	return number;
}

/**
 * pmr_task_fork() - inherit events to a forked task
 * @child: the new task, which has not run yet
 * @clone_flags: as given to clone()
 *
 * Context: preemption off, so that RCU keeps the context of current.
 */
void pmr_task_fork(struct task_struct *child, u64 clone_flags)
{
	struct pmr_context *parent = pmr_task_context_find(current);
	unsigned int number = 0;

	lockdep_assert_preemption_disabled();
	if (parent)
		number = count_copies(parent, clone_flags);
	if (number)
		inherit(parent, child, clone_flags, number);
	if (child->mm && child->mm != current->mm)
		pmr_rdpmc_forked(child->mm);
	pmr_sideband_fork(child);
}

/* Events that were not inherited for lack of memory, since load. */
u64 pmr_inherit_missed(void)
{
	return atomic64_read(&missed);
}
