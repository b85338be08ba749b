/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tick: periodic work for the events of a CPU.
 */
#ifndef PMR_TICK_H
#define PMR_TICK_H

void pmr_tick_start(void);
void pmr_tick_init(void);
void pmr_tick_cpu_offline(void);
void pmr_tick_exit(void);

#endif /* PMR_TICK_H */
