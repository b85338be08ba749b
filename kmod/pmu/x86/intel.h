/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Intel architectural performance monitoring, versions 1 to 5.
 */
#ifndef PMR_INTEL_H
#define PMR_INTEL_H

#include "pmu/pmu.h"
#include "pmu/x86/counters.h"

/*
 * From version 6 on each counter has a second address (from 1900H on). The
 * kernel's perf uses those, and reserves them with an allocator that knows only
 * the first ones: nothing would keep perf and pmuring from using one counter.
 */
#define PMR_INTEL_VERSION_MAX	5

/**
 * struct pmr_intel - what CPUID and the capability MSR say (SDM vol. 3B, 20.2)
 * @pmu: the part that the core sees
 * @gp_mask: value bits of a general-purpose counter
 * @fixed_value_mask: value bits of a fixed counter
 * @counters: all counters, as bits of GLOBAL_STATUS and GLOBAL_CTRL
 * @general: the general-purpose ones of them that events can use
 * @status: bits of GLOBAL_STATUS that are acknowledged: the counters and those
 *	that would keep them from counting on
 * @gp_base: MSR of general-purpose counter 0
 * @global: there are GLOBAL_CTRL and GLOBAL_STATUS (version 2 and later)
 * @any_thread: the ANY bit exists
 * @instructions: CPUID lists the architectural event of retired instructions
 * @debugctl: there is IA32_DEBUGCTL
 * @pebs: there is IA32_PEBS_ENABLE
 * @opaque: selectors or GLOBAL_CTRL do not read back as written, though counters count
 */
struct pmr_intel {
	struct pmr_pmu pmu;
	u64 gp_mask;
	u64 fixed_value_mask;
	u64 counters;
	u64 general;
	u64 status;
	u32 gp_base;
	bool global;
	bool any_thread;
	bool instructions;
	bool debugctl;
	bool pebs;
	bool opaque;
};

extern struct pmr_intel pmr_intel;

/**
 * struct pmr_intel_cpuid - CPUID leaf 0AH and IA32_PERF_CAPABILITIES
 * @eax: version, number and width of general-purpose counters, vector length
 * @ebx: architectural events that do not exist
 * @ecx: fixed counters as a bitmap (version 5)
 * @edx: number and width of fixed counters, AnyThread deprecation
 * @capabilities: IA32_PERF_CAPABILITIES, or 0 where there is none
 */
struct pmr_intel_cpuid {
	u32 eax;
	u32 ebx;
	u32 ecx;
	u32 edx;
	u64 capabilities;
};

bool pmr_intel_describe(struct pmr_intel *intel, const struct pmr_intel_cpuid *cpuid);
void pmr_intel_exclude(struct pmr_intel *intel, u64 counters);
int pmr_intel_init_event(struct pmr_hw *hw, const struct perf_event_attr *attr);
u64 pmr_intel_period_min(const struct pmr_hw *hw);
const struct pmr_pmu *pmr_intel_probe(void);
bool pmr_intel_works(void);
bool pmr_intel_works_here(void);
bool pmr_intel_cpu_works(int cpu);
void pmr_intel_cpu_online(bool ours);
void pmr_intel_cpu_offline(void);
void pmr_intel_clear_stale(void);
int pmr_intel_handle_pmi(struct pmr_counters *counters, struct pt_regs *regs);
int pmr_intel_handle_pmi_late(struct pmr_counters *counters, struct pt_regs *regs);
void pmr_intel_unmask_late(void);
void pmr_intel_restart(struct pmr_hw *hw);
int pmr_intel_reserve(void);
void pmr_intel_release(void);
void pmr_intel_cpu_start(void);
void pmr_intel_cpu_stop(void);
void pmr_intel_reload_all(bool from_zero);
bool pmr_intel_owed_pmi(void);

#endif /* PMR_INTEL_H */
