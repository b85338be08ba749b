/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The right of a process to read counters itself.
 */
#ifndef PMR_RDPMC_H
#define PMR_RDPMC_H

struct mm_struct;

void pmr_rdpmc_grant(struct mm_struct *mm);
void pmr_rdpmc_forked(struct mm_struct *mm);
void pmr_rdpmc_revoke(struct mm_struct *mm);

#endif /* PMR_RDPMC_H */
