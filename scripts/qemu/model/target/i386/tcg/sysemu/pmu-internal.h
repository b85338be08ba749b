/*
 * PMU model for x86 guests under TCG + icount: what its files share.
 *
 * pmu.c counts and raises PMIs, pmu-setup.c is CPUID and reset, pmu-intel.c and
 * pmu-amd.c are the registers, pmu-stats.c is the instrumentation.  All of it
 * runs in the thread of the vCPU that it is about.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef I386_PMU_INTERNAL_H
#define I386_PMU_INTERNAL_H

#include "exec/exec-all.h"
#include "tcg/helper-tcg.h"

/* what a counter can count */
enum {
    PMU_EV_NONE,
    PMU_EV_INSN,
    PMU_EV_CYC,
    PMU_EV_BR,
    PMU_EV_LLCREF,              /* synthetic: one per 8 instructions */
    PMU_EV_LLCMISS,             /* synthetic: one per 64 instructions */
    PMU_EV_BRMISS,              /* synthetic: one per 16 branches */
};

/* PERFEVTSEL and PERF_CTL */
#define EVTSEL_USR      (1ull << 16)
#define EVTSEL_OS       (1ull << 17)
#define EVTSEL_INT      (1ull << 20)
#define EVTSEL_ANY      (1ull << 21)
#define EVTSEL_EN       (1ull << 22)

#define AMD_EVTSEL_GUEST (1ull << 40)
#define AMD_EVTSEL_HOST  (1ull << 41)

/* DEBUGCTL */
#define DEBUGCTL_FREEZE_PERFMON (1ull << 12)

#define MSR_DEBUGCTL            0x1d9
#define MSR_PEBS_ENABLE         0x3f1

/* GLOBAL_STATUS */
#define STATUS_CTR_FRZ  (1ull << 59)

/*
 * Icount units that this vCPU has executed: what has been accounted plus what
 * is gone from its slice.  Exact at TB boundaries, in helpers of instructions
 * that end their TB, and after cpu_restore_state().
 */
static inline uint64_t ic_now(CPUState *cs)
{
    return cs->icount_acc + cs->icount_budget -
           (cpu_neg(cs)->icount_decr.u16.low + cs->icount_extra +
            cs->icount_withheld);
}

static inline int cpl_idx(CPUX86State *env)
{
    return (env->hflags & HF_CPL_MASK) == 3;
}

static inline uint64_t ctr_mask(X86PMUState *p)
{
    return (1ull << p->width) - 1;
}

static inline uint64_t *ctr_value(CPUX86State *env, int i)
{
    return i < X86_PMU_MAX_GP ? &env->msr_gp_counters[i]
                              : &env->msr_fixed_counters[i - X86_PMU_MAX_GP];
}

static inline int ctr_status_bit(int i)
{
    return i < X86_PMU_MAX_GP ? i : 32 + i - X86_PMU_MAX_GP;
}

static inline uint64_t insns(X86PMUState *p, int u)
{
    return p->ic[u] - p->rep[u];
}

static inline uint64_t total_insns(X86PMUState *p)
{
    return insns(p, 0) + insns(p, 1);
}

/* what the registers mean */
int x86_pmu_intel_event(uint64_t sel);
int x86_pmu_amd_event(uint64_t sel);

void x86_pmu_configure(CPUX86State *env);

/* around a register access: before a read, before and after a write */
void x86_pmu_sync_before(CPUX86State *env);
void x86_pmu_sync(CPUX86State *env);
void x86_pmu_written(CPUX86State *env);

/* charge the icount units since the last call to the current CPL */
void x86_pmu_account(CPUX86State *env);

G_NORETURN void x86_pmu_gp(CPUX86State *env, uintptr_t ra);

/* counter I has been written */
void x86_pmu_counter_written(CPUX86State *env, int i);

/* what the control MSR asks for */
void x86_pmu_control(CPUX86State *env, uint64_t val);

/* registers: false if it is none of ours; #GP does not return */
bool x86_pmu_is_intel_msr(CPUX86State *env, uint32_t msr);
bool x86_pmu_is_amd_msr(CPUX86State *env, uint32_t msr);
bool x86_pmu_intel_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val,
                         uintptr_t ra);
bool x86_pmu_intel_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val,
                         uintptr_t ra);
bool x86_pmu_amd_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val,
                       uintptr_t ra);
bool x86_pmu_amd_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);

#endif
