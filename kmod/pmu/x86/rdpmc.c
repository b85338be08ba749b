// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the right of a process to read counters itself: CR4.PCE, which the kernel
 * switches with the address space, by a count of grants that it keeps there for
 * perf and that is shared with it.
 *
 * Task context, under mmap_lock; waits for IPIs. No locks of its own.
 */
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/tlbflush.h>

#include "pmu/x86/rdpmc.h"

/* On each CPU where the address space may be loaded, interrupts off. */
static void update_cr4(void *info)
{
	struct mm_struct *mm = info;

	/* Elsewhere the next switch to it does the same. */
	if (current->active_mm != mm)
		return;
	if (atomic_read(&mm->context.perf_rdpmc_allowed))
		cr4_set_bits_irqsoff(X86_CR4_PCE);
	else
		cr4_clear_bits_irqsoff(X86_CR4_PCE);
}

/**
 * pmr_rdpmc_grant() - a process may execute RDPMC
 * @mm: its address space
 */
void pmr_rdpmc_grant(struct mm_struct *mm)
{
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}

/**
 * pmr_rdpmc_revoke() - undo one pmr_rdpmc_grant()
 * @mm: its address space
 */
void pmr_rdpmc_revoke(struct mm_struct *mm)
{
	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}
