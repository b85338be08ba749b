// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the accounting of ring memory: first against a budget per user, the
 * rest against the process' RLIMIT_MEMLOCK, as perf does it. The budget is our
 * own, so that perf's users lose nothing to ours.
 *
 * Task context; takes accounts_lock, a leaf.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "api/api.h"

/**
 * struct account - pages charged to one user's budget
 * @entry: in @accounts
 * @uid: user
 * @pages: pages; the entry goes with the last one
 */
struct account {
	struct list_head entry;
	kuid_t uid;
	unsigned long pages;
};

/**
 * struct pmr_mlock - what one ring was charged to
 * @account: whose budget, NULL if nothing was left of it
 * @budgeted: pages charged there
 * @mm: whose pinned_vm; holds a reference
 * @pinned: pages charged there
 */
struct pmr_mlock {
	struct account *account;
	unsigned long budgeted;
	struct mm_struct *mm;
	unsigned long pinned;
};

static LIST_HEAD(accounts);
/* Protects the list and the page counts. */
static DEFINE_SPINLOCK(accounts_lock);

static struct account *find(kuid_t uid)
{
	struct account *account;

	list_for_each_entry(account, &accounts, entry)
		if (uid_eq(account->uid, uid))
			return account;
	return NULL;
}

static unsigned long budget(void)
{
	return ((unsigned long)READ_ONCE(pmr_knobs.mlock_kb) >> (PAGE_SHIFT - 10)) *
	       num_online_cpus();
}

/*
 * Charges up to @pages to the caller's budget. Whoever charged at least one
 * page keeps the account alive. Returns @fresh unless it became the account.
 */
static struct account *charge_budget(struct pmr_mlock *charge, unsigned long pages,
				     struct account *fresh)
{
	unsigned long limit = budget();
	struct account *account;
	unsigned long used;

	spin_lock(&accounts_lock);
	account = find(current_uid());
	used = account ? account->pages : 0;
	charge->budgeted = used < limit ? min(pages, limit - used) : 0;
	if (charge->budgeted && !account) {
		account = fresh;
		fresh = NULL;
		account->uid = current_uid();
		list_add(&account->entry, &accounts);
	}
	if (charge->budgeted) {
		account->pages += charge->budgeted;
		charge->account = account;
	}
	spin_unlock(&accounts_lock);
	return fresh;
}

static void uncharge_budget(const struct pmr_mlock *charge)
{
	struct account *account = charge->account;

	if (!account)
		return;
	spin_lock(&accounts_lock);
	account->pages -= charge->budgeted;
	if (account->pages)
		account = NULL;
	else
		list_del(&account->entry);
	spin_unlock(&accounts_lock);
	kfree(account);
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
	struct account *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!charge || !fresh)
		goto fail;
	fresh = charge_budget(charge, pages, fresh);
	err = charge_pinned(charge, pages - charge->budgeted);
	if (err) {
		uncharge_budget(charge);
		goto fail;
	}
	kfree(fresh);
	return charge;
fail:
	kfree(fresh);
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
	uncharge_budget(charge);
	atomic64_sub(charge->pinned, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	kfree(charge);
}
