// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the right of a process to read counters itself: CR4.PCE, which the kernel
 * switches with the address space, by a count of grants that it keeps there for
 * perf and that is shared with it.
 *
 * Task context; grant and revoke wait for IPIs, under mmap_lock. No locks of its own.
 */
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/tlbflush.h>

#include "pmu/pmu.h"
#include "pmu/x86/rdpmc.h"

/* Grants of this module in force. */
static atomic_t granted;

/* On each CPU where the address space may be loaded, interrupts off. */
static void update_cr4(void *info)
{
	struct mm_struct *mm = info;

	/* Elsewhere the next switch to it does the same. */
	if (current->active_mm != mm)
		return;
	if (!atomic_read(&mm->context.perf_rdpmc_allowed)) {
		cr4_clear_bits_irqsoff(X86_CR4_PCE);
		return;
	}
	/* Switches to the process have left what others counted: it could not look. */
	pmr_pmu->scrub(mm);
	cr4_set_bits_irqsoff(X86_CR4_PCE);
}

/**
 * pmr_rdpmc_grant() - a process may execute RDPMC
 * @mm: its address space
 */
void pmr_rdpmc_grant(struct mm_struct *mm)
{
	atomic_inc(&granted);
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}

/**
 * pmr_rdpmc_forked() - a process was forked
 * @mm: its address space, which no task has run in
 *
 * fork() copies the number of grants with everything else, but none of the
 * mappings that it was granted for, so nobody would ever revoke them.
 */
void pmr_rdpmc_forked(struct mm_struct *mm)
{
	if (atomic_read(&granted))
		atomic_set(&mm->context.perf_rdpmc_allowed, 0);
}

/**
 * pmr_rdpmc_revoke() - undo one pmr_rdpmc_grant()
 * @mm: its address space
 */
void pmr_rdpmc_revoke(struct mm_struct *mm)
{
	atomic_dec(&granted);
	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_cond_mask(NULL, update_cr4, mm, true, mm_cpumask(mm));
}
