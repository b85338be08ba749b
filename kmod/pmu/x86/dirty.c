// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the counters that perf has left dirty. perf zeroes those that it has used on a
 * CPU when an address space that may execute RDPMC is next loaded there, once
 * (arch/x86, cr4_update_pce_mm()). By then they may be ours: an event whose counter is
 * zeroed has jumped by up to 2^47, and overflows as much later.
 *
 * While this module holds the PMU perf has no event, so the switches in question are
 * those to a process that this module has given the right, and all of these are
 * watched. Before the first one, the CPU's counters are brought to 0, where zeroing
 * them changes nothing; an interrupt right behind the switch brings them back to where
 * their periods end in time. A CPU pays for that once each time its PMU is taken, and
 * nothing ever waits for a CPU.
 *
 * expect: CPU concerned, interrupts off. switch: sched_switch, interrupts off, runqueue
 * lock held, the next task's events are in. init and exit: load and unload. No locks.
 */
#include <linux/irq_work.h>
#include <linux/lockdep.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <asm/processor.h>

#include "pmu/x86/dirty.h"
#include "pmu/x86/intel.h"

/**
 * struct dirty - what perf may do to the counters of one CPU; its own, interrupts off
 * @work: comes right behind the switch at which perf may do it
 * @pending: it has not done it yet
 */
struct dirty {
	struct irq_work work;
	bool pending;
};

static DEFINE_PER_CPU(struct dirty, dirty);

/* Only where the kernel lets the process execute RDPMC it clears them. */
static void after_switch(struct irq_work *work)
{
	struct dirty *here = container_of(work, struct dirty, work);

	lockdep_assert_irqs_disabled();
	if (native_read_cr4() & X86_CR4_PCE)
		here->pending = false;
	pmr_intel_reload_all(false);
}

/**
 * pmr_dirty_expect() - the PMU of this CPU has been taken: perf may have used it
 */
void pmr_dirty_expect(void)
{
	this_cpu_write(dirty.pending, true);
}

/**
 * pmr_dirty_switch() - a process that may execute RDPMC is about to run here
 * @next: its address space
 *
 * The kernel does nothing if that is loaded already.
 */
void pmr_dirty_switch(const struct mm_struct *next)
{
	struct dirty *here = this_cpu_ptr(&dirty);

	lockdep_assert_irqs_disabled();
	if (likely(!here->pending) || native_read_cr3_pa() == __pa(next->pgd))
		return;
	pmr_intel_reload_all(true);
	irq_work_queue(&here->work);
}

/**
 * pmr_dirty_init() - prepare all CPUs
 */
void pmr_dirty_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(dirty.work, cpu) = IRQ_WORK_INIT_HARD(after_switch);
}

/**
 * pmr_dirty_exit() - wait for what is under way, when no event is left
 */
void pmr_dirty_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&dirty.work, cpu));
}
