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
 * Limit on the events of one context, because some operations walk all of them with
 * interrupts off. perf(1) opens each event of a task once for each CPU.
 */
#define PMR_CONTEXT_EVENTS_MAX	(2048 + 32 * num_possible_cpus())

/**
 * struct pmr_context - events scheduled together
 * @lock: protects the fields down to @slot, except @mutex, and the scheduling
 *	state of the events. Taken with interrupts off, also from sched_switch
 *	under the runqueue lock, so no wake-up is allowed under it. The NMI
 *	never takes it
 * @pinned: leaders of the pinned groups
 * @flexible: leaders of the flexible groups
 * @events: all events, siblings included
 * @sideband: events that ask for sideband records
 * @number: number of entries in @events
 * @inherited: number of entries in @events that have attr.inherit
 * @active: number of active events; 0 while the context is scheduled out
 * @pinned_waiting: a pinned group may be enabled and not counting
 * @waiting: flexible groups that did not fit; not 0 if one may be waiting, exact
 *	after pmr_wait_start()
 * @on_cpu: the CPU it is scheduled in on, or -1
 * @exited: the task has ended; no event can be added
 * @in_exec: the task is in an exec that began with this context; moves with @task
 * @time: ns the context was scheduled in, up to @since
 * @since: clock at the last update of @time, while scheduled in
 * @turned: context time of the last rotation
 * @last_cpu: the CPU it is, or was last, scheduled in on, or -1
 * @bound: number of flexible groups with a cpu other than -1
 * @queue: flexible groups that wait for counters, see core/wait.c
 * @queued: number of groups in @queue
 * @queued_keys: the sum of their wait_key
 * @holders: flexible groups that have had counters since the last rotation
 * @software: enabled flexible groups that need no counters
 * @usual_wait: average wait for counters of the flexible groups that compete
 *	here, see core/wait.c
 * @family: clone id, or 0. Contexts with the same id hold copies of the same
 *	events in the same state and are interchangeable
 * @offspring: clone id given to the contexts of forked tasks, or 0
 * @mutex: held by task context to attach, detach, read and control. While it is
 *	held, groups do not grow and copies are not removed; an exec may still
 *	take events out of groups, under @lock alone. Nests outside @lock
 * @task: the task, NULL for a CPU's context; @slot holds the reference.
 *	Changes when two clone contexts are swapped
 * @slot: the task's entry in the table, see core/task_table.c
 * @ended_lock: protects @ended and @reaping; a leaf
 * @ended: copies that have ended, whose tops are in this context
 * @reaping: @reaper is queued or running; it holds a reference
 * @kick: queues @reaper, because that wakes a worker, which @lock forbids
 * @reaper: empties @ended, see core/reap.c
 * @ref: held by each event
 * @rcu: lookups in the table run under RCU
 */
struct pmr_context {
	raw_spinlock_t lock;
	struct list_head pinned;
	struct list_head flexible;
	struct list_head events;
	struct list_head sideband;
	unsigned int number;
	unsigned int inherited;
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

	struct mutex mutex;	/* groups do not grow, copies are not removed */
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
/* The task context scheduled in on this CPU; written by this CPU, IRQs off. */
DECLARE_PER_CPU(struct pmr_context *, pmr_task_context);
/* Frozen value of this CPU's context clock, or 0; written likewise. */
DECLARE_PER_CPU(u64, pmr_clock_held);
/* A counter may be free on this CPU, or a group started to wait; written likewise. */
DECLARE_PER_CPU(bool, pmr_schedule_due);

/* core/context.c: contexts and context function calls */
typedef void (*pmr_context_fn)(struct pmr_context *context, void *arg);
typedef void (*pmr_event_fn)(struct pmr_event *event, void *arg);

void pmr_context_init(struct pmr_context *context);
void pmr_context_call(struct pmr_context *context, pmr_context_fn fn, void *arg);
void pmr_sideband_here(pmr_event_fn fn, void *arg);
void pmr_active_here(pmr_event_fn fn, void *arg);

/* core/group.c: event state and times, starting and stopping groups */
void pmr_event_update_times(struct pmr_event *event, u64 now);
bool pmr_group_start(struct pmr_event *leader, u64 now);
void pmr_group_stop(struct pmr_event *leader, u64 now);
void pmr_event_stop(struct pmr_event *event, u64 now);
void pmr_event_restart(struct pmr_event *event, u64 period);
void pmr_group_update_times(struct pmr_event *leader, u64 now);
void pmr_event_start(struct pmr_event *event, u64 now);
bool pmr_group_needs_counters(const struct pmr_event *leader);
bool pmr_counters_left(void);

/* core/members.c: group membership */
void pmr_group_attach(struct pmr_event *event, struct pmr_event *leader);
void pmr_group_detach(struct pmr_event *event);
int pmr_group_fits(struct pmr_event *leader, struct pmr_event *event);
int pmr_group_may_grow(struct pmr_event *leader, struct pmr_event *event);

/* core/wait.c: flexible groups, ordered by their wait for counters */
void pmr_wait_add(struct pmr_event *leader);
void pmr_wait_remove(struct pmr_event *leader);
void pmr_wait_place(struct pmr_event *leader);

/* core/schedule.c: which groups count on a CPU */
void pmr_schedule_in(struct pmr_context *context);
void pmr_schedule_out(struct pmr_context *context);
void pmr_schedule_fill(void);
void pmr_schedule_wait(struct pmr_event *leader);
void pmr_schedule_evict(bool for_good);
void pmr_schedule_cpu_offline(void);
void pmr_schedule_init(void);
void pmr_schedule_exit(void);

/* core/task_table.c: from a task to its context */
struct pmr_context *pmr_task_context_find(const struct task_struct *task);
struct pmr_context *pmr_task_context_get(struct task_struct *task);
struct pmr_context *pmr_task_context_new(struct task_struct *task);
void pmr_task_context_forget(struct pmr_context *context);
void pmr_task_contexts_exchange(struct pmr_context *one, struct pmr_context *two);
void pmr_context_put(struct pmr_context *context);

/* core/task.c: scheduling contexts in and out */
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
 * pmr_context_is_here() - is a context scheduled in on this CPU?
 * @context: context, or NULL
 */
static inline bool pmr_context_is_here(const struct pmr_context *context)
{
	return context && context->on_cpu == smp_processor_id();
}

/**
 * pmr_clock_hold() - freeze this CPU's context clock
 *
 * Interrupts stay off until pmr_clock_release(). An event that gets its counter only
 * after other groups were stopped, or that is stopped and started again by a rotation,
 * is not charged any wait for that.
 */
static inline void pmr_clock_hold(void)
{
	__this_cpu_write(pmr_clock_held, local_clock());
}

static inline void pmr_clock_release(void)
{
	__this_cpu_write(pmr_clock_held, 0);
}

/* The clock of this CPU's contexts. */
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
 * pmr_context_is_unique() - unclone: no longer interchangeable with its clones
 * @context: context, locked
 */
static inline void pmr_context_is_unique(struct pmr_context *context)
{
	context->family = 0;
	context->offspring = 0;
}

#endif /* PMR_CONTEXT_H */
