// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the registering of tracepoints. pmr_tracepoints_init(): at load, by the
 * hooks that have a set of them. The rest: by the set's hook, in task context,
 * which sleeps and holds its lock.
 *
 * Tracepoints are not exported to modules, but can be found by their names.
 */
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "hooks/tracepoint.h"

static void unregister_first(struct pmr_tracepoint_set *set, unsigned int number)
{
	while (number--)
		tracepoint_probe_unregister(set->points[number].tracepoint,
					    set->points[number].probe, NULL);
}

static int register_all(struct pmr_hook *hook)
{
	struct pmr_tracepoint_set *set = container_of(hook, struct pmr_tracepoint_set, hook);
	struct pmr_tracepoint *point;
	unsigned int i;
	int err;

	lockdep_assert_held(&hook->lock);
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

static void unregister_all(struct pmr_hook *hook)
{
	struct pmr_tracepoint_set *set = container_of(hook, struct pmr_tracepoint_set, hook);

	lockdep_assert_held(&hook->lock);
	unregister_first(set, set->number);
}

static void remember(struct tracepoint *tracepoint, void *data)
{
	struct pmr_tracepoint_set *set = data;
	unsigned int i;

	for (i = 0; i < set->number; i++)
		if (!strcmp(tracepoint->name, set->points[i].name))
			set->points[i].tracepoint = tracepoint;
}

/**
 * pmr_tracepoints_init() - find the tracepoints of a set
 * @set: set; its hook can be used afterwards, whatever was found
 *
 * Return: 0, or -ENOENT on a kernel that lacks one.
 */
int pmr_tracepoints_init(struct pmr_tracepoint_set *set)
{
	unsigned int i;

	set->hook.place = register_all;
	set->hook.remove = unregister_all;
	pmr_hook_init(&set->hook);
	for_each_kernel_tracepoint(remember, set);
	for (i = 0; i < set->number; i++)
		if (!set->points[i].tracepoint)
			return -ENOENT;
	return 0;
}
