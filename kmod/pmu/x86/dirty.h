/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters that perf has left dirty, see dirty.c.
 */
#ifndef PMR_DIRTY_H
#define PMR_DIRTY_H

struct mm_struct;

void pmr_dirty_init(void);
void pmr_dirty_exit(void);
void pmr_dirty_expect(void);
void pmr_dirty_switch(const struct mm_struct *next);

#endif /* PMR_DIRTY_H */
