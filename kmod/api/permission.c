// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the question who may profile what. Task context; pmr_may_see_task() is
 * called with the task's exec_update_lock held, so that an exec cannot change
 * the answer; takes RCU and the task lock.
 *
 * The rules are perf's (Documentation/admin-guide/perf-security.rst), with our
 * own parameter in place of kernel.perf_event_paranoid, which a module cannot
 * read.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "api/api.h"

/**
 * pmr_may_open() - may the caller open any event?
 *
 * Level 3 is Debian's: nothing for the unprivileged, CAP_PERFMON included.
 */
bool pmr_may_open(void)
{
	return READ_ONCE(pmr_knobs.paranoid) < 3 || capable(CAP_SYS_ADMIN);
}

/**
 * pmr_may_see_kernel() - may the caller profile the kernel?
 */
bool pmr_may_see_kernel(void)
{
	return READ_ONCE(pmr_knobs.paranoid) < 2 || perfmon_capable();
}

/**
 * pmr_may_see_cpu() - may the caller count what others run on a CPU?
 */
bool pmr_may_see_cpu(void)
{
	return READ_ONCE(pmr_knobs.paranoid) < 1 || perfmon_capable();
}

static bool same_credentials(const struct cred *mine, const struct cred *theirs)
{
	return uid_eq(mine->uid, theirs->euid) && uid_eq(mine->uid, theirs->suid) &&
	       uid_eq(mine->uid, theirs->uid) && gid_eq(mine->gid, theirs->egid) &&
	       gid_eq(mine->gid, theirs->sgid) && gid_eq(mine->gid, theirs->gid);
}

static bool credentials_allow(struct task_struct *task)
{
	const struct cred *theirs;
	bool allowed;

	rcu_read_lock();
	theirs = __task_cred(task);
	allowed = same_credentials(current_cred(), theirs) ||
		  ns_capable(theirs->user_ns, CAP_SYS_PTRACE);
	rcu_read_unlock();
	return allowed;
}

/* A program that may not be dumped has something to hide from its own user. */
static bool dumpable_allows(struct task_struct *task)
{
	struct mm_struct *mm;
	bool allowed = true;

	task_lock(task);
	mm = task->mm;
	if (mm)
		allowed = __get_dumpable(mm->flags) == SUID_DUMP_USER ||
			  ns_capable(mm->user_ns, CAP_SYS_PTRACE);
	task_unlock(task);
	return allowed;
}

/**
 * pmr_may_see_task() - may the caller profile a task?
 * @task: task
 *
 * What ptrace_may_access(PTRACE_MODE_READ_REALCREDS) asks but for security
 * modules, which a module cannot ask: same credentials and a dumpable program,
 * or CAP_SYS_PTRACE in its user namespace; or CAP_PERFMON.
 */
bool pmr_may_see_task(struct task_struct *task)
{
	if (perfmon_capable() || same_thread_group(task, current))
		return true;
	return credentials_allow(task) && dumpable_allows(task);
}
