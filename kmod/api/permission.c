// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the rights of callers: what they may profile. Task context;
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
 * pmr_rights_decide() - what the caller may do
 * @rights: filled in
 *
 * Each parameter is read once, so that a change while an event is opened gives
 * an event by the old rules or by the new ones, never by a mixture. Level 3 of
 * paranoid is Debian's: nothing for the unprivileged, CAP_PERFMON included.
 */
void pmr_rights_decide(struct pmr_rights *rights)
{
	int paranoid = READ_ONCE(pmr_knobs.paranoid);

	rights->perfmon = perfmon_capable();
	rights->open = paranoid < 3 || capable(CAP_SYS_ADMIN);
	rights->kernel = paranoid < 2 || rights->perfmon;
	rights->cpu = paranoid < 1 || rights->perfmon;
	rights->max_stack = READ_ONCE(pmr_knobs.max_stack);
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
 * task without a program runs the kernel's code, unless it exits: then no event
 * can follow it any more.
 */
static bool dumpable_allows(struct task_struct *task)
{
	const struct mm_struct *mm = task->mm;

	lockdep_assert_held(&task->alloc_lock);
	if (!mm)
		return task->flags & PF_EXITING || capable(CAP_SYS_PTRACE);
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
 * @rights: of the caller
 * @task: task; its exec_update_lock is held, so that an exec cannot change the
 *	answer
 *
 * CAP_PERFMON is enough. Otherwise what ptrace_may_access() asks of a reader:
 * the same user and group IDs, no capability that the caller lacks, the same
 * user namespace, and a dumpable program; or CAP_SYS_PTRACE in the target's
 * user namespace. The hook of security modules (SELinux, AppArmor, Landlock)
 * is not exported, so their rules are not asked.
 */
bool pmr_may_see_task(const struct pmr_rights *rights, struct task_struct *task)
{
	lockdep_assert_held(&task->signal->exec_update_lock);
	return rights->perfmon || may_read_task(task);
}
