/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spare events for forks.
 */
#ifndef PMR_POOL_H
#define PMR_POOL_H

#include "core/event.h"

void pmr_pool_fill(void);
struct pmr_event *pmr_pool_get(void);
void pmr_pool_refill(void);
void pmr_pool_exit(void);

#endif /* PMR_POOL_H */
