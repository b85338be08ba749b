/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own perf, for tests of how the two share a PMU.
 */
#ifndef PMURING_TESTS_PERF_SYSCALL_H
#define PMURING_TESTS_PERF_SYSCALL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
bool perf_works(int cpu);

#endif
