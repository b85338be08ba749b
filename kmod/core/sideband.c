// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the question who gets a sideband record: events of the CPU on which it
 * happens, and of the task that does it, if they ask for the kind and are
 * enabled; whether they are on a counter matters not.
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
 * Open events that ask for a kind. Nobody waits for the change of a number to
 * be seen: what happens while an event is being opened may come before or after.
 */
static atomic_t mmap_events, comm_events, task_events, switch_events;

static bool wants_mmap(const struct pmr_event *event)
{
	return event->attr.mmap || event->attr.mmap2 || event->attr.mmap_data;
}

/* Without FORK and EXIT nobody could tell whose the mappings and names are. */
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
 * pmr_sideband_account() - an event is opened or closed
 * @event: event that user space opens
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

/**
 * pmr_sideband_wants_mmap() - does an event ask for mappings?
 */
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
 * pmr_sideband_mmap() - current has made a mapping
 * @mmap: mapping
 */
void pmr_sideband_mmap(const struct pmr_mmap *mmap)
{
	pmr_sideband_here(give_mmap, (void *)mmap);
}

/**
 * struct comm - a new name
 * @task: whose
 * @name: name, zeros behind it
 * @exec: by an exec
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
 * pmr_sideband_comm() - a task gets another name
 * @task: current, or another thread of its process
 * @name: new name; @task has the old one still
 * @exec: because it runs another program
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
 * pmr_sideband_fork() - current has forked
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
 * pmr_sideband_exit() - a task ends
 * @task: current, whose context is in still
 */
void pmr_sideband_exit(struct task_struct *task)
{
	if (atomic_read(&task_events))
		pmr_sideband_here(give_exit, task);
}

/**
 * struct change - a context switch, as one of the two tasks sees it
 * @task: that task
 * @other: the other one
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
 * pmr_sideband_switch_out() - a task leaves this CPU
 * @prev: task, whose context is in still
 * @next: who comes
 *
 * The scheduler's own word for a preemption is narrower than perf's: a task that
 * could go on was preempted, whatever made it call the scheduler.
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
 * pmr_sideband_switch_in() - a task has come to this CPU
 * @prev: who has gone; still current
 * @next: task, whose context is in already
 */
void pmr_sideband_switch_in(struct task_struct *prev, struct task_struct *next)
{
	struct change change = { .task = next, .other = prev };

	if (unlikely(atomic_read(&switch_events)))
		pmr_sideband_here(give_switch, &change);
}

/**
 * pmr_sideband_read() - an inherited copy ends
 * @copy: copy that does not count any more, its times up to date; its context is
 *	locked
 *
 * Interrupts off. A ring has one CPU that writes, that of its events. If that is
 * another one, the reaper has the record written there; the task may have no
 * pid by then, so its pids are noted here.
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

/* On the CPU of the ring, hard IRQ. */
static void read_there(void *arg)
{
	struct pmr_event *copy = arg;

	raw_spin_lock(&copy->context->lock);
	pmr_read_output(copy);
	raw_spin_unlock(&copy->context->lock);
}

/**
 * pmr_sideband_read_late() - write the READ record that pmr_sideband_read() could not
 * @copy: copy that has ended and that the caller is about to free
 *
 * Task context, interrupts on. A ring whose CPU is gone gets none.
 */
void pmr_sideband_read_late(struct pmr_event *copy)
{
	if (!copy->read_due)
		return;
	copy->read_due = false;
	smp_call_function_single(copy->cpu, read_there, copy, 1);
}
