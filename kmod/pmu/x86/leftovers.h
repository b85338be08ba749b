/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What perf has left in counters.
 */
#ifndef PMR_LEFTOVERS_H
#define PMR_LEFTOVERS_H

void pmr_leftovers_clear(void);

#endif /* PMR_LEFTOVERS_H */
