// SPDX-License-Identifier: GPL-2.0
/*
 * Owns how long a hook stays in place: from its first use until a second after
 * its last. Called by the hooks, in task context; sleeps.
 *
 * Probes are placed and removed by changing code and waiting for grace periods,
 * which takes ms. Who opens and closes events one by one need not wait for that
 * each time.
 */
#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "hooks/hook.h"

/* As long as perf leaves its switch hook in place. */
#define LINGER	HZ

/* Under the hook's lock. */
static void remove_unused(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	if (hook->users || !hook->placed)
		return;
	hook->remove(hook);
	WRITE_ONCE(hook->placed, false);
}

static void leave(struct work_struct *work)
{
	struct pmr_hook *hook = container_of(to_delayed_work(work), struct pmr_hook, leave);
	unsigned long end, now = jiffies;

	mutex_lock(&hook->lock);
	end = hook->unused_since + LINGER;
	if (hook->users || time_after_eq(now, end))
		remove_unused(hook);
	else
		queue_delayed_work(system_wq, &hook->leave, end - now);
	mutex_unlock(&hook->lock);
}

/* Under the hook's lock. */
static int place(struct pmr_hook *hook)
{
	int err = hook->place(hook);

	lockdep_assert_held(&hook->lock);
	if (!err)
		WRITE_ONCE(hook->placed, true);
	return err;
}

/**
 * pmr_hook_init() - make a hook usable, at load
 * @hook: hook whose functions are set
 */
void pmr_hook_init(struct pmr_hook *hook)
{
	mutex_init(&hook->lock);
	INIT_DELAYED_WORK(&hook->leave, leave);
}

/**
 * pmr_hook_get() - one more user
 * @hook: hook
 *
 * Return: 0 or the error that kept it from being placed.
 */
int pmr_hook_get(struct pmr_hook *hook)
{
	int err = 0;

	mutex_lock(&hook->lock);
	if (!hook->placed)
		err = place(hook);
	if (!err)
		hook->users++;
	mutex_unlock(&hook->lock);
	return err;
}

/**
 * pmr_hook_put() - one user less
 * @hook: hook
 */
void pmr_hook_put(struct pmr_hook *hook)
{
	mutex_lock(&hook->lock);
	if (!--hook->users) {
		hook->unused_since = jiffies;
		/* Does nothing if it is queued: starting the timer again each time costs more. */
		queue_delayed_work(system_wq, &hook->leave, LINGER);
	}
	mutex_unlock(&hook->lock);
}

/**
 * pmr_hook_exit() - take a hook away at once, at unload
 * @hook: hook that nobody uses
 *
 * What it calls may still run afterwards.
 */
void pmr_hook_exit(struct pmr_hook *hook)
{
	cancel_delayed_work_sync(&hook->leave);
	mutex_lock(&hook->lock);
	remove_unused(hook);
	mutex_unlock(&hook->lock);
}

/**
 * pmr_hook_placed() - is a hook in place?
 * @hook: hook
 *
 * Any context. Who asks without being a user gets an answer of the past.
 */
bool pmr_hook_placed(const struct pmr_hook *hook)
{
	return READ_ONCE(hook->placed);
}
