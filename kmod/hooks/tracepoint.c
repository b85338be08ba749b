// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the registering of tracepoints. Called by the hooks that have a set of
 * them, in task context; sleeps.
 *
 * Tracepoints are not exported to modules, but can be found by their names.
 *
 * To register one that was unregistered a moment ago takes grace periods, some
 * ms. So that who opens and closes events one by one need not wait for them
 * each time, a set stays in place a little longer than it is used.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "hooks/tracepoint.h"

/* As long as perf leaves its switch hook in place. */
#define LINGER	HZ

/* Protects the use counts and whether probes are registered. */
static DEFINE_MUTEX(sets_lock);

static void remember(struct tracepoint *tracepoint, void *data)
{
	struct pmr_tracepoint_set *set = data;
	unsigned int i;

	for (i = 0; i < set->number; i++)
		if (!strcmp(tracepoint->name, set->points[i].name))
			set->points[i].tracepoint = tracepoint;
}

static void unregister_first(struct pmr_tracepoint_set *set, unsigned int number)
{
	while (number--)
		tracepoint_probe_unregister(set->points[number].tracepoint,
					    set->points[number].probe, NULL);
}

/* Under sets_lock. */
static void leave(struct pmr_tracepoint_set *set)
{
	if (set->users || !set->registered)
		return;
	unregister_first(set, set->number);
	WRITE_ONCE(set->registered, false);
}

static void leave_later(struct work_struct *work)
{
	struct pmr_tracepoint_set *set = container_of(to_delayed_work(work),
						      struct pmr_tracepoint_set, leave);

	mutex_lock(&sets_lock);
	leave(set);
	mutex_unlock(&sets_lock);
}

/**
 * pmr_tracepoints_find() - find the tracepoints of a set
 * @set: set
 *
 * Return: 0, or -ENOENT on a kernel that lacks one.
 */
int pmr_tracepoints_find(struct pmr_tracepoint_set *set)
{
	unsigned int i;

	INIT_DELAYED_WORK(&set->leave, leave_later);
	for_each_kernel_tracepoint(remember, set);
	for (i = 0; i < set->number; i++)
		if (!set->points[i].tracepoint)
			return -ENOENT;
	return 0;
}

static int register_all(struct pmr_tracepoint_set *set)
{
	struct pmr_tracepoint *point;
	unsigned int i;
	int err;

	for (i = 0; i < set->number; i++) {
		point = &set->points[i];
		err = point->tracepoint ?
		      tracepoint_probe_register(point->tracepoint, point->probe, NULL) : -ENOENT;
		if (err) {
			unregister_first(set, i);
			return err;
		}
	}
	WRITE_ONCE(set->registered, true);
	return 0;
}

/**
 * pmr_tracepoints_get() - one more user of a set
 * @set: set
 *
 * Return: 0, -ENOENT if the kernel lacks one, or an error of
 * tracepoint_probe_register().
 */
int pmr_tracepoints_get(struct pmr_tracepoint_set *set)
{
	int err = 0;

	mutex_lock(&sets_lock);
	if (!set->registered)
		err = register_all(set);
	if (!err)
		set->users++;
	mutex_unlock(&sets_lock);
	return err;
}

/**
 * pmr_tracepoints_put() - one user less
 * @set: set
 *
 * A probe may still run afterwards; tracepoint_synchronize_unregister() waits
 * for it.
 */
void pmr_tracepoints_put(struct pmr_tracepoint_set *set)
{
	mutex_lock(&sets_lock);
	set->users--;
	if (!set->users)
		mod_delayed_work(system_wq, &set->leave, LINGER);
	mutex_unlock(&sets_lock);
}

/**
 * pmr_tracepoints_exit() - take a set away at once, when no event is left
 * @set: set that was looked for at load
 */
void pmr_tracepoints_exit(struct pmr_tracepoint_set *set)
{
	cancel_delayed_work_sync(&set->leave);
	mutex_lock(&sets_lock);
	leave(set);
	mutex_unlock(&sets_lock);
}

/**
 * pmr_tracepoints_on() - is a set in place?
 * @set: set
 *
 * Any context. Who asks without holding a use gets an answer of the past.
 */
bool pmr_tracepoints_on(const struct pmr_tracepoint_set *set)
{
	return READ_ONCE(set->registered);
}
