/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of known length. All counts are of user-mode instructions and taken
 * branches; on the PMU QEMU they are exact.
 */
#ifndef PMURING_TESTS_WORKLOAD_H
#define PMURING_TESTS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* one round of work() and of work_counted() */
#define WORK_ROUND		16
/* work_counted(): what the event still sees of switching itself off */
#define WORK_TAIL		3
#define WORK_TAIL_BRANCHES	1
/* one round of work_rounds() beside the work itself */
#define WORK_PINGPONG_ROUND	11
#define WORK_MIGRATE_ROUND	9

void work(uint64_t rounds);
void work_counted(int event_fd, uint64_t rounds);
void work_pingpong(int read_fd, int write_fd, uint64_t rounds, uint64_t loops);
void work_migrate(const void *cpu_masks, uint64_t mask_size, uint64_t rounds, uint64_t loops);

/* labels within work() and work_counted() */
extern const char work_end[], work_counted_loop[], work_counted_loop_end[];

uint64_t work_counted_ip(uint64_t instructions);
bool work_counted_has_ip(uint64_t ip);
bool work_has_ip(uint64_t ip);

#endif
