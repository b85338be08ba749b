/*
 * PMU model for x86 guests under TCG + icount: AMD's registers and events.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/pmu-tcg.h"
#include "pmu-internal.h"

#define MSR_K7_EVNTSEL0         0xc0010000
#define MSR_K7_PERFCTR0         0xc0010004
#define MSR_F15H_PERF_CTL       0xc0010200
#define MSR_AMD64_GLOBAL_STATUS 0xc0000300
#define MSR_AMD64_GLOBAL_CTL    0xc0000301
#define MSR_AMD64_GLOBAL_CLR    0xc0000302
#define MSR_AMD64_GLOBAL_SET    0xc0000303

#define AMD_EVTSEL_RSVD         (~(0xffffffffull | (0xfull << 32) | \
                                   (3ull << 40)) | (1ull << 19) | (1ull << 21))

int x86_pmu_amd_event(uint64_t sel)
{
    switch ((sel & 0xff) | ((sel >> 24) & 0xf00)) {
    case 0x76:
        return PMU_EV_CYC;
    case 0xc0:
        return PMU_EV_INSN;
    case 0xc2:
        return PMU_EV_BR;
    case 0xc3:
        return PMU_EV_BRMISS;
    case 0x60:
    case 0x7d:
    case 0x80:
        return PMU_EV_LLCREF;
    case 0x64:
    case 0x7e:
    case 0x81:
        return PMU_EV_LLCMISS;
    }
    return PMU_EV_NONE;
}

bool x86_pmu_is_amd_msr(CPUX86State *env, uint32_t msr)
{
    switch (msr) {
    case MSR_K7_EVNTSEL0 ... MSR_K7_PERFCTR0 + 3:
    case MSR_F15H_PERF_CTL ... MSR_F15H_PERF_CTL + 11:
        return true;
    case MSR_AMD64_GLOBAL_STATUS ... MSR_AMD64_GLOBAL_SET:
        return env_archcpu(env)->pmu_version >= 2;
    }
    return false;
}

bool x86_pmu_amd_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val,
                       uintptr_t ra)
{
    X86PMUState *p = &env->pmu;
    uint64_t all = (1ull << p->nb_gp) - 1;
    uint64_t *reg = NULL;

    if (!x86_pmu_is_amd_msr(env, msr)) {
        return false;
    }
    switch (msr) {
    case MSR_K7_EVNTSEL0 ... MSR_K7_EVNTSEL0 + 3:
        reg = &env->msr_gp_evtsel[msr - MSR_K7_EVNTSEL0];
        goto evtsel;
    case MSR_F15H_PERF_CTL ... MSR_F15H_PERF_CTL + 11:
        if (msr & 1) {
            reg = &env->msr_gp_counters[(msr - MSR_F15H_PERF_CTL) / 2];
            val &= ctr_mask(p);
            break;
        }
        reg = &env->msr_gp_evtsel[(msr - MSR_F15H_PERF_CTL) / 2];
    evtsel:
        if (val & AMD_EVTSEL_RSVD) {
            x86_pmu_gp(env, ra);
        }
        break;
    case MSR_K7_PERFCTR0 ... MSR_K7_PERFCTR0 + 3:
        reg = &env->msr_gp_counters[msr - MSR_K7_PERFCTR0];
        val &= ctr_mask(p);
        break;
    case MSR_AMD64_GLOBAL_STATUS:
        x86_pmu_gp(env, ra);
        break;
    case MSR_AMD64_GLOBAL_CTL:
        if (val & ~all) {
            x86_pmu_gp(env, ra);
        }
        reg = &env->msr_global_ctrl;
        break;
    case MSR_AMD64_GLOBAL_CLR:
    case MSR_AMD64_GLOBAL_SET:
        val &= all | STATUS_CTR_FRZ | (1ull << 58);
        break;
    }
    x86_pmu_sync(env);
    if (reg) {
        *reg = val;
    } else if (msr == MSR_AMD64_GLOBAL_CLR) {
        env->msr_global_status &= ~val;
    } else {
        env->msr_global_status |= val;
    }
    x86_pmu_written(env);
    return true;
}

bool x86_pmu_amd_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    if (!x86_pmu_is_amd_msr(env, msr)) {
        return false;
    }
    x86_pmu_sync_before(env);
    switch (msr) {
    case MSR_K7_EVNTSEL0 ... MSR_K7_EVNTSEL0 + 3:
        *val = env->msr_gp_evtsel[msr - MSR_K7_EVNTSEL0];
        break;
    case MSR_K7_PERFCTR0 ... MSR_K7_PERFCTR0 + 3:
        *val = env->msr_gp_counters[msr - MSR_K7_PERFCTR0];
        break;
    case MSR_F15H_PERF_CTL ... MSR_F15H_PERF_CTL + 11:
        *val = msr & 1 ? env->msr_gp_counters[(msr - MSR_F15H_PERF_CTL) / 2]
                       : env->msr_gp_evtsel[(msr - MSR_F15H_PERF_CTL) / 2];
        break;
    case MSR_AMD64_GLOBAL_STATUS:
        *val = env->msr_global_status;
        break;
    case MSR_AMD64_GLOBAL_CTL:
        *val = env->msr_global_ctrl;
        break;
    default:
        *val = 0;
        break;
    }
    return true;
}
