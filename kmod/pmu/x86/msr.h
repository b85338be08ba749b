/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The MSRs of the PMU and how they are reached. On a kernel with KUnit the
 * accesses go through functions that a test can replace by a recording fake;
 * elsewhere they are the instructions. Any context, no locks.
 */
#ifndef PMR_MSR_H
#define PMR_MSR_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/perf_event.h>

#include "compat.h"

/* One counter's four bits of IA32_FIXED_CTR_CTRL (SDM vol. 3B, 20.2.2) */
#define PMR_FIXED_OS		BIT_ULL(0)
#define PMR_FIXED_USR		BIT_ULL(1)
#define PMR_FIXED_PMI		BIT_ULL(3)
#define PMR_FIXED_BITS		4

/* IA32_PERF_CAPABILITIES: counters can be written in full width (20.2.7) */
#define PMR_CAP_FW_WRITE	BIT_ULL(13)

/* RDPMC: the fixed counters (SDM vol. 2B, RDPMC) */
#define PMR_RDPMC_FIXED		BIT(30)

/* The kernel has no such accessor: a counter that cannot be read is -EIO. */
static inline int pmr_try_rdpmc(u32 counter, u64 *value)
{
	u32 low = 0, high = 0;
	int err = -EIO;

	asm volatile("1:	rdpmc\n"
		     "	xorl %k[err], %k[err]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [err] "+r" (err), "+a" (low), "+d" (high) : "c" (counter) : "cc");
	*value = low | (u64)high << 32;
	return err;
}

/*
 * Accesses to a PMU that works. A register that begins to fault later, in an NMI or in a
 * switch of tasks, must not take the machine down: it reads as 0 and keeps no value, which
 * pmr_watch_look() finds within a tick. The fixup costs nothing until then; it leaves -EIO
 * in @number.
 */
static inline u64 pmr_insn_rdmsr(u32 number)
{
	u32 low, high;

	asm volatile("1:	rdmsr\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE_REG(1b, 2b, EX_TYPE_RDMSR_SAFE, %[number])
		     : "=a" (low), "=d" (high), [number] "+c" (number));
	return low | (u64)high << 32;
}

static inline u64 pmr_insn_rdpmc(u32 number)
{
	u32 low, high;

	asm volatile("1:	rdpmc\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE_REG(1b, 2b, EX_TYPE_RDMSR_SAFE, %[number])
		     : "=a" (low), "=d" (high), [number] "+c" (number));
	return low | (u64)high << 32;
}

static inline void pmr_insn_wrmsr(u32 number, u64 value)
{
	asm volatile("1:	wrmsr\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE_REG(1b, 2b, EX_TYPE_WRMSR_SAFE, %[number])
		     : [number] "+c" (number)
		     : "a" (lower_32_bits(value)), "d" (upper_32_bits(value)) : "memory");
}

#ifdef PMR_KUNIT_STUBS
u64 pmr_rdmsr(u32 msr);
void pmr_wrmsr(u32 msr, u64 value);
u64 pmr_rdpmc(u32 counter);
u32 pmr_lvtpc_read(void);
void pmr_lvtpc_write(u32 value);
int pmr_rdmsr_safe(u32 msr, u64 *value);
int pmr_wrmsr_safe(u32 msr, u64 value);
int pmr_rdpmc_safe(u32 counter, u64 *value);
#else
static inline u64 pmr_rdmsr(u32 msr)
{
	return pmr_insn_rdmsr(msr);
}

static inline void pmr_wrmsr(u32 msr, u64 value)
{
	pmr_insn_wrmsr(msr, value);
}

static inline u64 pmr_rdpmc(u32 counter)
{
	return pmr_insn_rdpmc(counter);
}

static inline u32 pmr_lvtpc_read(void)
{
	return pmr_apic_read(APIC_LVTPC);
}

static inline void pmr_lvtpc_write(u32 value)
{
	pmr_apic_write(APIC_LVTPC, value);
}

/* For what may not be there: 0, or an errno and no word in the log. */
static inline int pmr_rdmsr_safe(u32 msr, u64 *value)
{
	return rdmsrl_safe(msr, value);
}

static inline int pmr_wrmsr_safe(u32 msr, u64 value)
{
	return wrmsrl_safe(msr, value);
}

static inline int pmr_rdpmc_safe(u32 counter, u64 *value)
{
	return pmr_try_rdpmc(counter, value);
}
#endif

#endif /* PMR_MSR_H */
