/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernel calls us: the scheduler's tracepoints and CPU hotplug.
 */
#ifndef PMR_HOOKS_H
#define PMR_HOOKS_H

#include <linux/types.h>

int pmr_sched_hooks_init(void);
void pmr_sched_hooks_exit(void);
int pmr_sched_hooks_get(void);
void pmr_sched_hooks_put(void);
bool pmr_sched_hooks_on(void);

int pmr_hotplug_init(void);
void pmr_hotplug_exit(void);

#endif /* PMR_HOOKS_H */
