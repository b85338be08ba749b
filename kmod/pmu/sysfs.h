/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What perf(1) looks for in sysfs, where the kernel has nothing to show there.
 */
#ifndef PMR_SYSFS_H
#define PMR_SYSFS_H

#include <linux/types.h>

bool pmr_kernel_has_pmu(void);
void pmr_sysfs_init(void);
void pmr_sysfs_exit(void);

#endif /* PMR_SYSFS_H */
