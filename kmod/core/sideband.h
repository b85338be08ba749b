/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which events get the sideband records of what a task does.
 */
#ifndef PMR_SIDEBAND_H
#define PMR_SIDEBAND_H

#include <linux/types.h>

struct pmr_event;
struct pmr_mmap;
struct task_struct;

bool pmr_sideband_wants_any(const struct pmr_event *event);
void pmr_sideband_account(const struct pmr_event *event, int change);
bool pmr_sideband_wants_mmap(void);

void pmr_sideband_mmap(const struct pmr_mmap *mmap);
void pmr_sideband_comm(struct task_struct *task, const char *comm, bool exec);
void pmr_sideband_fork(struct task_struct *child);
void pmr_sideband_exit(struct task_struct *task);
void pmr_sideband_switch_out(struct task_struct *prev, struct task_struct *next);
void pmr_sideband_switch_in(struct task_struct *prev, struct task_struct *next);
void pmr_sideband_read(struct pmr_event *copy);
void pmr_sideband_read_late(struct pmr_event *copy);

#endif /* PMR_SIDEBAND_H */
