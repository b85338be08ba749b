// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the question whether this machine has an Intel PMU that works. CPUID alone does
 * not tell: hypervisors list a PMU and emulate none of it, and firmware or an earlier
 * kernel leaves bits behind that keep counters from counting.
 *
 * probe, works: task context at load. cpu_online, cpu_offline: on the CPU concerned, in
 * its hotplug thread. works_here, clear_stale: on the CPU concerned, interrupts off,
 * while the kernel's allocator has granted us all counters. cpu_works: any context.
 *
 * Every register is reached by the safe accessors first, so a PMU that is not there
 * leaves no splat in the log. What is tried is put back.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/processor.h>

#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/quirks.h"
#include "pmu/x86/watch.h"

/* Events whose first occurrence is awaited: rounds of so many PAUSEs. */
#define ROUNDS	100
#define PAUSES	20

/* Two patterns that differ in each bit that a legacy write reaches */
#define PATTERN	0x2a5a5a5a5aULL

/* Bits of GLOBAL_STATUS beyond the counters, all but the one that belongs to Intel PT */
#define STALE_BITS (BIT_ULL(GLOBAL_STATUS_PERF_METRICS_OVF_BIT) | GLOBAL_STATUS_LBRS_FROZEN | \
		    GLOBAL_STATUS_COUNTERS_FROZEN | GLOBAL_STATUS_ASIF | GLOBAL_STATUS_UNC_OVF | \
		    GLOBAL_STATUS_BUFFER_OVF | GLOBAL_STATUS_COND_CHG)

/**
 * struct verdict - why a CPU's PMU cannot be used
 * @what: the reason, or NULL for none
 * @msr: register that it is about
 * @cpu: the CPU
 */
struct verdict {
	const char *what;
	u32 msr;
	int cpu;
};

/* The first reason that is found counts. Several CPUs may find one at once. */
static struct verdict verdict;
static DEFINE_RAW_SPINLOCK(verdict_lock);

/* CPUs that need no trial when the hotplug callback comes. Under the hotplug lock. */
static struct cpumask tried;

/* CPUs that came later than the module, and whose trial failed; written by that CPU. */
static struct cpumask broken;

static bool refuse(const char *what, u32 msr)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&verdict_lock, flags);
	if (!verdict.what)
		verdict = (struct verdict) { what, msr, smp_processor_id() };
	raw_spin_unlock_irqrestore(&verdict_lock, flags);
	return false;
}

static bool readable(u32 msr)
{
	u64 value;

	return !pmr_rdmsr_safe(msr, &value) || refuse("a register cannot be read", msr);
}

/* Changes nothing, and so may be asked while another driver uses the PMU. */
static bool all_readable(void)
{
	u64 bits;
	u32 i;

	for (i = 0; i < pmr_intel.pmu.gp_counters; i++)
		if (!readable(MSR_ARCH_PERFMON_EVENTSEL0 + i) || !readable(pmr_intel.gp_base + i))
			return false;
	for (bits = pmr_intel.pmu.fixed_mask; bits; bits &= bits - 1)
		if (!readable(MSR_CORE_PERF_FIXED_CTR0 + __ffs64(bits)))
			return false;
	if (pmr_intel.pmu.fixed_mask && !readable(MSR_CORE_PERF_FIXED_CTR_CTRL))
		return false;
	return !pmr_intel.global || (readable(MSR_CORE_PERF_GLOBAL_CTRL) &&
				     readable(MSR_CORE_PERF_GLOBAL_STATUS));
}

/**
 * struct trial - one counter, about to be tried
 * @select: MSR that switches it
 * @on: value that lets it count in all rings, without interrupt
 * @counter: MSR of its value
 * @rdpmc: its number for RDPMC
 * @mask: the bits that a value read back may have
 * @control: its bit of GLOBAL_CTRL
 */
struct trial {
	u32 select;
	u64 on;
	u32 counter;
	u32 rdpmc;
	u64 mask;
	u64 control;
};

static bool keeps(const struct trial *trial, u64 value)
{
	u64 now;

	value &= trial->mask;
	return !pmr_wrmsr_safe(trial->counter, value) && !pmr_rdmsr_safe(trial->counter, &now) &&
	       now == value;
}

static bool reads_back(u32 msr, u64 want)
{
	u64 now;

	return !pmr_rdmsr_safe(msr, &now) && now == want;
}

/* A hypervisor may do what it is told and give another answer. */
static void look_whether_it_reads_back(const struct trial *trial)
{
	if (!reads_back(trial->select, trial->on) ||
	    (pmr_intel.global && !reads_back(MSR_CORE_PERF_GLOBAL_CTRL, trial->control)))
		WRITE_ONCE(pmr_intel.opaque, true);
}

/* Return: whether it counts; a slow event may need some rounds. */
static bool counts(const struct trial *trial)
{
	u64 seen = 0, pmc = 0;
	int round, i, err;

	err = pmr_wrmsr_safe(trial->counter, 0) ?: pmr_wrmsr_safe(trial->select, trial->on);
	if (!err && pmr_intel.global)
		err = pmr_wrmsr_safe(MSR_CORE_PERF_GLOBAL_CTRL, trial->control);
	look_whether_it_reads_back(trial);
	for (round = 0; !err && !seen && round < ROUNDS; round++) {
		for (i = 0; i < PAUSES; i++)
			cpu_relax();
		err = pmr_rdmsr_safe(trial->counter, &seen);
	}
	err = pmr_wrmsr_safe(trial->select, 0) ?: err;
	if (err || !seen)
		return false;
	/* It has stopped, so both ways to read it agree. */
	err = pmr_rdmsr_safe(trial->counter, &seen) ?: pmr_rdpmc_safe(trial->rdpmc, &pmc);
	return !err && pmc == seen;
}

static bool try_counter(const struct trial *trial)
{
	u64 select, counter;
	bool good = true;

	if (pmr_rdmsr_safe(trial->select, &select) || pmr_rdmsr_safe(trial->counter, &counter))
		return refuse("a register cannot be read", trial->counter);
	if (pmr_wrmsr_safe(trial->select, 0))
		return refuse("a register cannot be written", trial->select);
	if (!keeps(trial, PATTERN) || !keeps(trial, ~PATTERN & GENMASK_ULL(30, 0)))
		good = refuse("a counter does not keep a value", trial->counter);
	else if (trial->on && !counts(trial))
		good = refuse("a counter does not count", trial->counter);
	pmr_wrmsr_safe(trial->counter, counter);
	pmr_wrmsr_safe(trial->select, select);
	return good;
}

static bool try_counters(void)
{
	/* What CPUID does not list may not count: then only registers are tried. */
	u64 event = pmr_intel.instructions ? 0xc0 | ARCH_PERFMON_EVENTSEL_ENABLE |
		    ARCH_PERFMON_EVENTSEL_OS | ARCH_PERFMON_EVENTSEL_USR : 0;
	u64 bits = pmr_intel.general | pmr_intel.pmu.fixed_mask << PMR_FIXED_BASE;

	for (; bits; bits &= bits - 1) {
		int idx = __ffs64(bits), i = idx - PMR_FIXED_BASE;
		struct trial trial = {
			MSR_ARCH_PERFMON_EVENTSEL0 + idx, event, pmr_intel.gp_base + idx, idx,
			pmr_intel.pmu.full_width_write ? pmr_intel.gp_mask : GENMASK_ULL(30, 0),
			BIT_ULL(idx)
		};

		if (idx >= PMR_FIXED_BASE)
			trial = (struct trial) {
				MSR_CORE_PERF_FIXED_CTR_CTRL,
				(PMR_FIXED_OS | PMR_FIXED_USR) << i * PMR_FIXED_BITS,
				MSR_CORE_PERF_FIXED_CTR0 + i, PMR_RDPMC_FIXED + i,
				pmr_intel.fixed_value_mask, BIT_ULL(idx)
			};
		if (!try_counter(&trial))
			return false;
	}
	return true;
}

/**
 * pmr_intel_clear_stale() - clear what firmware or an earlier kernel left in the status
 *
 * A bit that this PMU does not have makes the whole write fault; then only those are
 * cleared that every PMU of this version has.
 */
void pmr_intel_clear_stale(void)
{
	u64 status, stale;

	lockdep_assert_irqs_disabled();
	if (!pmr_intel.global || pmr_rdmsr_safe(MSR_CORE_PERF_GLOBAL_STATUS, &status))
		return;
	stale = status & (STALE_BITS | pmr_intel.counters);
	if (stale && pmr_wrmsr_safe(MSR_CORE_PERF_GLOBAL_OVF_CTRL, stale))
		pmr_wrmsr_safe(MSR_CORE_PERF_GLOBAL_OVF_CTRL, stale & pmr_intel.status);
}

static bool is_frozen(void)
{
	u64 status;

	return pmr_intel.pmu.version >= 4 &&
	       !pmr_rdmsr_safe(MSR_CORE_PERF_GLOBAL_STATUS, &status) &&
	       status & GLOBAL_STATUS_COUNTERS_FROZEN;
}

/* While a counter's bit is set its overflows make PEBS records, wherever these go. */
static bool pebs_stops(void)
{
	u64 was, now;
	bool good;

	if (!pmr_intel.pebs || pmr_rdmsr_safe(MSR_IA32_PEBS_ENABLE, &was) || !was)
		return true;
	good = !pmr_wrmsr_safe(MSR_IA32_PEBS_ENABLE, 0) &&
	       !pmr_rdmsr_safe(MSR_IA32_PEBS_ENABLE, &now) && !now;
	pmr_wrmsr_safe(MSR_IA32_PEBS_ENABLE, was);
	return good;
}

/**
 * pmr_intel_works_here() - does the PMU of this CPU do what a PMU does?
 *
 * Tries each counter and puts it back. @verdict has the reason if not.
 */
bool pmr_intel_works_here(void)
{
	u64 control = 0;
	bool good;

	lockdep_assert_irqs_disabled();
	if (!all_readable())
		return false;
	if (pmr_intel.global && (pmr_rdmsr_safe(MSR_CORE_PERF_GLOBAL_CTRL, &control) ||
				 pmr_wrmsr_safe(MSR_CORE_PERF_GLOBAL_CTRL, 0)))
		return refuse("a register cannot be written", MSR_CORE_PERF_GLOBAL_CTRL);
	pmr_intel_clear_stale();
	if (is_frozen())
		good = refuse("counters stay frozen", MSR_CORE_PERF_GLOBAL_STATUS);
	else if (!pebs_stops())
		good = refuse("PEBS cannot be switched off", MSR_IA32_PEBS_ENABLE);
	else
		good = try_counters();
	if (pmr_intel.global)
		pmr_wrmsr_safe(MSR_CORE_PERF_GLOBAL_CTRL, control);
	return good;
}

static void look_here(void *unused)
{
	all_readable();
}

static void try_here(void *unused)
{
	pmr_intel_works_here();
}

/**
 * pmr_intel_works() - does the PMU of each CPU do what a PMU does?
 *
 * While the kernel's perf uses it, it does; then its registers are only looked at.
 *
 * Return: false if not; the log says why.
 */
bool pmr_intel_works(void)
{
	u64 value;
	bool ours;

	might_sleep();
	verdict = (struct verdict) {};
	pmr_intel.opaque = false;
	pmr_intel.debugctl = !pmr_rdmsr_safe(MSR_IA32_DEBUGCTLMSR, &value);
	pmr_intel.pebs = !pmr_rdmsr_safe(MSR_IA32_PEBS_ENABLE, &value);
	cpus_read_lock();
	ours = !pmr_intel_reserve();
	on_each_cpu(ours ? try_here : look_here, NULL, 1);
	cpumask_copy(&tried, cpu_online_mask);
	cpumask_clear(&broken);
	if (ours)
		pmr_intel_release();
	cpus_read_unlock();
	if (!verdict.what)
		return true;
	pr_notice("no usable PMU: %s (MSR %#x, CPU %d): hardware events get ENOENT\n",
		  verdict.what, verdict.msr, verdict.cpu);
	return false;
}

/**
 * pmr_intel_cpu_works() - did the PMU of a CPU pass its trial?
 * @cpu: CPU that has been online since the module was loaded
 */
bool pmr_intel_cpu_works(int cpu)
{
	return !cpumask_test_cpu(cpu, &broken);
}

/**
 * pmr_intel_cpu_online() - try the PMU of a CPU that came after the load
 * @ours: the kernel's allocator has granted us all counters; else the registers are
 *	only looked at
 *
 * No event has counted here since, so nothing of it is programmed.
 */
void pmr_intel_cpu_online(bool ours)
{
	int cpu = smp_processor_id();
	unsigned long flags;

	if (cpumask_test_and_set_cpu(cpu, &tried))
		return;
	verdict = (struct verdict) {};
	local_irq_save(flags);
	if (ours)
		try_here(NULL);
	else
		look_here(NULL);
	local_irq_restore(flags);
	if (!verdict.what) {
		cpumask_clear_cpu(cpu, &broken);
		return;
	}
	cpumask_set_cpu(cpu, &broken);
	pr_notice("no usable PMU on CPU %d: %s (MSR %#x): no hardware event counts there\n",
		  cpu, verdict.what, verdict.msr);
}

/**
 * pmr_intel_cpu_offline() - a CPU goes, and may be another when it comes back
 */
void pmr_intel_cpu_offline(void)
{
	cpumask_clear_cpu(smp_processor_id(), &tried);
}

/* A PMU of a version that cannot be shared with the kernel's perf is refused by name. */
static const struct pmr_pmu *refuse_version(void)
{
	if (pmr_intel.pmu.version <= PMR_INTEL_VERSION_MAX)
		return NULL;
	pr_notice("PMU version %u is not used, since perf and pmuring could not be kept apart on its counters: hardware events get ENOENT\n",
		  pmr_intel.pmu.version);
	return ERR_PTR(-EOPNOTSUPP);
}

/*
 * Models that interrupt again if a counter is still wrapped when the LVT entry is
 * unmasked: those for which the kernel's perf unmasks late.
 */
static const u8 late_models[] = {
	0x3c, 0x3f, 0x45, 0x46,				/* Haswell */
	0x3d, 0x47, 0x4f, 0x56,				/* Broadwell */
	0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6,	/* Skylake to Comet Lake */
	0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7,	/* Ice Lake to Rocket Lake */
	0x8f, 0xcf, 0xad, 0xae,				/* Sapphire to Granite Rapids */
	0x86, 0x96, 0x9c,				/* Tremont */
	0xbe, 0xaf, 0xb6,				/* Gracemont, Crestmont */
};

static bool interrupts_again(void)
{
	return boot_cpu_data.x86 == 6 && boot_cpu_data.x86_model <= U8_MAX &&
	       memchr(late_models, boot_cpu_data.x86_model, sizeof(late_models));
}

/**
 * pmr_intel_probe() - find the PMU of this machine
 *
 * Return: the driver; NULL without an architectural PMU; ERR_PTR if there is one that
 * cannot be used, which the log says.
 */
const struct pmr_pmu *pmr_intel_probe(void)
{
	struct pmr_intel_cpuid cpuid = {};

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL || boot_cpu_data.cpuid_level < 0xa)
		return NULL;
	/* Two kinds of core with different counters: one description fits neither. */
	if (boot_cpu_has(X86_FEATURE_HYBRID_CPU))
		return NULL;
	cpuid_count(0xa, 0, &cpuid.eax, &cpuid.ebx, &cpuid.ecx, &cpuid.edx);
	if (boot_cpu_has(X86_FEATURE_PDCM) &&
	    pmr_rdmsr_safe(MSR_IA32_PERF_CAPABILITIES, &cpuid.capabilities))
		cpuid.capabilities = 0;
	if (!pmr_intel_describe(&pmr_intel, &cpuid))
		return refuse_version();
	pmr_quirks_init(boot_cpu_data.x86, boot_cpu_data.x86_model);
	pmr_intel_exclude(&pmr_intel, pmr_quirks_unusable_counters());
	if (!pmr_intel_works())
		return ERR_PTR(-ENODEV);
	if (interrupts_again())
		pmr_intel_unmask_late();
	pmr_watch_init();
	return &pmr_intel.pmu;
}
