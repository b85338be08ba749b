// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the accounts of users: the events that each has open, and the pages of ring
 * memory charged to its budget (mlock.c). A user is a kuid, the same in all user
 * namespaces.
 *
 * A user namespace gives its owner many more kuids. So an event inside of one is also
 * charged to the user that created the outermost of the namespaces, unless that is
 * root, which hands out namespaces as it hands out users.
 *
 * Task context, may sleep; takes accounts_lock, a leaf.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "api/account.h"
#include "api/api.h"

/**
 * struct pmr_account - what one user has
 * @node: in @accounts
 * @uid: user
 * @users: charges that name the account
 * @events: open events
 * @pages: pages of rings within the budget
 */
struct pmr_account {
	struct hlist_node node;
	kuid_t uid;
	unsigned long users;
	unsigned long events;
	unsigned long pages;
};

static DEFINE_HASHTABLE(accounts, 8);
/* The last account that nobody used any more; it stays for the next open of its user. */
static struct pmr_account *idle;
/* Protects the table and all fields of accounts. */
static DEFINE_SPINLOCK(accounts_lock);

static struct pmr_account *find(kuid_t uid)
{
	struct pmr_account *account;

	lockdep_assert_held(&accounts_lock);
	hash_for_each_possible(accounts, account, node, __kuid_val(uid))
		if (uid_eq(account->uid, uid))
			return account;
	return NULL;
}

static struct pmr_account *find_and_get(kuid_t uid)
{
	struct pmr_account *account;

	spin_lock(&accounts_lock);
	account = find(uid);
	if (account)
		account->users++;
	spin_unlock(&accounts_lock);
	return account;
}

/**
 * pmr_account_get() - the account of a user
 * @uid: user
 *
 * Return: the account, for pmr_account_put(), or NULL if there is no memory.
 */
struct pmr_account *pmr_account_get(kuid_t uid)
{
	struct pmr_account *account = find_and_get(uid), *fresh;

	might_sleep();
	if (account)
		return account;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	spin_lock(&accounts_lock);
	account = find(uid);
	if (!account) {
		account = fresh;
		fresh = NULL;
		account->uid = uid;
		hash_add(accounts, &account->node, __kuid_val(uid));
	}
	account->users++;
	spin_unlock(&accounts_lock);
	kfree(fresh);
	return account;
}

/**
 * pmr_account_put() - a charge is gone
 * @account: result of pmr_account_get(), or NULL
 */
void pmr_account_put(struct pmr_account *account)
{
	struct pmr_account *unused = NULL;

	if (!account)
		return;
	spin_lock(&accounts_lock);
	if (!--account->users && idle != account) {
		unused = idle && !idle->users ? idle : NULL;
		idle = account;
	}
	if (unused)
		hash_del(&unused->node);
	spin_unlock(&accounts_lock);
	kfree(unused);
}

/**
 * pmr_account_exit() - free what is left, at unload
 */
void pmr_account_exit(void)
{
	kfree(idle);
}

/**
 * pmr_account_charge_pages() - charge what is left of a budget
 * @account: account
 * @pages: pages wanted
 * @limit: pages of the budget
 *
 * Return: pages charged, at most @pages.
 */
unsigned long pmr_account_charge_pages(struct pmr_account *account, unsigned long pages,
				       unsigned long limit)
{
	spin_lock(&accounts_lock);
	pages = account->pages < limit ? min(pages, limit - account->pages) : 0;
	account->pages += pages;
	spin_unlock(&accounts_lock);
	return pages;
}

/**
 * pmr_account_uncharge_pages() - give pages back to the budget
 * @account: account
 * @pages: result of pmr_account_charge_pages()
 */
void pmr_account_uncharge_pages(struct pmr_account *account, unsigned long pages)
{
	spin_lock(&accounts_lock);
	account->pages -= pages;
	spin_unlock(&accounts_lock);
}

/* The owner of the outermost namespace that is not the initial one, or no uid. */
static kuid_t namespace_owner(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t owner = INVALID_UID;

	for (; ns->parent; ns = ns->parent)
		owner = ns->owner;
	return uid_eq(owner, GLOBAL_ROOT_UID) ? INVALID_UID : owner;
}

static bool add_event(struct pmr_account *account, unsigned long limit)
{
	bool fits;

	spin_lock(&accounts_lock);
	fits = account->events < limit;
	account->events += fits;
	spin_unlock(&accounts_lock);
	return fits;
}

static struct pmr_account *charge_event(kuid_t uid)
{
	struct pmr_account *account = pmr_account_get(uid);

	if (!account)
		return ERR_PTR(-ENOMEM);
	if (add_event(account, READ_ONCE(pmr_knobs.max_events)))
		return account;
	/* Only who needs the right has it looked for, and noted, by the audit. */
	if (perfmon_capable() && add_event(account, ULONG_MAX))
		return account;
	pmr_account_put(account);
	return ERR_PTR(-EMFILE);
}

static void uncharge_event(struct pmr_account *account)
{
	if (!account)
		return;
	spin_lock(&accounts_lock);
	account->events--;
	spin_unlock(&accounts_lock);
	pmr_account_put(account);
}

/**
 * pmr_account_charge_event() - the caller opens one more event
 * @accounts: filled with what to give to pmr_account_uncharge_event()
 *
 * The limit is the parameter max_events; it does not hold for CAP_PERFMON.
 *
 * Return: 0, -EMFILE at the limit, or -ENOMEM.
 */
int pmr_account_charge_event(struct pmr_account *accounts[2])
{
	kuid_t owner = namespace_owner();
	struct pmr_account *account = charge_event(current_uid());

	if (IS_ERR(account))
		return PTR_ERR(account);
	accounts[0] = account;
	if (!uid_valid(owner) || uid_eq(owner, current_uid()))
		return 0;
	account = charge_event(owner);
	if (IS_ERR(account)) {
		pmr_account_uncharge_event(accounts);
		return PTR_ERR(account);
	}
	accounts[1] = account;
	return 0;
}

/**
 * pmr_account_uncharge_event() - an event is closed, or could not be opened
 * @accounts: filled by pmr_account_charge_event(), or empty; empty afterwards
 */
void pmr_account_uncharge_event(struct pmr_account *accounts[2])
{
	uncharge_event(accounts[0]);
	uncharge_event(accounts[1]);
	accounts[0] = NULL;
	accounts[1] = NULL;
}
