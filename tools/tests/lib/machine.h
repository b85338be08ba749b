/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine under test: its CPUs, MSRs, files under /proc and /sys, kernel
 * log, and the module.
 */
#ifndef PMURING_TESTS_MACHINE_H
#define PMURING_TESTS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pmuring.h"

/* instrumentation of the PMU-modelling QEMU, read-only MSRs of each vCPU */
#define QPMU_ID			0x40005000
#define QPMU_SIGNATURE		0x51504d5500000001ULL
#define QPMU_NMIS		0x40005005
#define QPMU_PMIS		0x40005015
/* written: what the PMU does from now on, see scripts/qemu/README.md */
#define QPMU_CONTROL		0x4000501e
#define QPMU_ALIVE		0
#define QPMU_IGNORE		1
#define QPMU_FAULT		2
#define QPMU_STILL		3
#define QPMU_POWER_LOSS		4
#define QPMU_STORM(n)		((uint64_t)(n) << 8 | 5)
#define QPMU_STATUS_STORM(n)	((uint64_t)(n) << 8 | 6)

bool machine_is_exact(void);
bool machine_is_checked(void);
uint64_t machine_slack(uint64_t count);

int cpu_possible(void);
bool cpu_is_online(int cpu);
bool cpu_set_online(int cpu, bool online);
void cpu_pin(int cpu);

bool msr_read(int cpu, uint32_t msr, uint64_t *value);
bool msr_write(int cpu, uint32_t msr, uint64_t value);

bool file_read(const char *path, char *text, size_t size);
bool file_write(const char *path, const char *text);
long file_number(const char *path);
uint64_t status_kb(const char *field);
uint64_t now_ns(void);
void sleep_ms(unsigned int ms);

bool pmu_is_there(void);
struct pmuring_info module_info(void);
bool hooks_remain(void);
long module_parameter(const char *name);
bool module_set_parameter(const char *name, long value);
const char *module_path(void);
int module_load(void);
int module_unload(void);

int kernel_log_open(void);
unsigned int kernel_log_lines(int log, const char *text);
bool kernel_log_is_clean(int log);

#endif
