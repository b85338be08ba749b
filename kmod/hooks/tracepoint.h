/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hook that is a set of tracepoints, found by their names.
 */
#ifndef PMR_TRACEPOINT_H
#define PMR_TRACEPOINT_H

#include "hooks/hook.h"

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
 * @hook: whether they are in place
 * @points: the tracepoints
 * @number: how many
 */
struct pmr_tracepoint_set {
	struct pmr_hook hook;
	struct pmr_tracepoint *points;
	unsigned int number;
};

int pmr_tracepoints_init(struct pmr_tracepoint_set *set);

#endif /* PMR_TRACEPOINT_H */
