// SPDX-License-Identifier: GPL-2.0
/*
 * Selects the events that get a sideband record: events of this CPU and of the current
 * task that ask for the kind of record and are enabled, whether or not they are currently
 * on a counter.
 *
 * Called by the hooks and by core/task.c: task context, preemption off; the
 * switches with interrupts off under the runqueue lock. Takes the lock of each
 * context in turn. pmr_sideband_read(): the copy's context is locked. Account and
 * read_late: task context.
 */
#include <linux/atomic.h>
#include <linux/mman.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "core/context.h"
#include "core/sideband.h"
#include "sample/sideband.h"

/*
 * Number of open events that ask for each kind of record. Not ordered against the hooks:
 * activity during an open may or may not be recorded.
 */
static atomic_t mmap_events, comm_events, task_events, switch_events;

static bool wants_mmap(const struct pmr_event *event)
{
	return event->attr.mmap || event->attr.mmap2 || event->attr.mmap_data;
}

/* Readers need FORK and EXIT to attribute mappings and names to a task. */
static bool wants_task(const struct pmr_event *event)
{
	return event->attr.task || event->attr.comm || wants_mmap(event);
}

/**
 * pmr_sideband_wants_any() - does an event ask for any sideband records?
 * @event: event
 */
bool pmr_sideband_wants_any(const struct pmr_event *event)
{
	return wants_task(event) || event->attr.context_switch;
}

/**
 * pmr_sideband_account() - count an event that is opened or closed
 * @event: event
 * @change: 1 or -1
 */
void pmr_sideband_account(const struct pmr_event *event, int change)
{
	if (wants_mmap(event))
		atomic_add(change, &mmap_events);
	if (event->attr.comm)
		atomic_add(change, &comm_events);
	if (wants_task(event))
		atomic_add(change, &task_events);
	if (event->attr.context_switch)
		atomic_add(change, &switch_events);
}

/* Does any open event ask for mappings? */
bool pmr_sideband_wants_mmap(void)
{
	return atomic_read(&mmap_events);
}

static void give_mmap(struct pmr_event *event, void *arg)
{
	const struct pmr_mmap *mmap = arg;
	bool wanted = mmap->prot & PROT_EXEC ? event->attr.mmap || event->attr.mmap2 :
					       event->attr.mmap_data;

	if (wanted && pmr_event_counts_here(event))
		pmr_mmap_output(event, mmap);
}

/**
 * pmr_sideband_mmap() - record a new mapping of current
 * @mmap: mapping
 */
void pmr_sideband_mmap(const struct pmr_mmap *mmap)
{
	pmr_sideband_here(give_mmap, (void *)mmap);
}

/**
 * struct comm - a new task name
 * @task: task that gets it
 * @name: name, padded with zeros
 * @exec: set by an exec
 */
struct comm {
	struct task_struct *task;
	char name[TASK_COMM_LEN];
	bool exec;
};

static void give_comm(struct pmr_event *event, void *arg)
{
	const struct comm *comm = arg;

	if (event->attr.comm && pmr_event_counts_here(event))
		pmr_comm_output(event, comm->task, comm->name, comm->exec);
}

/**
 * pmr_sideband_comm() - record a new task name
 * @task: current, or another thread of its process
 * @name: new name; @task still has the old one
 * @exec: set by an exec
 */
void pmr_sideband_comm(struct task_struct *task, const char *name, bool exec)
{
	struct comm comm = { .task = task, .exec = exec };

	if (!atomic_read(&comm_events))
		return;
	strscpy_pad(comm.name, name, sizeof(comm.name));
	pmr_sideband_here(give_comm, &comm);
}

static void give_fork(struct pmr_event *event, void *child)
{
	if (wants_task(event) && pmr_event_counts_here(event))
		pmr_fork_output(event, child);
}

/**
 * pmr_sideband_fork() - record a fork of current
 * @child: new process or thread, which has not run yet
 */
void pmr_sideband_fork(struct task_struct *child)
{
	if (atomic_read(&task_events))
		pmr_sideband_here(give_fork, child);
}

static void give_exit(struct pmr_event *event, void *task)
{
	if (wants_task(event) && pmr_event_counts_here(event))
		pmr_exit_output(event, task);
}

/**
 * pmr_sideband_exit() - record the exit of a task
 * @task: current, whose context is still scheduled in
 */
void pmr_sideband_exit(struct task_struct *task)
{
	if (atomic_read(&task_events))
		pmr_sideband_here(give_exit, task);
}

/**
 * struct change - a context switch from the point of view of one task
 * @task: that task
 * @other: the other task
 * @misc: PERF_RECORD_MISC_SWITCH_*
 */
struct change {
	struct task_struct *task;
	struct task_struct *other;
	u16 misc;
};

static void give_switch(struct pmr_event *event, void *arg)
{
	const struct change *change = arg;

	if (event->attr.context_switch && pmr_event_counts_here(event))
		pmr_switch_output(event, change->task, change->other, change->misc);
}

/**
 * pmr_sideband_switch_out() - record that a task is switched out
 * @prev: task, whose context is still scheduled in
 * @next: the task that is switched in
 *
 * As in perf, a task that is still runnable was preempted. The preempt argument of
 * sched_switch covers only some of these cases.
 */
void pmr_sideband_switch_out(struct task_struct *prev, struct task_struct *next)
{
	struct change change = {
		.task = prev,
		.other = next,
		.misc = PERF_RECORD_MISC_SWITCH_OUT,
	};

	if (likely(!atomic_read(&switch_events)))
		return;
	if (pmr_task_is_runnable(prev))
		change.misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	pmr_sideband_here(give_switch, &change);
}

/**
 * pmr_sideband_switch_in() - record that a task is switched in
 * @prev: the task that was switched out, still current
 * @next: task, whose context is already scheduled in
 */
void pmr_sideband_switch_in(struct task_struct *prev, struct task_struct *next)
{
	struct change change = { .task = next, .other = prev };

	if (unlikely(atomic_read(&switch_events)))
		pmr_sideband_here(give_switch, &change);
}

/**
 * pmr_sideband_read() - record the final count of an inherited copy
 * @copy: stopped copy, its times up to date; its context is locked, interrupts off
 *
 * Only the CPU of a ring's events may write into the ring. On any other CPU, the record is
 * left to the reaper. The pids are saved here, because the task may have none by then.
 */
void pmr_sideband_read(struct pmr_event *copy)
{
	lockdep_assert_held(&copy->context->lock);
	if (!copy->attr.inherit_stat)
		return;
	pmr_read_note_pids(copy);
	if (copy->cpu < 0 || copy->cpu == smp_processor_id())
		pmr_read_output(copy);
	else
		copy->read_due = true;
}

/* Hard IRQ on the CPU of the ring. */
static void read_there(void *arg)
{
	struct pmr_event *copy = arg;

	raw_spin_lock(&copy->context->lock);
	pmr_read_output(copy);
	raw_spin_unlock(&copy->context->lock);
}

/**
 * pmr_sideband_read_late() - write a READ record that pmr_sideband_read() left over
 * @copy: ended copy that the caller is about to free
 *
 * If the CPU of the ring is offline, the record is dropped.
 *
 * Context: task context, interrupts on.
 */
void pmr_sideband_read_late(struct pmr_event *copy)
{
	if (!copy->read_due)
		return;
	copy->read_due = false;
	smp_call_function_single(copy->cpu, read_there, copy, 1);
}
