/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The door to the module: the only code in user space that knows
 * /dev/pmuring. It returns a perf event fd, so everything beyond
 * the open is <linux/perf_event.h>. Called by the tool, the tests, the bench.
 */
#ifndef PMURING_LIB_DOOR_H
#define PMURING_LIB_DOOR_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmuring.h"

int door_fd(void);
int door_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu,
		    int group_fd, uint64_t flags);
int door_info(struct pmuring_info *info);

const char *door_explain_node(int err);
const char *door_explain_event(int err, const struct perf_event_attr *attr,
			       pid_t pid, int cpu);

#endif
