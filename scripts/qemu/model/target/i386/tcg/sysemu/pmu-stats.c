/*
 * PMU model for x86 guests under TCG + icount: the way in for RDMSR, WRMSR
 * and RDPMC, and the instrumentation that tells what a driver costs.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "tcg/pmu-tcg.h"
#include "pmu-internal.h"

/* instrumentation MSRs, in the synthetic range 0x40000000 and up */
#define MSR_QPMU_BASE           0x40005000
#define MSR_QPMU_CONTROL        0x4000501e
#define MSR_QPMU_RESET          0x4000501f
#define MSR_QPMU_OVF_GP         0x40005020
#define MSR_QPMU_OVF_FIXED      0x40005030
#define MSR_QPMU_END            0x4000503f

void x86_pmu_gp(CPUX86State *env, uintptr_t ra)
{
    raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
}

static bool is_pmu_msr(CPUX86State *env, uint32_t msr)
{
    switch (env->pmu.mode) {
    case X86_PMU_INTEL:
        return x86_pmu_is_intel_msr(env, msr);
    case X86_PMU_AMD:
        return x86_pmu_is_amd_msr(env, msr);
    default:
        return false;
    }
}

/*
 * A PMU that is gone: what its registers answer. DEBUGCTL is not the PMU's.
 * Returns false for any other register, or if the PMU is there.
 */
static bool dead_register(CPUX86State *env, uint32_t msr, uintptr_t ra)
{
    if (!is_pmu_msr(env, msr) || msr == MSR_DEBUGCTL) {
        return false;
    }
    if (env->pmu.dead == X86_PMU_FAULT) {
        x86_pmu_gp(env, ra);
    }
    return env->pmu.dead == X86_PMU_IGNORE;
}

static void stats_reset(CPUX86State *env)
{
    X86PMUState *p = &env->pmu;
    int i;

    x86_pmu_account(env);
    memset(&p->st, 0, sizeof(p->st));
    for (i = 0; i < X86_PMU_NB; i++) {
        p->ctr[i].ovf = 0;
    }
    p->st.base_insn = total_insns(p);
    p->st.base_insn_u = insns(p, 1);
    p->st.base_ic = p->ic[0] + p->ic[1];
    p->st.base_br = p->br[0] + p->br[1];
}

static bool stats_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    X86PMUState *p = &env->pmu;
    X86PMUStats *s = &p->st;

    if (msr < MSR_QPMU_BASE || msr > MSR_QPMU_END) {
        return false;
    }
    x86_pmu_sync_before(env);
    *val = 0;
    if (msr >= MSR_QPMU_OVF_FIXED) {
        if (msr < MSR_QPMU_OVF_FIXED + X86_PMU_MAX_FIXED) {
            *val = p->ctr[X86_PMU_MAX_GP + msr - MSR_QPMU_OVF_FIXED].ovf;
        }
        return true;
    }
    if (msr >= MSR_QPMU_OVF_GP) {
        *val = p->ctr[msr - MSR_QPMU_OVF_GP].ovf;
        return true;
    }
    switch (msr - MSR_QPMU_BASE) {
    case 0x00: *val = 0x51504d5500000001ull; break;     /* "QPMU", layout 1 */
    case 0x01: *val = total_insns(p) - s->base_insn; break;
    case 0x02: *val = insns(p, 1) - s->base_insn_u; break;
    case 0x03: *val = p->ic[0] + p->ic[1] - s->base_ic; break;
    case 0x04: *val = p->br[0] + p->br[1] - s->base_br; break;
    case 0x05: *val = s->nmi; break;
    case 0x06: *val = s->nmi_user; break;
    case 0x07: *val = s->nmi_insn; break;
    case 0x08: *val = s->nmi_ic; break;
    case 0x09: *val = s->nmi_masked_insn; break;
    case 0x0a: *val = s->nmi_insn_max; break;
    case 0x0b: *val = s->nmi_insn_last; break;
    case 0x0c: *val = s->nmi_exc; break;
    case 0x0d: *val = s->nmi_rdmsr; break;
    case 0x0e: *val = s->nmi_wrmsr; break;
    case 0x0f: *val = s->nmi_rdpmc; break;
    case 0x10: *val = s->nmi_rdmsr_pmu; break;
    case 0x11: *val = s->nmi_wrmsr_pmu; break;
    case 0x12: *val = s->nmi_apic_rd; break;
    case 0x13: *val = s->nmi_apic_wr; break;
    case 0x14: *val = s->nmi_lvtpc_wr; break;
    case 0x15: *val = s->pmi; break;
    case 0x16: *val = s->pmi_lost; break;
    case 0x17: *val = s->ovf; break;
    case 0x18: *val = s->ovf_pmi; break;
    case 0x19: *val = s->pmi_merged; break;
    case 0x1a: *val = s->rdmsr; break;
    case 0x1b: *val = s->wrmsr; break;
    case 0x1c: *val = s->rdpmc; break;
    case 0x1d: *val = s->pmi_late; break;
    case 0x1e: *val = p->storm_left; break;
    }
    return true;
}

bool x86_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val, uintptr_t ra)
{
    X86PMUState *p = &env->pmu;

    if (p->mode == X86_PMU_OFF) {
        return false;
    }
    p->st.wrmsr++;
    if (p->in_nmi) {
        p->st.nmi_wrmsr++;
        p->st.nmi_wrmsr_pmu += is_pmu_msr(env, msr);
    }
    if (msr == MSR_QPMU_RESET) {
        stats_reset(env);
        return true;
    }
    if (msr == MSR_QPMU_CONTROL) {
        x86_pmu_control(env, val);
        return true;
    }
    if (dead_register(env, msr, ra)) {
        return true;
    }
    return p->mode == X86_PMU_INTEL ? x86_pmu_intel_wrmsr(env, msr, val, ra)
                                    : x86_pmu_amd_wrmsr(env, msr, val, ra);
}

bool x86_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val, uintptr_t ra)
{
    X86PMUState *p = &env->pmu;

    if (p->mode == X86_PMU_OFF) {
        return false;
    }
    if (stats_rdmsr(env, msr, val)) {
        return true;
    }
    p->st.rdmsr++;
    if (p->in_nmi) {
        p->st.nmi_rdmsr++;
        p->st.nmi_rdmsr_pmu += is_pmu_msr(env, msr);
    }
    if (dead_register(env, msr, ra)) {
        *val = 0;
        return true;
    }
    return p->mode == X86_PMU_INTEL ? x86_pmu_intel_rdmsr(env, msr, val, ra)
                                    : x86_pmu_amd_rdmsr(env, msr, val);
}

bool x86_pmu_rdpmc(CPUX86State *env, uint32_t sel, uint64_t *val, uintptr_t ra)
{
    X86PMUState *p = &env->pmu;
    int i;

    if (p->mode == X86_PMU_OFF) {
        return false;
    }
    if (sel < p->nb_gp) {
        i = sel;
    } else if ((sel & 0xc0000000) == 0x40000000 &&
               (sel & 0x3fffffff) < p->nb_fixed) {
        i = X86_PMU_MAX_GP + (sel & 0x3fffffff);
    } else {
        x86_pmu_gp(env, ra);
    }
    p->st.rdpmc++;
    p->st.nmi_rdpmc += p->in_nmi;
    if (p->dead == X86_PMU_FAULT) {
        x86_pmu_gp(env, ra);
    }
    x86_pmu_sync_before(env);
    *val = p->dead == X86_PMU_IGNORE ? 0 : *ctr_value(env, i);
    return true;
}

void x86_pmu_apic_access(CPUX86State *env, int index, bool write)
{
    X86PMUState *p = &env->pmu;

    if (!p->in_nmi) {
        return;
    }
    if (write) {
        p->st.nmi_apic_wr++;
        p->st.nmi_lvtpc_wr += index == 0x34;
    } else {
        p->st.nmi_apic_rd++;
    }
}

/* An NMI is about to be delivered: nothing has been pushed yet. */
void x86_pmu_nmi_enter(CPUX86State *env)
{
    X86PMUState *p = &env->pmu;

    if (p->mode == X86_PMU_OFF) {
        return;
    }
    x86_pmu_account(env);
    p->st.nmi++;
    p->st.nmi_user += cpl_idx(env);
    p->nmi_masked = true;
    p->in_nmi = true;
    p->nmi_depth = -1;          /* the NMI's own do_interrupt() makes it 0 */
    p->nmi_ic0 = p->ic[0] + p->ic[1];
    p->nmi_insn0 = total_insns(p);
}

/* Any interrupt or exception has been delivered. */
void x86_pmu_exception(CPUX86State *env)
{
    X86PMUState *p = &env->pmu;

    if (p->in_nmi && ++p->nmi_depth > 0) {
        p->st.nmi_exc++;
    }
}

/* An IRET has completed. */
void x86_pmu_iret(CPUX86State *env)
{
    X86PMUState *p = &env->pmu;
    uint64_t n;

    if (!p->in_nmi) {
        return;
    }
    x86_pmu_account(env);
    n = total_insns(p) - p->nmi_insn0;
    if (p->nmi_masked) {
        p->nmi_masked = false;
        p->st.nmi_masked_insn += n;
    }
    if (p->nmi_depth-- > 0) {
        return;
    }
    p->in_nmi = false;
    p->st.nmi_insn += n;
    p->st.nmi_insn_last = n;
    p->st.nmi_insn_max = MAX(p->st.nmi_insn_max, n);
    p->st.nmi_ic += p->ic[0] + p->ic[1] - p->nmi_ic0;
}
