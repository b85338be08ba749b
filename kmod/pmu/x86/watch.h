/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What looks after an Intel PMU while it is ours.
 */
#ifndef PMR_WATCH_H
#define PMR_WATCH_H

#include <linux/types.h>

struct pmr_hw;

/* A delta of 2^PMR_WATCH_DOUBT or more is not believed unasked. */
#define PMR_WATCH_DOUBT	32

void pmr_watch_arm(void);
void pmr_watch_control(void);
u64 pmr_watch_believe(const struct pmr_hw *hw, u64 delta);
void pmr_watch_fruitless(void);
void pmr_watch_look(void);
void pmr_watch_cpu_stop(void);
void pmr_watch_init(void);
void pmr_watch_exit(void);

#endif /* PMR_WATCH_H */
