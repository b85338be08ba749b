// SPDX-License-Identifier: GPL-2.0
/*
 * Owns what an Intel PMU can count: reads CPUID into struct pmr_intel, and
 * turns a struct perf_event_attr into selector bits and allowed counters.
 *
 * Task context, at load time and at open; no locks, the description is
 * constant after load.
 */
#include <linux/bitfield.h>
#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/kernel.h>
#include <uapi/pmuring.h>
#include <asm/cpufeature.h>
#include <asm/perf_regs.h>

#include "compat.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/quirks.h"

/* CPUID.0AH (SDM vol. 2A, CPUID; vol. 3B, 20.2) */
#define EAX_VERSION		GENMASK(7, 0)
#define EAX_GP_COUNTERS		GENMASK(15, 8)
#define EAX_GP_WIDTH		GENMASK(23, 16)
#define EAX_EVENTS		GENMASK(31, 24)
#define EDX_FIXED_COUNTERS	GENMASK(4, 0)
#define EDX_FIXED_WIDTH		GENMASK(12, 5)
#define EDX_ANY_DEPRECATED	BIT(15)

/* Not the encoding of any selector: reference cycles exist on fixed counter 2 only. */
#define EVENT_REF_CYCLES	0x0300

/**
 * struct generic_event - a PERF_TYPE_HARDWARE event
 * @config: event code and umask (SDM vol. 3B, table 20-1), 0: not on this PMU
 * @cpuid_bit: its bit in CPUID.0AH:EBX
 */
struct generic_event {
	u16 config;
	u8 cpuid_bit;
};

static const struct generic_event generic_events[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= { 0x003c, 0 },
	[PERF_COUNT_HW_INSTRUCTIONS]		= { 0x00c0, 1 },
	[PERF_COUNT_HW_BUS_CYCLES]		= { 0x013c, 2 },
	[PERF_COUNT_HW_CACHE_REFERENCES]	= { 0x4f2e, 3 },
	[PERF_COUNT_HW_CACHE_MISSES]		= { 0x412e, 4 },
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= { 0x00c4, 5 },
	[PERF_COUNT_HW_BRANCH_MISSES]		= { 0x00c5, 6 },
};

/* What the fixed counters count, by number (SDM vol. 3B, table 20-2) */
static const u16 fixed_events[] = { 0x00c0, 0x003c, EVENT_REF_CYCLES };

static u64 hardware_events(const struct pmr_intel_cpuid *cpuid, u64 fixed_mask)
{
	unsigned int i, length = FIELD_GET(EAX_EVENTS, cpuid->eax);
	u64 events = 0;

	for (i = 0; i < ARRAY_SIZE(generic_events); i++) {
		u8 bit = generic_events[i].cpuid_bit;

		if (generic_events[i].config && bit < length && !(cpuid->ebx & BIT(bit)))
			events |= BIT_ULL(i);
	}
	if (fixed_mask & BIT_ULL(2))
		events |= BIT_ULL(PERF_COUNT_HW_REF_CPU_CYCLES);
	return events;
}

static u64 fixed_mask(const struct pmr_intel_cpuid *cpuid)
{
	u32 number = FIELD_GET(EDX_FIXED_COUNTERS, cpuid->edx);
	u64 mask = 0;

	switch (FIELD_GET(EAX_VERSION, cpuid->eax)) {
	case 1:
		return 0;
	case 2 ... 4:
		break;
	default:
		mask = cpuid->ecx;
	}
	if (number)
		mask |= GENMASK_ULL(number - 1, 0);
	return mask & GENMASK_ULL(PMR_COUNTERS_MAX - PMR_FIXED_BASE - 1, 0);
}

/**
 * pmr_intel_describe() - read a PMU's description
 * @intel: filled in
 * @cpuid: what the CPU says
 *
 * Return: false if there is no PMU that this driver can run; @intel then tells
 * its version.
 */
bool pmr_intel_describe(struct pmr_intel *intel, const struct pmr_intel_cpuid *cpuid)
{
	struct pmr_pmu *pmu = &intel->pmu;

	pmu->version = FIELD_GET(EAX_VERSION, cpuid->eax);
	pmu->gp_counters = FIELD_GET(EAX_GP_COUNTERS, cpuid->eax);
	pmu->gp_width = FIELD_GET(EAX_GP_WIDTH, cpuid->eax);
	if (!pmu->version || pmu->version > PMR_INTEL_VERSION_MAX ||
	    !pmu->gp_counters || pmu->gp_counters > PMR_FIXED_BASE ||
	    pmu->gp_width < 32 || pmu->gp_width > 63)
		return false;

	pmu->vendor = PMURING_VENDOR_INTEL;
	pmu->fixed_mask = fixed_mask(cpuid);
	pmu->fixed_counters = hweight64(pmu->fixed_mask);
	pmu->fixed_width = FIELD_GET(EDX_FIXED_WIDTH, cpuid->edx);
	if (pmu->fixed_width < 32 || pmu->fixed_width > 63) {
		pmu->fixed_mask = 0;
		pmu->fixed_counters = 0;
		pmu->fixed_width = 0;
	}
	pmu->hardware_events = hardware_events(cpuid, pmu->fixed_mask);
	pmu->full_width_write = cpuid->capabilities & PMR_CAP_FW_WRITE;
	/* A legacy write is extended from bit 31 (SDM vol. 3B, 20.2.7). */
	pmu->max_period = pmu->full_width_write ? BIT_ULL(pmu->gp_width - 1) - 1 : BIT_ULL(31) - 1;
	if (pmu->fixed_width)
		pmu->max_period = min(pmu->max_period, BIT_ULL(pmu->fixed_width - 1) - 1);

	intel->global = pmu->version >= 2;
	intel->any_thread = (pmu->version == 3 || pmu->version == 4) &&
			    !(cpuid->edx & EDX_ANY_DEPRECATED);
	intel->instructions = pmu->hardware_events & BIT_ULL(PERF_COUNT_HW_INSTRUCTIONS);
	intel->gp_base = pmu->full_width_write ? MSR_IA32_PMC0 : MSR_ARCH_PERFMON_PERFCTR0;
	intel->gp_mask = GENMASK_ULL(pmu->gp_width - 1, 0);
	intel->fixed_value_mask = pmu->fixed_width ? GENMASK_ULL(pmu->fixed_width - 1, 0) : 0;
	intel->general = GENMASK_ULL(pmu->gp_counters - 1, 0);
	pmu->gp_usable = pmu->gp_counters;
	intel->counters = intel->general | pmu->fixed_mask << PMR_FIXED_BASE;
	intel->status = intel->counters | GLOBAL_STATUS_COND_CHG;
	/* Reserved before: writing them would fault (SDM vol. 3B, 20.2.4). */
	if (pmu->version >= 4)
		intel->status |= GLOBAL_STATUS_COUNTERS_FROZEN | GLOBAL_STATUS_LBRS_FROZEN;
	return true;
}

/**
 * pmr_intel_exclude() - keep events off some general-purpose counters
 * @intel: description
 * @counters: these, as bits of GLOBAL_STATUS
 *
 * They stay ours, so that nothing else uses them.
 */
void pmr_intel_exclude(struct pmr_intel *intel, u64 counters)
{
	intel->general &= ~counters;
	intel->pmu.gp_usable = hweight64(intel->general);
}

/* Selector bits that a RAW config may set; perf drops the others in silence. */
#define RAW_BITS (ARCH_PERFMON_EVENTSEL_EVENT | ARCH_PERFMON_EVENTSEL_UMASK | \
		  ARCH_PERFMON_EVENTSEL_EDGE | ARCH_PERFMON_EVENTSEL_INV | \
		  ARCH_PERFMON_EVENTSEL_CMASK)

/*
 * Event code 00H stands for what only a fixed counter counts, or for the
 * topdown metrics. A general counter counts nothing by it.
 */
static bool is_unknown_pseudo_event(u64 config)
{
	return !(config & ARCH_PERFMON_EVENTSEL_EVENT) &&
	       (config & (RAW_BITS | ARCH_PERFMON_EVENTSEL_ANY)) != EVENT_REF_CYCLES;
}

/*
 * Transactions only, from Haswell on. perf ignores these bits on a CPU that
 * has no transactions, and so do we.
 */
static bool wants_transactions(u64 config)
{
	return config & (HSW_IN_TX | HSW_IN_TX_CHECKPOINTED) &&
	       (boot_cpu_has(X86_FEATURE_RTM) || boot_cpu_has(X86_FEATURE_HLE));
}

/*
 * What would open and then count something else is refused: config1 and the
 * words after it are values for further registers, which are not programmed.
 */
static int raw_config(const struct perf_event_attr *attr, u64 *config)
{
	if (attr->config1 || attr->config2 || pmr_attr_config3(attr))
		return -EINVAL;
	if (is_unknown_pseudo_event(attr->config) || wants_transactions(attr->config))
		return -EINVAL;
	if (!pmr_quirks_allow(pmr_quirks, attr->config, cpu_smt_possible()))
		return -EINVAL;
	*config = attr->config & RAW_BITS;
	if (!(attr->config & ARCH_PERFMON_EVENTSEL_ANY))
		return 0;
	if (!pmr_intel.any_thread)
		return -EINVAL;
	/* It counts the sibling thread, whoever runs there. */
	if (!perfmon_capable())
		return -EACCES;
	*config |= ARCH_PERFMON_EVENTSEL_ANY;
	return 0;
}

static int generic_config(const struct perf_event_attr *attr, u64 *config)
{
	u64 pmu_type = attr->config >> PERF_PMU_TYPE_SHIFT;
	u64 event = attr->config & PERF_HW_EVENT_MASK;

	if (event >= PERF_COUNT_HW_MAX)
		return -EINVAL;
	if (pmu_type && pmu_type != PERF_TYPE_RAW)
		return -ENOENT;
	if (!(pmr_intel.pmu.hardware_events & BIT_ULL(event)))
		return -ENOENT;
	*config = event == PERF_COUNT_HW_REF_CPU_CYCLES ? EVENT_REF_CYCLES :
							  generic_events[event].config;
	return 0;
}

/* The operations that a cache of some kind has at all, as perf's tables of all models. */
static bool cache_has(u8 cache, u8 operation)
{
	switch (cache) {
	case PERF_COUNT_HW_CACHE_L1I:
		return operation != PERF_COUNT_HW_CACHE_OP_WRITE;
	case PERF_COUNT_HW_CACHE_ITLB:
	case PERF_COUNT_HW_CACHE_BPU:
		return operation == PERF_COUNT_HW_CACHE_OP_READ;
	default:
		return true;
	}
}

/* Cache events differ from model to model, so an architectural PMU has none. */
static int cache_config(const struct perf_event_attr *attr)
{
	u8 cache = attr->config, operation = attr->config >> 8, result = attr->config >> 16;

	if (cache >= PERF_COUNT_HW_CACHE_MAX || operation >= PERF_COUNT_HW_CACHE_OP_MAX ||
	    result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
		return -EINVAL;
	return cache_has(cache, operation) ? -ENOENT : -EINVAL;
}

/* A fixed counter has neither threshold nor edge, so any such bit rules it out. */
static u64 allowed_counters(u64 config)
{
	u64 general = pmr_intel.general;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fixed_events); i++) {
		u64 fixed = BIT_ULL(PMR_FIXED_BASE + i) & pmr_intel.counters;

		if (config == fixed_events[i])
			return config == EVENT_REF_CYCLES ? fixed : general | fixed;
	}
	return general;
}

/* As in perf, where a generic event has no config yet when this is asked. */
static bool valid_period(const struct perf_event_attr *attr)
{
	u64 config = attr->type == PERF_TYPE_RAW ? attr->config : 0;

	return attr->freq || !attr->sample_period ||
	       attr->sample_period >= pmr_quirks_period_min(pmr_quirks, config);
}

static bool is_ours(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_RAW || attr->type == PERF_TYPE_HARDWARE ||
	       attr->type == PERF_TYPE_HW_CACHE;
}

static int select_config(const struct perf_event_attr *attr, u64 *config)
{
	switch (attr->type) {
	case PERF_TYPE_RAW:
		return raw_config(attr, config);
	case PERF_TYPE_HARDWARE:
		return generic_config(attr, config);
	default:
		return cache_config(attr);
	}
}

/**
 * pmr_intel_period_min() - the smallest period that an event can have
 * @hw: event
 */
u64 pmr_intel_period_min(const struct pmr_hw *hw)
{
	return pmr_quirks_period_min(pmr_quirks, hw->config);
}

/**
 * pmr_intel_init_event() - how an attr is programmed
 * @hw: filled in: pmu, config, fixed_config, allowed, kernel, user
 * @attr: attr
 *
 * Return: 0, -ENOENT for an event that this PMU does not have, -EINVAL
 * for a config that no PMU of this kind has, -EOPNOTSUPP for a precision or a
 * branch stack, which it has not either, -EACCES for one that needs
 * CAP_PERFMON.
 */
int pmr_intel_init_event(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	u64 config;
	int err;

	might_sleep();
	if (!is_ours(attr))
		return -ENOENT;
	/* No PEBS, and so no XMM registers; asked before the config, as in perf. */
	if (attr->precise_ip)
		return -EOPNOTSUPP;
	if (!valid_period(attr))
		return -EINVAL;
	if ((attr->sample_regs_user | attr->sample_regs_intr) & PERF_REG_EXTENDED_MASK)
		return -EINVAL;
	err = select_config(attr, &config);
	if (err)
		return err;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;	/* no LBR */

	hw->allowed = allowed_counters(config);
	if (!hw->allowed)
		return -EINVAL;
	hw->pmu = &pmr_intel.pmu;
	hw->kernel = !attr->exclude_kernel;
	hw->user = !attr->exclude_user;
	hw->fixed_config = PMR_FIXED_PMI;
	if (!attr->exclude_user) {
		config |= ARCH_PERFMON_EVENTSEL_USR;
		hw->fixed_config |= PMR_FIXED_USR;
	}
	if (!attr->exclude_kernel) {
		config |= ARCH_PERFMON_EVENTSEL_OS;
		hw->fixed_config |= PMR_FIXED_OS;
	}
	hw->config = config;
	return 0;
}
