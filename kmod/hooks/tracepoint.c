// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the registering of tracepoints. Called by the hooks that have a set of
 * them, in task context; sleeps.
 *
 * Tracepoints are not exported to modules, but can be found by their names.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "hooks/tracepoint.h"

/* Protects the use counts, and with them whether probes are registered. */
static DEFINE_MUTEX(sets_lock);

static void remember(struct tracepoint *tracepoint, void *data)
{
	struct pmr_tracepoint_set *set = data;
	unsigned int i;

	for (i = 0; i < set->number; i++)
		if (!strcmp(tracepoint->name, set->points[i].name))
			set->points[i].tracepoint = tracepoint;
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

	for_each_kernel_tracepoint(remember, set);
	for (i = 0; i < set->number; i++)
		if (!set->points[i].tracepoint)
			return -ENOENT;
	return 0;
}

static void unregister_first(struct pmr_tracepoint_set *set, unsigned int number)
{
	while (number--)
		tracepoint_probe_unregister(set->points[number].tracepoint,
					    set->points[number].probe, NULL);
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
	if (!set->users)
		err = register_all(set);
	if (!err)
		WRITE_ONCE(set->users, set->users + 1);
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
	WRITE_ONCE(set->users, set->users - 1);
	if (!set->users)
		unregister_first(set, set->number);
	mutex_unlock(&sets_lock);
}

/**
 * pmr_tracepoints_on() - is a set in use?
 * @set: set
 *
 * Any context. Who asks without holding a use gets an answer of the past.
 */
bool pmr_tracepoints_on(const struct pmr_tracepoint_set *set)
{
	return READ_ONCE(set->users);
}
