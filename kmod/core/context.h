/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The context: the events that are scheduled together, because they belong to
 * one CPU or follow one task.
 */
#ifndef PMR_CONTEXT_H
#define PMR_CONTEXT_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/event.h"

struct pmr_task_slot;

/*
 * Most events of one context: some things are done to all of them with interrupts
 * off. perf(1) opens each event of a task once for each CPU.
 */
#define PMR_CONTEXT_EVENTS_MAX	(2048 + 32 * num_possible_cpus())

/**
 * struct pmr_context - events scheduled together
 * @lock: protects all fields but @mutex, @slot and @ref, and the
 *	scheduling state of the events; taken with interrupts off, also from
 *	sched_switch under the runqueue lock, so nothing may be woken under
 *	it. The NMI never takes it
 * @pinned: groups that must count or fail, by their leaders
 * @flexible: groups that take turns
 * @events: all events, siblings included
 * @sideband: those that ask for sideband records
 * @number: how many in @events
 * @active: how many of them count; 0 while the context is out
 * @pinned_waiting: a pinned group may be enabled and not counting
 * @waiting: flexible groups that found no counter when last tried
 * @on_cpu: the CPU it is in on, or -1
 * @exited: the task has ended; nothing can be added any more
 * @in_exec: the task is in an exec that began with this context; moves with @task
 * @time: ns it has been in, up to @since
 * @since: clock when @time was last brought up to date, while in
 * @turned: its time when the turn of the flexible groups began
 * @last_cpu: the CPU that it is in on, or was the last time, or -1
 * @bound: flexible groups that are for one CPU
 * @queue: flexible groups that wait for counters, see core/wait.c
 * @queued: how many
 * @queued_keys: the sum of their wait_key
 * @holders: flexible groups that have had counters in this turn
 * @software: flexible groups that are enabled and need none
 * @usual_wait: what flexible groups that compete here have waited for counters
 *	on average, see core/wait.c
 * @family: not 0: contexts of the same number hold copies of the same events in
 *	the same state, so that it does not matter which of them is in
 * @offspring: not 0: the family of the contexts of forked tasks
 * @mutex: held by task context to attach, detach, read and control. Groups do
 *	not grow and copies do not go while it is held; an exec may still take
 *	events out of groups, under @lock alone. Outside of @lock
 * @task: the task, NULL for a CPU's context; a reference that @slot holds.
 *	Changes when two contexts of a family change places
 * @slot: the task's place in the table, see core/task_table.c
 * @ended_lock: protects @ended and @reaping; a leaf
 * @ended: copies that have ended, whose tops are in this context
 * @reaping: the reaper of @ended is on its way or at work; it holds a reference
 * @kick: queues @reaper: that wakes a worker, which @lock forbids
 * @reaper: empties @ended, see core/reap.c
 * @ref: each event holds one
 * @rcu: lookups in the table run under RCU
 */
struct pmr_context {
	raw_spinlock_t lock;
	struct list_head pinned;
	struct list_head flexible;
	struct list_head events;
	struct list_head sideband;
	unsigned int number;
	unsigned int active;
	bool pinned_waiting;
	unsigned int waiting;
	int on_cpu;
	bool exited;
	bool in_exec;
	u64 time;
	u64 since;
	u64 turned;
	u64 usual_wait;
	int last_cpu;
	unsigned int bound;
	struct rb_root_cached queue;
	unsigned int queued;
	u64 queued_keys;
	struct list_head holders;
	struct list_head software;

	u64 family;
	u64 offspring;

	struct mutex mutex;	/* groups do not grow, copies do not go */
	struct task_struct *task;
	struct pmr_task_slot *slot;

	raw_spinlock_t ended_lock;	/* protects ended and reaping */
	struct list_head ended;
	bool reaping;
	struct irq_work kick;
	struct work_struct reaper;

	refcount_t ref;
	struct rcu_head rcu;
};

DECLARE_PER_CPU(struct pmr_context, pmr_cpu_context);
/* The task context that is in on this CPU; written by this CPU, IRQs off. */
DECLARE_PER_CPU(struct pmr_context *, pmr_task_context);
/* Where the clock of this CPU's contexts is held, or 0; likewise. */
DECLARE_PER_CPU(u64, pmr_clock_held);
/* A counter may have become free here, or somebody has begun to wait; likewise. */
DECLARE_PER_CPU(bool, pmr_schedule_due);

/* core/context.c: a context and what is done to it where it is */
typedef void (*pmr_context_fn)(struct pmr_context *context, void *arg);
typedef void (*pmr_event_fn)(struct pmr_event *event, void *arg);

void pmr_context_init(struct pmr_context *context);
void pmr_context_call(struct pmr_context *context, pmr_context_fn fn, void *arg);
void pmr_sideband_here(pmr_event_fn fn, void *arg);
void pmr_active_here(pmr_event_fn fn, void *arg);

/* core/group.c: the state and the times of events, and groups on counters */
void pmr_event_update_times(struct pmr_event *event, u64 now);
bool pmr_group_start(struct pmr_event *leader, u64 now);
void pmr_group_stop(struct pmr_event *leader, u64 now);
void pmr_event_stop(struct pmr_event *event, u64 now);
void pmr_event_restart(struct pmr_event *event, u64 period);
void pmr_group_update_times(struct pmr_event *leader, u64 now);
void pmr_event_start(struct pmr_event *event, u64 now);
bool pmr_group_needs_counters(const struct pmr_event *leader);
bool pmr_counters_left(void);

/* core/members.c: who belongs to a group */
void pmr_group_attach(struct pmr_event *event, struct pmr_event *leader);
void pmr_group_detach(struct pmr_event *event);
int pmr_group_fits(struct pmr_event *leader, struct pmr_event *event);
int pmr_group_may_grow(struct pmr_event *leader, struct pmr_event *event);

/* core/wait.c: the flexible groups of a context, by what they wait for */
void pmr_wait_add(struct pmr_event *leader);
void pmr_wait_remove(struct pmr_event *leader);
void pmr_wait_place(struct pmr_event *leader);

/* core/schedule.c: which groups count on this CPU */
void pmr_schedule_in(struct pmr_context *context);
void pmr_schedule_out(struct pmr_context *context);
void pmr_schedule_fill(void);
void pmr_schedule_wait(struct pmr_event *leader);
void pmr_schedule_evict(bool for_good);
void pmr_schedule_cpu_offline(void);
void pmr_schedule_init(void);
void pmr_schedule_exit(void);

/* core/task_table.c: which context belongs to a task */
struct pmr_context *pmr_task_context_find(const struct task_struct *task);
struct pmr_context *pmr_task_context_get(struct task_struct *task);
struct pmr_context *pmr_task_context_new(struct task_struct *task);
void pmr_task_context_forget(struct pmr_context *context);
void pmr_task_contexts_exchange(struct pmr_context *one, struct pmr_context *two);
void pmr_context_put(struct pmr_context *context);

/* core/task.c: the contexts' way in and out */
void pmr_task_context_load(struct task_struct *task);
void pmr_task_context_retire(struct pmr_context *context, void *unused);
void pmr_switch_watch(int change);
void pmr_task_switch(struct task_struct *next);
void pmr_task_switch_watched(struct task_struct *prev, struct task_struct *next);
void pmr_task_exec(struct task_struct *task);
void pmr_task_exec_secure(struct task_struct *task);
void pmr_task_exec_done(struct task_struct *task);
void pmr_task_end(struct task_struct *task);
void pmr_contexts_init(void);
void pmr_contexts_cpu_online(void);
void pmr_contexts_park(void);
void pmr_contexts_unpark(void);
void pmr_contexts_cpu_offline(void);

/* core/inherit.c: copies of events in forked tasks */
void pmr_task_fork(struct task_struct *child, u64 clone_flags);

/**
 * pmr_context_is_here() - is a context in on this CPU?
 * @context: context, or NULL
 */
static inline bool pmr_context_is_here(const struct pmr_context *context)
{
	return context && context->on_cpu == smp_processor_id();
}

/**
 * pmr_clock_hold() - what follows happens in one moment
 *
 * Interrupts off, until pmr_clock_release(). An event that is enabled, and gets
 * a counter when others have made room, has not waited; nor has one that counts in
 * one turn and the next.
 */
static inline void pmr_clock_hold(void)
{
	__this_cpu_write(pmr_clock_held, local_clock());
}

static inline void pmr_clock_release(void)
{
	__this_cpu_write(pmr_clock_held, 0);
}

/**
 * pmr_clock() - the clock of this CPU's contexts
 */
static inline u64 pmr_clock(void)
{
	return this_cpu_read(pmr_clock_held) ?: local_clock();
}

/**
 * pmr_context_time() - ns that a context has been in
 * @context: context, locked
 */
static inline u64 pmr_context_time(const struct pmr_context *context)
{
	if (context->on_cpu < 0)
		return context->time;
	return context->time + (pmr_clock() - context->since);
}

/**
 * pmr_event_counts_here() - is an event enabled, and for this CPU?
 * @event: event of a context that is in here
 */
static inline bool pmr_event_counts_here(const struct pmr_event *event)
{
	return event->state >= PMR_STATE_INACTIVE &&
	       (event->cpu < 0 || event->cpu == raw_smp_processor_id());
}

/**
 * pmr_context_is_unique() - a context is like no other any more
 * @context: context, locked
 */
static inline void pmr_context_is_unique(struct pmr_context *context)
{
	context->family = 0;
	context->offspring = 0;
}

#endif /* PMR_CONTEXT_H */
