/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets of tracepoints: found by name at load, registered while in use and a
 * second longer.
 */
#ifndef PMR_TRACEPOINT_H
#define PMR_TRACEPOINT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct tracepoint;

/**
 * struct pmr_tracepoint - a tracepoint and what it calls
 * @name: its name
 * @probe: function with the arguments that the tracepoint passes
 * @tracepoint: found at load, NULL on a kernel that lacks it
 */
struct pmr_tracepoint {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint;
};

/**
 * struct pmr_tracepoint_set - tracepoints that are of use together
 * @points: the tracepoints
 * @number: how many
 * @users: who needs them now
 * @registered: they are in place
 * @leave: takes them away
 */
struct pmr_tracepoint_set {
	struct pmr_tracepoint *points;
	unsigned int number;
	unsigned int users;
	bool registered;
	struct delayed_work leave;
};

int pmr_tracepoints_find(struct pmr_tracepoint_set *set);
int pmr_tracepoints_get(struct pmr_tracepoint_set *set);
void pmr_tracepoints_put(struct pmr_tracepoint_set *set);
void pmr_tracepoints_exit(struct pmr_tracepoint_set *set);
bool pmr_tracepoints_on(const struct pmr_tracepoint_set *set);

#endif /* PMR_TRACEPOINT_H */
