// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the right of a process to read counters itself: CR4.PCE, which the kernel
 * switches with the address space, by a count of grants that it keeps there for
 * perf and that is shared with it.
 *
 * Root can overrule the count for the whole machine by the file "rdpmc" of the kernel's
 * PMU in sysfs. A module cannot read the kernel's variable, so it asks the file: its
 * show function is found at load.
 *
 * revoke_leftovers: task context, under the lock of the PMU's users. grant, revoke: task
 * context, under the mmap_lock of the address space, held for writing. All of them wait
 * for IPIs. forked: the forking task, preemption off. init: load.
 * policy_lock is a leaf and protects the page that the policy is read into.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/kernfs.h>
#include <linux/lockdep.h>
#include <linux/magic.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <asm/tlbflush.h>

#include "compat.h"
#include "pmu/pmu.h"
#include "pmu/sysfs.h"
#include "pmu/x86/rdpmc.h"

#define POLICY_FILE	"/sys/bus/event_source/devices/cpu/rdpmc"

/* What that file says. */
enum policy {
	NEVER = 0,
	WHERE_GRANTED = 1,
	ALWAYS = 2,
};

/**
 * struct policy_source - where the policy is read; constant after load but for @page
 * @attr: the file's attribute, or NULL: @fallback is the policy
 * @dev: its device, never unregistered
 * @page: what its show function writes to, under policy_lock
 * @fallback: the policy if there is no file
 */
static struct policy_source {
	struct device_attribute *attr;
	struct device *dev;
	char *page;
	enum policy fallback;
} source;

static DEFINE_RAW_SPINLOCK(policy_lock);

/* Any context but NMI. */
static enum policy read_policy(void)
{
	enum policy policy = NEVER;
	unsigned long flags;

	if (!source.attr)
		return source.fallback;
	raw_spin_lock_irqsave(&policy_lock, flags);
	if (source.attr->show(source.dev, source.attr, source.page) > 0 &&
	    source.page[0] >= '0' && source.page[0] <= '2')
		policy = source.page[0] - '0';
	raw_spin_unlock_irqrestore(&policy_lock, flags);
	return policy;
}

/* What was found last, and when. CPUs that look at once find the same. */
static unsigned long looked_at;
static bool possible;

/**
 * pmr_rdpmc_permitted() - does the kernel let processes read counters by a grant?
 *
 * Any context but NMI; as of this moment.
 */
bool pmr_rdpmc_permitted(void)
{
	WRITE_ONCE(possible, read_policy() != NEVER);
	WRITE_ONCE(looked_at, jiffies);
	return READ_ONCE(possible);
}

/**
 * pmr_rdpmc_possible() - the same, as of the last tick or later
 *
 * Cheap enough for each switch to a reader.
 */
bool pmr_rdpmc_possible(void)
{
	unsigned long now = jiffies;

	return READ_ONCE(looked_at) == now ? READ_ONCE(possible) : pmr_rdpmc_permitted();
}

/* On each CPU where the address space may be loaded, interrupts off. */
static void update_cr4(void *info)
{
	struct mm_struct *mm = info;

	lockdep_assert_irqs_disabled();
	/* Elsewhere the next switch to it does the same. */
	if (current->active_mm != mm)
		return;
	if (atomic_read(&mm->context.perf_rdpmc_allowed)) {
		/* Switches to the process have left what others counted: it could not look. */
		pmr_pmu->scrub(mm);
		if (read_policy() != NEVER)
			cr4_set_bits_irqsoff(X86_CR4_PCE);
	} else if (read_policy() != ALWAYS) {
		cr4_clear_bits_irqsoff(X86_CR4_PCE);
	}
}

/**
 * pmr_rdpmc_grant() - a process may execute RDPMC
 * @mm: its address space
 */
void pmr_rdpmc_grant(struct mm_struct *mm)
{
	mmap_assert_write_locked(mm);
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}

/**
 * pmr_rdpmc_forked() - a process was forked
 * @mm: its address space, which no task has run in
 *
 * fork() copies the number of grants with everything else. While pmuring holds the PMU
 * perf has no event on it, so each grant is ours, and ours are for mappings in the
 * address space that they were made for: the new one has none, not even where
 * MADV_DOFORK gives it the mapping.
 */
void pmr_rdpmc_forked(struct mm_struct *mm)
{
	lockdep_assert_preemption_disabled();
	if (atomic_read(&mm->context.perf_rdpmc_allowed) && pmr_pmu_is_held())
		atomic_set(&mm->context.perf_rdpmc_allowed, 0);
}

/**
 * pmr_rdpmc_revoke() - undo one pmr_rdpmc_grant()
 * @mm: its address space
 *
 * No one else changes its grants: it is locked, or has no user any more.
 */
void pmr_rdpmc_revoke(struct mm_struct *mm)
{
	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}

static bool revoke_leftover(struct task_struct *task)
{
	bool found = false;

	task_lock(task);	/* keeps its mm */
	if (task->mm && atomic_read(&task->mm->context.perf_rdpmc_allowed)) {
		atomic_set(&task->mm->context.perf_rdpmc_allowed, 0);
		found = true;
	}
	task_unlock(task);
	return found;
}

/* Interrupts off. Elsewhere, and later, a switch to the process does the same. */
static void update_cr4_here(void *info)
{
	if (current->active_mm)
		update_cr4(current->active_mm);
}

/**
 * pmr_rdpmc_revoke_leftovers() - revoke the grants of perf that outlived its events
 *
 * A fork copies the grants of a process, and perf does not revoke those of the child.
 * Called when the PMU has been taken from the kernel's allocator and no event of pmuring
 * holds it yet: no event that a grant could be for exists then. Task context, may sleep.
 */
void pmr_rdpmc_revoke_leftovers(void)
{
	struct task_struct *process, *task;
	bool found = false;

	might_sleep();
	rcu_read_lock();
	/* for_each_process_thread() names tasklist_lock, which is not exported, to lockdep. */
	list_for_each_entry_rcu(process, &init_task.tasks, tasks)
		list_for_each_entry_rcu(task, &process->signal->thread_head, thread_node)
			found |= revoke_leftover(task);
	rcu_read_unlock();
	if (found)
		on_each_cpu(update_cr4_here, NULL, 1);
}

/* The file is there as long as the kernel: its PMU is built in. */
static bool find_file(void)
{
	struct file *file = filp_open(POLICY_FILE, O_RDONLY, 0);
	struct kernfs_node *node;

	if (IS_ERR(file))
		return false;
	if (file_inode(file)->i_sb->s_magic == SYSFS_MAGIC) {
		node = file_inode(file)->i_private;
		source.dev = kobj_to_dev(pmr_kernfs_parent(node)->priv);
		source.attr = container_of((struct attribute *)node->priv,
					   struct device_attribute, attr);
	}
	fput(file);
	return source.attr;
}

/**
 * pmr_rdpmc_init() - find out where the kernel's policy is
 *
 * Before pmr_sysfs_init(), which makes a device of the same name. Where the kernel has
 * no PMU there is no policy. Where it has one and shows none, readers are not told
 * that they may read counters: to try would be their end if they may not.
 */
int pmr_rdpmc_init(void)
{
	source.fallback = pmr_kernel_has_pmu() ? NEVER : WHERE_GRANTED;
	source.page = (char *)get_zeroed_page(GFP_KERNEL);
	if (!source.page)
		return -ENOMEM;
	if (!find_file() && source.fallback == NEVER)
		pr_notice(POLICY_FILE " cannot be read: no event shows its counter to user space\n");
	return 0;
}

/**
 * pmr_rdpmc_exit() - undo pmr_rdpmc_init(), when no event is left
 */
void pmr_rdpmc_exit(void)
{
	free_page((unsigned long)source.page);
}
