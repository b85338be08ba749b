// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the accounting of ring memory: first against a budget per user, the
 * rest against the process' RLIMIT_MEMLOCK, as perf does it. The budget is our
 * own, so that perf's users lose nothing to ours.
 *
 * Task context. The budget is counted in the account of the user, see account.c.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "api/account.h"
#include "api/api.h"

/**
 * struct pmr_mlock - what one ring was charged to
 * @account: whose budget
 * @budgeted: pages charged there
 * @mm: whose pinned_vm; holds a reference
 * @pinned: pages charged there
 */
struct pmr_mlock {
	struct pmr_account *account;
	unsigned long budgeted;
	struct mm_struct *mm;
	unsigned long pinned;
};

static unsigned long budget(void)
{
	return ((unsigned long)READ_ONCE(pmr_knobs.mlock_kb) >> (PAGE_SHIFT - 10)) *
	       num_online_cpus();
}

static int charge_pinned(struct pmr_mlock *charge, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;
	u64 pinned = atomic64_add_return(pages, &mm->pinned_vm);

	if (pages && pinned > limit && READ_ONCE(pmr_knobs.paranoid) > -1 &&
	    !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -EPERM;
	}
	mmgrab(mm);
	charge->mm = mm;
	charge->pinned = pages;
	return 0;
}

/**
 * pmr_mlock_charge() - charge pages to the caller
 * @pages: pages of a ring, its user page included
 *
 * Return: what to give to pmr_mlock_uncharge(), or ERR_PTR of -EPERM beyond
 * both limits, or -ENOMEM.
 */
struct pmr_mlock *pmr_mlock_charge(unsigned long pages)
{
	struct pmr_mlock *charge = kzalloc(sizeof(*charge), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!charge)
		return ERR_PTR(err);
	charge->account = pmr_account_get(current_uid());
	if (!charge->account)
		goto fail;
	charge->budgeted = pmr_account_charge_pages(charge->account, pages, budget());
	err = charge_pinned(charge, pages - charge->budgeted);
	if (!err)
		return charge;
	pmr_account_uncharge_pages(charge->account, charge->budgeted);
fail:
	pmr_account_put(charge->account);
	kfree(charge);
	return ERR_PTR(err);
}

/**
 * pmr_mlock_uncharge() - give back what was charged
 * @charge: result of pmr_mlock_charge()
 *
 * Any task: a mapping may be closed by another one than made it.
 */
void pmr_mlock_uncharge(struct pmr_mlock *charge)
{
	pmr_account_uncharge_pages(charge->account, charge->budgeted);
	pmr_account_put(charge->account);
	atomic64_sub(charge->pinned, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	kfree(charge);
}
