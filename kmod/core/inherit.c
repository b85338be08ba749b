// SPDX-License-Identifier: GPL-2.0
/*
 * Owns inherited copies: how a fork makes them, and how they end.
 *
 * pmr_task_fork(): the forking task, preemption off; locks its own context and,
 * nested, that of the child, which has not run yet, and children_lock inside.
 * pmr_inherit_end(): the copy's context locked. pmr_inherit_reap(): task context
 * or preemption off. orphan: task context, the context's mutex held; free: task context,
 * may sleep. The reaper: a worker; takes the mutex of the context of the top event.
 *
 * A task that ends leaves its counts in the copies; nobody waits for it. The reaper
 * adds them to the top event and takes the copy off its list under the mutex that
 * readers hold, so that a reader finds each count in one of the two places.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/llist.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>

#include "core/context.h"
#include "core/inherit.h"
#include "core/pool.h"
#include "core/sideband.h"
#include "pmu/period.h"
#include "pmu/x86/rdpmc.h"

static LLIST_HEAD(ended);
static atomic64_t missed;

/* The part that the PMU sees: as the original's, but nothing counted yet. */
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

	/* PERF_EVENT_IOC_PERIOD is for the event and those that come after it. */
	copy->attr = top->attr;
	copy_hw(&copy->hw, &event->hw,
		copy->attr.freq ? event->hw.period : copy->attr.sample_period);
	copy->freq_period = event->freq_period;
	copy->plan = event->plan;
	copy->top = top;
	copy->cpu = event->cpu;
	copy->pid_ns = top->pid_ns;	/* the top's reference outlives the copy */
	copy->context = context;
	copy->task = get_task_struct(context->task);	/* only that it is one */
	copy->state = event->state >= PMR_STATE_INACTIVE ? PMR_STATE_INACTIVE : PMR_STATE_OFF;
	copy->since = pmr_context_time(context);
	pmr_event_init_common(copy);
	refcount_inc(&context->ref);
	kref_get(&top->ref);
}

/* Return: false if the top event is being closed. */
static bool add_child(struct pmr_event *top, struct pmr_event *copy)
{
	bool orphaned;

	raw_spin_lock(&top->children_lock);
	orphaned = top->orphaned;
	if (!orphaned)
		list_add_tail_rcu(&copy->child, &top->children);
	raw_spin_unlock(&top->children_lock);
	return !orphaned;
}

static bool is_inherited(const struct pmr_event *event, u64 clone_flags)
{
	return event->attr.inherit && event->state > PMR_STATE_EXIT &&
	       (!event->attr.inherit_thread || clone_flags & CLONE_THREAD);
}

/**
 * struct fork - a fork in progress
 * @context: the child's context
 * @spares: events to make copies of
 * @number: how many
 * @clone_flags: of the fork
 * @missed: copies that could not be made
 */
struct fork {
	struct pmr_context *context;
	struct list_head spares;
	unsigned int number;
	u64 clone_flags;
	unsigned int missed;
};

static struct pmr_event *copy_event(struct fork *fork, struct pmr_event *event,
				    struct pmr_event *leader)
{
	struct pmr_event *copy = list_first_entry(&fork->spares, struct pmr_event, all);

	list_del_init(&copy->all);
	fork->number--;
	fill_copy(copy, event, fork->context);
	pmr_group_attach(copy, leader ?: copy);
	if (!add_child(event->top, copy)) {
		/* Closed in this moment: the copy ends before it has begun. */
		copy->state = PMR_STATE_EXIT;
		pmr_inherit_end(copy);
	}
	return copy;
}

/* A group whole or not at all: nobody could read it together with half a copy. */
static void copy_group(struct fork *fork, struct pmr_event *leader)
{
	struct pmr_event *copy, *sibling;
	unsigned int members = 1 + leader->nr_siblings;

	if (!is_inherited(leader, fork->clone_flags))
		return;
	if (fork->number < members) {
		fork->missed += members;
		return;
	}
	copy = copy_event(fork, leader, NULL);
	pmr_for_each_sibling(sibling, leader)
		copy_event(fork, sibling, copy);
	copy->generation = leader->generation;
}

/* PERF_RECORD_READ tells what one task has counted. */
static bool may_be_exchanged(const struct pmr_event *event, u64 clone_flags)
{
	return is_inherited(event, clone_flags) && !event->attr.inherit_stat;
}

/*
 * Children whose contexts hold copies of all events of their parent, and nothing
 * else, are a family, and so are their children. The opened events themselves
 * stay with the task that they were opened for.
 */
static void found_family(struct fork *fork, struct pmr_context *parent)
{
	static atomic64_t families;
	struct pmr_event *event;

	if (fork->missed || fork->context->number != parent->number)
		return;
	list_for_each_entry(event, &parent->events, all)
		if (!may_be_exchanged(event, fork->clone_flags))
			return;
	if (!parent->offspring)
		parent->offspring = parent->family ?: atomic64_inc_return(&families);
	fork->context->family = parent->offspring;
}

static void copy_all(struct fork *fork, struct pmr_context *parent)
{
	struct pmr_context *context = fork->context;
	struct pmr_event *leader;

	raw_spin_lock(&parent->lock);
	raw_spin_lock_nested(&context->lock, SINGLE_DEPTH_NESTING);
	list_for_each_entry(leader, &parent->pinned, entry)
		copy_group(fork, leader);
	list_for_each_entry(leader, &parent->flexible, entry)
		copy_group(fork, leader);
	found_family(fork, parent);
	raw_spin_unlock(&context->lock);
	raw_spin_unlock(&parent->lock);
}

static unsigned int number_of_copies(struct pmr_context *parent, u64 clone_flags)
{
	struct pmr_event *event;
	unsigned int number = 0;

	raw_spin_lock(&parent->lock);
	list_for_each_entry(event, &parent->events, all)
		number += is_inherited(event->leader, clone_flags);
	raw_spin_unlock(&parent->lock);
	return number;
}

static void report_missed(struct task_struct *child, unsigned int number)
{
	atomic64_add(number, &missed);
	pr_warn_ratelimited("%u events not inherited by task %d: no memory at hand in its fork\n",
			    number, task_pid_nr(child));
}

static void take_spares(struct fork *fork, unsigned int number)
{
	struct pmr_event *event;

	INIT_LIST_HEAD(&fork->spares);
	for (; fork->number < number; fork->number++) {
		event = pmr_pool_get() ?: kzalloc(sizeof(*event), GFP_NOWAIT | __GFP_NOWARN |
							  __GFP_ACCOUNT);
		if (!event)
			return;
		list_add(&event->all, &fork->spares);
	}
}

static void inherit(struct pmr_context *parent, struct task_struct *child, u64 clone_flags,
		    unsigned int number)
{
	struct fork fork = { .clone_flags = clone_flags };
	struct pmr_event *event, *next;
	unsigned long flags;

	fork.context = pmr_task_context_new(child);
	if (!fork.context) {
		report_missed(child, number);
		return;
	}
	take_spares(&fork, number);
	local_irq_save(flags);
	copy_all(&fork, parent);
	local_irq_restore(flags);
	list_for_each_entry_safe(event, next, &fork.spares, all)
		kfree(event);
	if (fork.missed)
		report_missed(child, fork.missed);
	pmr_context_put(fork.context);
	pmr_pool_refill();
}

/**
 * pmr_task_fork() - a task has forked
 * @child: the new task, which has not run yet
 * @clone_flags: as given to clone()
 */
void pmr_task_fork(struct task_struct *child, u64 clone_flags)
{
	struct pmr_context *parent;
	unsigned int number = 0;
	unsigned long flags;

	/* Preemption is off: current's context stays in, and in existence. */
	local_irq_save(flags);
	parent = this_cpu_read(pmr_task_context);
	if (parent)
		number = number_of_copies(parent, clone_flags);
	local_irq_restore(flags);
	if (number)
		inherit(parent, child, clone_flags, number);
	if (child->mm && child->mm != current->mm)
		pmr_rdpmc_forked(child->mm);
	pmr_sideband_fork(child);
	pmr_inherit_reap();
}

/**
 * pmr_inherit_end() - the task of an event has ended
 * @event: event that does not count any more, perhaps a copy
 *
 * The caller calls pmr_inherit_reap() when it has unlocked the context.
 */
void pmr_inherit_end(struct pmr_event *event)
{
	if (!pmr_event_is_copy(event) || event->reaping)
		return;
	event->reaping = true;
	llist_add(&event->reap, &ended);
}

/**
 * pmr_inherit_remove() - an event leaves its group and its context on exec
 * @event: event that has ended; its context is locked
 *
 * The reaper does it: groups stand still for who holds the context's mutex, which
 * cannot be had here. It takes copies away anyway.
 */
void pmr_inherit_remove(struct pmr_event *event)
{
	if (event->reaping)
		return;
	event->reaping = true;
	kref_get(&event->ref);
	llist_add(&event->reap, &ended);
}

/* Once for each copy. */
static void fold(struct pmr_event *copy)
{
	struct pmr_event *top = copy->top;
	unsigned long flags;

	if (list_empty(&copy->child))
		return;
	top->child_count += copy->hw.count - copy->hw.base;
	top->child_enabled += copy->enabled;
	top->child_running += copy->running;
	/* Who reads is kept out by the mutex, who forks by the lock alone. */
	raw_spin_lock_irqsave(&top->children_lock, flags);
	list_del_init(&copy->child);
	raw_spin_unlock_irqrestore(&top->children_lock, flags);
}

static void detach(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	if (list_empty(&event->all))
		return;
	pmr_group_update_times(event->leader, pmr_context_time(context));
	pmr_group_detach(event);
}

/* A group is read through its leader, so its members move to the top together. */
static void fold_group(struct pmr_event *copy)
{
	struct pmr_event *sibling;

	fold(copy);
	if (!pmr_event_is_leader(copy))
		return;
	pmr_for_each_sibling(sibling, copy)
		if (sibling->reaping)
			fold(sibling);
}

static void reap(struct pmr_event *event)
{
	struct pmr_event *top = event->top;
	bool last;

	mutex_lock(&top->context->mutex);
	if (pmr_event_is_copy(event))
		fold_group(event);
	pmr_context_call(event->context, detach, event);
	last = list_empty(&top->children);
	mutex_unlock(&top->context->mutex);
	if (last && READ_ONCE(top->state) <= PMR_STATE_EXIT)
		wake_up_all(&top->waitq);	/* poll() says EPOLLHUP from now on */
	pmr_event_put(event);
}

static void reap_all(struct work_struct *work)
{
	struct llist_node *list = llist_del_all(&ended);
	struct pmr_event *event, *next;

	list = llist_reverse_order(list);
	llist_for_each_entry_safe(event, next, list, reap) {
		reap(event);
		cond_resched();
	}
}

static DECLARE_WORK(reaper, reap_all);

/**
 * pmr_inherit_reap() - send the reaper after the copies that have ended
 */
void pmr_inherit_reap(void)
{
	if (!llist_empty(&ended))
		queue_work(system_unbound_wq, &reaper);
}

static void take_away(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *copy = arg;

	if (copy->reaping)
		return;
	pmr_group_update_times(copy->leader, now);
	pmr_event_stop(copy, now);
	copy->state = PMR_STATE_DEAD;
	if (!list_empty(&copy->all))
		pmr_group_detach(copy);
}

/**
 * pmr_inherit_orphan() - take away the copies of an event that is being closed
 * @event: event that has left its context, whose mutex is held
 * @doomed: gets the copies that the caller must give to pmr_inherit_free()
 *
 * Those whose tasks have ended are with the reaper already.
 */
void pmr_inherit_orphan(struct pmr_event *event, struct list_head *doomed)
{
	struct pmr_event *copy, *next;
	unsigned long flags;

	raw_spin_lock_irqsave(&event->children_lock, flags);
	event->orphaned = true;
	raw_spin_unlock_irqrestore(&event->children_lock, flags);

	list_for_each_entry_safe(copy, next, &event->children, child) {
		pmr_context_call(copy->context, take_away, copy);
		if (!copy->reaping)
			list_move_tail(&copy->child, doomed);
	}
}

/**
 * pmr_inherit_free() - free the copies of an event that is being closed
 * @event: event
 * @doomed: from pmr_inherit_orphan()
 *
 * Waits for the reaper: when close() returns, no copy holds the PMU any more.
 */
void pmr_inherit_free(struct pmr_event *event, struct list_head *doomed)
{
	struct pmr_event *copy, *next;

	list_for_each_entry_safe(copy, next, doomed, child) {
		list_del_init(&copy->child);
		pmr_event_put(copy);
	}
	if (!event->attr.inherit)
		return;
	pmr_inherit_reap();
	flush_work(&reaper);
}

/**
 * pmr_inherit_missed() - copies that forks could not make, since load
 */
u64 pmr_inherit_missed(void)
{
	return atomic64_read(&missed);
}

/**
 * pmr_inherit_exit() - wait for the reaper, when no event is left
 */
void pmr_inherit_exit(void)
{
	flush_work(&reaper);
	pmr_pool_exit();
}
