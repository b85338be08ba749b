// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the rights of callers: what they may profile. Task context, may sleep;
 * pmr_may_see_task() is called with the task's exec_update_lock held, and takes
 * RCU and the task lock.
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

/*
 * What the kernel's own security module asks. A caller that entered a user
 * namespace of its own, or that lacks a capability of the target, could
 * otherwise learn what more privileged code of its user does.
 */
static bool capabilities_allow(const struct cred *mine, const struct cred *theirs)
{
	return (mine->user_ns == theirs->user_ns &&
		cap_issubset(theirs->cap_permitted, mine->cap_permitted)) ||
	       ns_capable(theirs->user_ns, CAP_SYS_PTRACE);
}

static bool credentials_allow(struct task_struct *task)
{
	const struct cred *mine = current_cred(), *theirs;
	bool allowed;

	rcu_read_lock();
	theirs = __task_cred(task);
	allowed = (same_credentials(mine, theirs) ||
		   ns_capable(theirs->user_ns, CAP_SYS_PTRACE)) &&
		  capabilities_allow(mine, theirs);
	rcu_read_unlock();
	return allowed;
}

/*
 * A program that may not be dumped has something to hide from its own user. A
 * kernel thread has no program; a task that exits has none left, and no event
 * can follow it any more.
 */
static bool dumpable_allows(struct task_struct *task)
{
	const struct mm_struct *mm = task->mm;

	lockdep_assert_held(&task->alloc_lock);
	if (!mm)
		return !(task->flags & PF_KTHREAD) || capable(CAP_SYS_PTRACE);
	return __get_dumpable(mm->flags) == SUID_DUMP_USER ||
	       ns_capable(mm->user_ns, CAP_SYS_PTRACE);
}

/* ptrace_may_access(PTRACE_MODE_READ_REALCREDS), except for security modules. */
static bool may_read_task(struct task_struct *task)
{
	bool allowed;

	if (same_thread_group(task, current))
		return true;
	task_lock(task);
	allowed = credentials_allow(task);
	/*
	 * A task that gives up rights becomes undumpable first: pairs with the
	 * write barrier in commit_creds().
	 */
	smp_rmb();
	allowed = allowed && dumpable_allows(task);
	task_unlock(task);
	return allowed;
}

/**
 * pmr_may_see_task() - may the caller profile a task?
 * @task: task; its exec_update_lock is held, so that an exec cannot change the
 *	answer
 *
 * CAP_PERFMON is enough. Otherwise what ptrace_may_access() asks of a reader:
 * the same user and group IDs, no capability that the caller lacks, the same
 * user namespace, and a dumpable program; or CAP_SYS_PTRACE in the target's
 * user namespace. The hook of security modules (SELinux, AppArmor, Landlock)
 * is not exported, so their rules are not asked.
 */
bool pmr_may_see_task(struct task_struct *task)
{
	lockdep_assert_held(&task->signal->exec_update_lock);
	return perfmon_capable() || may_read_task(task);
}
