/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The right of a process to read counters itself.
 */
#ifndef PMR_RDPMC_H
#define PMR_RDPMC_H

#include <linux/types.h>

struct mm_struct;

int pmr_rdpmc_init(void);
void pmr_rdpmc_exit(void);
bool pmr_rdpmc_possible(void);
bool pmr_rdpmc_permitted(void);
void pmr_rdpmc_grant(struct mm_struct *mm);
void pmr_rdpmc_forked(struct mm_struct *mm);
void pmr_rdpmc_revoke(struct mm_struct *mm);
void pmr_rdpmc_revoke_leftovers(void);

#endif /* PMR_RDPMC_H */
