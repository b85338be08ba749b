/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernel calls us: tracepoints, probes and CPU hotplug.
 */
#ifndef PMR_HOOKS_H
#define PMR_HOOKS_H

#include <linux/types.h>

struct pmr_event;
struct task_struct;

/* hooks.c: what an event needs */
int pmr_hooks_init(void);
void pmr_hooks_exit(void);
int pmr_hooks_get(const struct pmr_event *event);
void pmr_hooks_put(const struct pmr_event *event);

/* sched.c: what tasks do */
int pmr_sched_init(void);
int pmr_sched_get(void);
void pmr_sched_put(void);
void pmr_sched_exit(void);
bool pmr_sched_hooks_on(void);
void pmr_sched_exec_maps(void);

/* migrate.c: tasks that change CPU */
int pmr_migrate_init(void);
int pmr_migrate_get(void);
void pmr_migrate_put(void);
void pmr_migrate_exit(void);
bool pmr_migrate_on(void);
void pmr_migrate_remember(struct task_struct *task);
bool pmr_migrate_arrived(const struct task_struct *task);

/* faults.c: page faults, when they begin and when they have been handled */
int pmr_faults_init(void);
int pmr_faults_get(void);
void pmr_faults_put(void);
void pmr_faults_exit(void);
int pmr_faults_handled_get(void);
void pmr_faults_handled_put(void);

/* mmap.c: new mappings */
void pmr_mmap_hook_init(void);
int pmr_mmap_hook_get(void);
void pmr_mmap_hook_put(void);
void pmr_mmap_hook_exit(void);

/* hotplug.c */
int pmr_hotplug_init(void);
void pmr_hotplug_exit(void);

/* power.c: suspend, hibernation, reboot */
int pmr_power_init(void);
void pmr_power_exit(void);
bool pmr_power_parked(void);

#endif /* PMR_HOOKS_H */
