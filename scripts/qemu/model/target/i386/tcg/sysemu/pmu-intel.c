/*
 * PMU model for x86 guests under TCG + icount: Intel's registers and events.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/pmu-tcg.h"
#include "pmu-internal.h"

#define DEBUGCTL_VALID  0xffc3ull

#define MSR_A_PMC0              0x4c1
#define MSR_GLOBAL_STATUS_SET   0x391
#define MSR_GLOBAL_INUSE        0x392
#define PERF_CAP_FW_WRITE       (1ull << 13)

int x86_pmu_intel_event(uint64_t sel)
{
    switch (sel & 0xffff) {
    case 0x003c:
    case 0x013c:
        return PMU_EV_CYC;
    case 0x00c0:
    case 0x01c0:
        return PMU_EV_INSN;
    case 0x4f2e:
        return PMU_EV_LLCREF;
    case 0x412e:
        return PMU_EV_LLCMISS;
    case 0x00c4:
    case 0x04c4:
        return PMU_EV_BR;
    case 0x00c5:
    case 0x04c5:
        return PMU_EV_BRMISS;
    }
    return PMU_EV_NONE;
}

bool x86_pmu_is_intel_msr(CPUX86State *env, uint32_t msr)
{
    switch (msr) {
    case MSR_PEBS_ENABLE:
        return env_archcpu(env)->pmu_stale_pebs;
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + 7:
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + 7:
    case MSR_A_PMC0 ... MSR_A_PMC0 + 7:
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR0 + 3:
    case MSR_IA32_PERF_CAPABILITIES:
    case MSR_CORE_PERF_FIXED_CTR_CTRL ... MSR_GLOBAL_INUSE:
    case MSR_DEBUGCTL:
        return true;
    }
    return false;
}

static uint64_t global_bits(X86PMUState *p)
{
    return ((1ull << p->nb_gp) - 1) | (((1ull << p->nb_fixed) - 1) << 32);
}

/* AnyThread: from version 3 on; deprecated in this model's version 5 */
static bool anythread_ok(int version)
{
    return version >= 3 && version < 5;
}

static uint64_t intel_evtsel_rsvd(int version)
{
    return 0xffffffff00000000ull | (anythread_ok(version) ? 0 : EVTSEL_ANY);
}

static uint64_t intel_fixed_ctrl_rsvd(X86PMUState *p, int version)
{
    uint64_t ok = 0;
    int i;

    for (i = 0; i < p->nb_fixed; i++) {
        ok |= (uint64_t)(anythread_ok(version) ? 0xf : 0xb) << (4 * i);
    }
    return ~ok;
}

bool x86_pmu_intel_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val,
                         uintptr_t ra)
{
    X86PMUState *p = &env->pmu;
    int version = env_archcpu(env)->pmu_version;
    uint64_t mask = ctr_mask(p);
    uint64_t *reg = NULL;
    unsigned i;

    /* #GP before anything is changed */
    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + 7:
        i = msr - MSR_P6_PERFCTR0;
        if (i >= p->nb_gp) {
            goto gp;
        }
        reg = &env->msr_gp_counters[i];
        val = (int64_t)(int32_t)val & mask;
        break;
    case MSR_A_PMC0 ... MSR_A_PMC0 + 7:
        i = msr - MSR_A_PMC0;
        if (i >= p->nb_gp || (val & ~mask)) {
            goto gp;
        }
        reg = &env->msr_gp_counters[i];
        break;
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + 7:
        i = msr - MSR_P6_EVNTSEL0;
        if (i >= p->nb_gp || (val & intel_evtsel_rsvd(version))) {
            goto gp;
        }
        reg = &env->msr_gp_evtsel[i];
        break;
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR0 + 3:
        i = msr - MSR_CORE_PERF_FIXED_CTR0;
        if (i >= p->nb_fixed || (val & ~mask)) {
            goto gp;
        }
        reg = &env->msr_fixed_counters[i];
        break;
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        if (val & intel_fixed_ctrl_rsvd(p, version)) {
            goto gp;
        }
        reg = &env->msr_fixed_ctr_ctrl;
        break;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        if (val & ~global_bits(p)) {
            goto gp;
        }
        reg = &env->msr_global_ctrl;
        break;
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        /* v2/3: Ovf_Buffer and CondChgd too; v4: all of 55, 58..63 */
        if (val & ~(global_bits(p) |
                    (version >= 4 ? 0xfc80000000000000ull
                                  : 0xc000000000000000ull))) {
            goto gp;
        }
        break;
    case MSR_GLOBAL_STATUS_SET:
        if (version < 4 ||
            (val & ~(global_bits(p) | 0x7c80000000000000ull))) {
            goto gp;
        }
        break;
    case MSR_DEBUGCTL:
        if (val & ~DEBUGCTL_VALID) {
            goto gp;
        }
        reg = &p->debugctl;
        break;
    case MSR_PEBS_ENABLE:
        if (!env_archcpu(env)->pmu_stale_pebs) {
            return false;
        }
        if (val & ~global_bits(p)) {
            goto gp;
        }
        reg = &p->pebs_enable;
        break;
    case MSR_IA32_PERF_CAPABILITIES:
    case MSR_CORE_PERF_FIXED_CTR0 + 4 ... MSR_CORE_PERF_FIXED_CTR0 + 7:
    case MSR_CORE_PERF_GLOBAL_STATUS:
    case MSR_GLOBAL_INUSE:
        goto gp;
    default:
        return false;
    }

    /* the write takes effect when the WRMSR has retired */
    x86_pmu_sync(env);
    if (reg) {
        *reg = val;
        for (i = 0; i < X86_PMU_NB; i++) {
            if (reg == ctr_value(env, i)) {
                x86_pmu_counter_written(env, i);
            }
        }
    } else if (msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL) {
        env->msr_global_status &= ~val | env_archcpu(env)->pmu_stuck;
    } else {
        env->msr_global_status |= val;
    }
    x86_pmu_written(env);
    return true;
 gp:
    x86_pmu_gp(env, ra);
}

bool x86_pmu_intel_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val,
                         uintptr_t ra)
{
    X86PMUState *p = &env->pmu;
    int version = env_archcpu(env)->pmu_version;
    unsigned i;

    if (!x86_pmu_is_intel_msr(env, msr)) {
        return false;
    }
    x86_pmu_sync_before(env);

    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + 7:
        i = msr - MSR_P6_PERFCTR0;
        goto gp_counter;
    case MSR_A_PMC0 ... MSR_A_PMC0 + 7:
        i = msr - MSR_A_PMC0;
    gp_counter:
        if (i >= p->nb_gp) {
            goto gp;
        }
        *val = env->msr_gp_counters[i];
        break;
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + 7:
        i = msr - MSR_P6_EVNTSEL0;
        if (i >= p->nb_gp) {
            goto gp;
        }
        *val = env->msr_gp_evtsel[i];
        break;
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR0 + 3:
        i = msr - MSR_CORE_PERF_FIXED_CTR0;
        if (i >= p->nb_fixed) {
            goto gp;
        }
        *val = env->msr_fixed_counters[i];
        break;
    case MSR_IA32_PERF_CAPABILITIES:
        *val = PERF_CAP_FW_WRITE;
        break;
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        *val = env->msr_fixed_ctr_ctrl;
        break;
    case MSR_CORE_PERF_GLOBAL_STATUS:
        *val = env->msr_global_status;
        break;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        *val = env->msr_global_ctrl;
        break;
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        *val = 0;
        break;
    case MSR_GLOBAL_STATUS_SET:
        if (version < 4) {
            goto gp;
        }
        *val = 0;
        break;
    case MSR_GLOBAL_INUSE:
        if (version < 4) {
            goto gp;
        }
        *val = 0;
        for (i = 0; i < p->nb_gp; i++) {
            if (env->msr_gp_evtsel[i] & 0xff) {
                *val |= 1ull << i;
            }
            if (env->msr_gp_evtsel[i] & EVTSEL_INT) {
                *val |= 1ull << 63;
            }
        }
        for (i = 0; i < p->nb_fixed; i++) {
            if ((env->msr_fixed_ctr_ctrl >> (4 * i)) & 3) {
                *val |= 1ull << (32 + i);
            }
            if ((env->msr_fixed_ctr_ctrl >> (4 * i)) & 8) {
                *val |= 1ull << 63;
            }
        }
        break;
    case MSR_DEBUGCTL:
        *val = p->debugctl;
        break;
    case MSR_PEBS_ENABLE:
        *val = p->pebs_enable;
        break;
    }
    return true;
 gp:
    x86_pmu_gp(env, ra);
}
