// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the scheduler's tracepoints: a switch, the fork, the exec and the exit
 * of a task; and a kprobe where the kernel ends perf's events in an exec. They are
 * registered while an event needs to know of tasks, and at no other time.
 *
 * The probes run with preemption off. on_switch(): on the switching CPU,
 * interrupts off, the runqueue lock held, current is still the previous task.
 * on_fork(): the forking task; the child is complete and has not run.
 * on_rename(): the task whose name is set, its alloc_lock held; in an exec,
 * exec_update_lock as well. on_perf_exit(): the task, in an exec with exec_update_lock
 * held. on_exec(): the task, its new program loaded. on_exit(): the exiting task,
 * after its mm is gone. get and put: task context, may sleep.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>

#include "core/context.h"
#include "core/sideband.h"
#include "core/task_table.h"
#include "hooks/hooks.h"
#include "hooks/tracepoint.h"

/* @ip and @frame: where in the scheduler, for records and call chains. */
static noinline void on_watched_switch(struct task_struct *prev, struct task_struct *next,
				       unsigned long ip, unsigned long frame)
{
	lockdep_assert_preemption_disabled();
	pmr_software_caller(ip, frame);
	pmr_task_switch_watched(prev, next);
	if (pmr_migrate_on() && pmr_migrate_arrived(next))
		pmr_software_migration();
}

/* Most switches are between tasks without events: these leave in the first lines. */
static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	lockdep_assert_irqs_disabled();
	if (likely(!pmr_switch_watched())) {
		if (unlikely(pmr_switch_matters(next)))
			pmr_task_switch(next);
		return;
	}
	on_watched_switch(prev, next, _RET_IP_, current_stack_pointer);
}

static void on_fork(void *data, struct task_struct *child, unsigned long clone_flags)
{
	pmr_task_fork(child, clone_flags);
}

/*
 * The new name is set when the old program is gone for good and the new one
 * not mapped yet; the tracepoint sched_process_exec comes after that.
 */
static void on_rename(void *data, struct task_struct *task, const char *name)
{
	bool exec = task == current && task->in_execve;

	lockdep_assert_held(&task->alloc_lock);
	if (exec) {
		lockdep_assert_held_write(&task->signal->exec_update_lock);
		pmr_task_exec(task);
	}
	pmr_sideband_comm(task, name, exec);
}

/*
 * A program that its user may not look into, since it runs with other rights or
 * cannot be read: what was opened on the old one must not count it.
 */
static void end_if_secure(struct task_struct *task)
{
	if (__get_dumpable(task->mm->flags) != SUID_DUMP_USER)
		pmr_task_exec_secure(task);
}

/*
 * The kernel ends perf's events here when an exec has put the new credentials in
 * place, and holds exec_update_lock still: what is opened next is checked against
 * the new program. (An exit comes here as well.)
 */
static int on_perf_exit(struct kprobe *probe, struct pt_regs *regs)
{
	if (current->in_execve && !(current->flags & PF_EXITING)) {
		lockdep_assert_held_write(&current->signal->exec_update_lock);
		end_if_secure(current);
	}
	return 0;
}

/*
 * The program is loaded, and has run no instruction. Without the probe, events end
 * here: late, so that one is ended, too, that was opened in between with the right to.
 */
static void on_exec(void *data, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *binprm)
{
	end_if_secure(task);
	pmr_task_exec_done(task);
}

static void on_exit(void *data, struct task_struct *task)
{
	pmr_sideband_exit(task);
	pmr_task_end(task);
}

static struct pmr_tracepoint points[] = {
	{ .name = "sched_switch", .probe = on_switch },
	{ .name = "task_newtask", .probe = on_fork },
	{ .name = "task_rename", .probe = on_rename },
	{ .name = "sched_process_exec", .probe = on_exec },
	{ .name = "sched_process_exit", .probe = on_exit },
};

static struct kprobe exit_probe;
static bool exit_probed;

static int place_exit_probe(struct pmr_hook *hook)
{
	int err;

	lockdep_assert_held(&hook->lock);
	/* What an earlier registration has left in it would be refused. */
	exit_probe = (struct kprobe) {
		.symbol_name = "perf_event_exit_task",
		.pre_handler = on_perf_exit,
	};
	err = register_kprobe(&exit_probe);
	exit_probed = !err;
	if (err)
		pr_notice_once("events end late in an exec that changes rights: cannot probe %s (error %d)\n",
			       exit_probe.symbol_name, err);
	return 0;
}

static void remove_exit_probe(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	if (exit_probed)
		unregister_kprobe(&exit_probe);
}

static struct pmr_hook exit_hook = {
	.place = place_exit_probe,
	.remove = remove_exit_probe,
};

static struct pmr_tracepoint_set sched = {
	.points = points,
	.number = ARRAY_SIZE(points),
};

/**
 * pmr_sched_exec_maps() - current makes a mapping
 *
 * Perhaps of a new program with other rights, and no probe has ended what was
 * opened on the old one.
 */
void pmr_sched_exec_maps(void)
{
	if (current->in_execve)
		end_if_secure(current);
}

/**
 * pmr_sched_init() - find the tracepoints at load
 *
 * Return: 0, or -ENOENT on a kernel that lacks one.
 */
int pmr_sched_init(void)
{
	pmr_hook_init(&exit_hook);
	return pmr_tracepoints_init(&sched);
}

/**
 * pmr_sched_get() - see what tasks do, for one more event
 *
 * Return: 0 or an error of tracepoint_probe_register().
 */
int pmr_sched_get(void)
{
	int err = pmr_hook_get(&sched.hook);

	return err ?: pmr_hook_get(&exit_hook);
}

/**
 * pmr_sched_put() - one event less
 */
void pmr_sched_put(void)
{
	pmr_hook_put(&exit_hook);
	pmr_hook_put(&sched.hook);
}

/**
 * pmr_sched_exit() - see nothing any more, at unload
 */
void pmr_sched_exit(void)
{
	pmr_hook_exit(&exit_hook);
	pmr_hook_exit(&sched.hook);
}

/**
 * pmr_sched_hooks_on() - are the probes registered?
 */
bool pmr_sched_hooks_on(void)
{
	return pmr_hook_placed(&sched.hook);
}
