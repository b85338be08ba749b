// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the taking and giving back of an Intel PMU: the reservation that keeps
 * the kernel's perf away, and what each CPU's MSRs and LVT entry held before.
 *
 * All of this CPU's PMU state that this module keeps begins with cpu_start() and ends
 * with cpu_stop(): without ownership nothing here or in the NMI handler touches an
 * MSR or the LVT entry.
 *
 * reserve and release: task context, serialised by the caller. cpu_start and
 * cpu_stop: on the CPU concerned, interrupts off. owed_pmi: NMI. No locks.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <asm/nmi.h>

#include "pmu/x86/dirty.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/watch.h"

/**
 * struct saved - the PMU of one CPU as it was found
 * @global_ctrl: IA32_PERF_GLOBAL_CTRL; perf leaves it set when it has no event
 * @fixed_ctrl: IA32_FIXED_CTR_CTRL
 * @debugctl: IA32_DEBUGCTL, if there is one
 * @pebs: IA32_PEBS_ENABLE, if there is one
 * @selector: IA32_PERFEVTSELx
 * @general: general-purpose counters
 * @fixed: fixed counters
 * @lvtpc: LVT performance counter entry
 */
struct saved {
	u64 global_ctrl;
	u64 fixed_ctrl;
	u64 debugctl;
	u64 pebs;
	u64 selector[PMR_FIXED_BASE];
	u64 general[PMR_FIXED_BASE];
	u64 fixed[PMR_COUNTERS_MAX - PMR_FIXED_BASE];
	u32 lvtpc;
};

static DEFINE_PER_CPU(struct saved, saved);

/* CPUs whose PMU has been taken: each sets and clears its own bit, interrupts off. */
static struct cpumask taken;

/*
 * How long a CPU that is given back waits for a PMI whose counter was stopped after its
 * overflow. Hardware and hypervisors deliver within a few.
 */
#define LATE_PMI_US	50

/* jiffies until which a PMI may still come after that, or 0; for one that is later. */
static DEFINE_PER_CPU(unsigned long, owed_until);

/*
 * Only the event selectors arbitrate: perf reserves its counters by their
 * full-width numbers, which the allocator does not manage and grants to
 * everybody. The legacy numbers are taken as well for others who ask by them.
 */
static bool reserve_counter(u32 i)
{
	if (!reserve_evntsel_nmi(MSR_ARCH_PERFMON_EVENTSEL0 + i))
		return false;
	if (reserve_perfctr_nmi(MSR_ARCH_PERFMON_PERFCTR0 + i))
		return true;
	release_evntsel_nmi(MSR_ARCH_PERFMON_EVENTSEL0 + i);
	return false;
}

static void release_counters(u32 below)
{
	while (below--) {
		release_perfctr_nmi(MSR_ARCH_PERFMON_PERFCTR0 + below);
		release_evntsel_nmi(MSR_ARCH_PERFMON_EVENTSEL0 + below);
	}
}

/**
 * pmr_intel_reserve() - take all counters from the kernel's allocator
 *
 * Return: 0, or -EBUSY if somebody holds one.
 */
int pmr_intel_reserve(void)
{
	u32 i;

	for (i = 0; i < pmr_intel.pmu.gp_counters; i++) {
		if (!reserve_counter(i)) {
			release_counters(i);
			return -EBUSY;
		}
	}
	return 0;
}

static void stop(void *unused)
{
	pmr_intel_cpu_stop();
}

/**
 * pmr_intel_release() - give all counters back to the kernel's allocator
 *
 * The hotplug lock is held: a CPU that goes gives its PMU back itself.
 */
void pmr_intel_release(void)
{
	on_each_cpu_mask(&taken, stop, NULL, true);
	release_counters(pmr_intel.pmu.gp_counters);
}

static bool has_fixed(u32 i)
{
	return pmr_intel.pmu.fixed_mask & BIT_ULL(i);
}

static void save(struct saved *was)
{
	u32 i;

	if (pmr_intel.global)
		was->global_ctrl = pmr_rdmsr(MSR_CORE_PERF_GLOBAL_CTRL);
	if (pmr_intel.pmu.fixed_mask)
		was->fixed_ctrl = pmr_rdmsr(MSR_CORE_PERF_FIXED_CTR_CTRL);
	if (pmr_intel.debugctl)
		was->debugctl = pmr_rdmsr(MSR_IA32_DEBUGCTLMSR);
	if (pmr_intel.pebs)
		was->pebs = pmr_rdmsr(MSR_IA32_PEBS_ENABLE);
	was->lvtpc = pmr_lvtpc_read();
	for (i = 0; i < pmr_intel.pmu.gp_counters; i++) {
		was->selector[i] = pmr_rdmsr(MSR_ARCH_PERFMON_EVENTSEL0 + i);
		was->general[i] = pmr_rdmsr(pmr_intel.gp_base + i);
	}
	for (i = 0; i < ARRAY_SIZE(was->fixed); i++)
		if (has_fixed(i))
			was->fixed[i] = pmr_rdmsr(MSR_CORE_PERF_FIXED_CTR0 + i);
}

/* Nothing counts and no overflow is pending afterwards. */
static void quiesce(void)
{
	u32 i;

	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	for (i = 0; i < pmr_intel.pmu.gp_counters; i++)
		pmr_wrmsr(MSR_ARCH_PERFMON_EVENTSEL0 + i, 0);
	if (pmr_intel.pmu.fixed_mask)
		pmr_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, 0);
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, pmr_intel.status);
	pmr_intel_clear_stale();
}

static void restore(const struct saved *was)
{
	u32 i;

	for (i = 0; i < pmr_intel.pmu.gp_counters; i++) {
		pmr_wrmsr(pmr_intel.gp_base + i, was->general[i]);
		pmr_wrmsr(MSR_ARCH_PERFMON_EVENTSEL0 + i, was->selector[i]);
	}
	for (i = 0; i < ARRAY_SIZE(was->fixed); i++)
		if (has_fixed(i))
			pmr_wrmsr(MSR_CORE_PERF_FIXED_CTR0 + i, was->fixed[i]);
	if (pmr_intel.pmu.fixed_mask)
		pmr_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, was->fixed_ctrl);
	if (was->debugctl & DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI)
		pmr_wrmsr(MSR_IA32_DEBUGCTLMSR, was->debugctl);
	if (was->pebs)
		pmr_wrmsr(MSR_IA32_PEBS_ENABLE, was->pebs);
	pmr_lvtpc_write(was->lvtpc);
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, was->global_ctrl);
}

/**
 * pmr_intel_cpu_start() - take the PMU of this CPU
 *
 * Freezing on a PMI would stop all counters at each overflow, those of events
 * that have nothing to do with it as well, so it goes off.
 */
void pmr_intel_cpu_start(void)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	struct saved *was = this_cpu_ptr(&saved);

	lockdep_assert_irqs_disabled();
	save(was);
	quiesce();
	counters->dirty = pmr_intel.counters;	/* by whatever used them before */
	pmr_dirty_expect();
	counters->late_until = this_cpu_read(owed_until);
	this_cpu_write(owed_until, 0);
	if (was->debugctl & DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI)
		pmr_wrmsr(MSR_IA32_DEBUGCTLMSR,
			  was->debugctl & ~DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI);
	/* An overflow that makes a PEBS record makes no PMI. */
	if (was->pebs)
		pmr_wrmsr(MSR_IA32_PEBS_ENABLE, 0);
	pmr_lvtpc_write(APIC_DM_NMI);
	cpumask_set_cpu(smp_processor_id(), &taken);
	WRITE_ONCE(counters->ready, true);
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, pmr_intel.counters);
}

/*
 * A counter was stopped after its overflow, and its PMI is still on the way. Once the
 * PMU is given back the handler could not serve it: a delivered PMI masks the LVT
 * entry, and to unmask that is then the next owner's business.
 */
static void await_late_pmi(const struct pmr_counters *counters)
{
	int us;

	for (us = 0; us < LATE_PMI_US && pmr_counters_expect_pmi(counters); us++)
		udelay(1);
	if (pmr_counters_expect_pmi(counters))
		this_cpu_write(owed_until, counters->late_until);
}

/**
 * pmr_intel_cpu_stop() - put back what pmr_intel_cpu_start() found, if it was called
 *
 * No event runs on this CPU any more.
 */
void pmr_intel_cpu_stop(void)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);

	lockdep_assert_irqs_disabled();
	if (!counters->ready)
		return;
	WARN_ON_ONCE(counters->active);
	pmr_watch_cpu_stop();
	quiesce();
	await_late_pmi(counters);
	pmr_counters_reset(counters);
	restore(this_cpu_ptr(&saved));
	cpumask_clear_cpu(smp_processor_id(), &taken);
}

/**
 * pmr_intel_owed_pmi() - is an NMI a PMI that came after this CPU was given back?
 *
 * NMI. One at most is claimed, and only in the time in which one can be expected. No
 * register is touched: they are others' by now.
 */
bool pmr_intel_owed_pmi(void)
{
	unsigned long until = this_cpu_read(owed_until);

	if (likely(!until))
		return false;
	this_cpu_write(owed_until, 0);
	return time_before(jiffies, until);
}
