/*
 * PMU model for x86 guests under TCG + icount: CPU properties, CPUID, reset.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "sysemu/cpu-timers.h"
#include "tcg/pmu-tcg.h"
#include "pmu-internal.h"

/* under icount, both the TSC and the APIC timer tick once per virtual ns */
#define CRYSTAL_HZ      1000000000u

void x86_pmu_reset(CPUX86State *env)
{
    X86PMUState *p = &env->pmu;

    if (p->mode == X86_PMU_OFF) {
        return;
    }
    x86_pmu_account(env);
    p->pmi_pending = p->pmi_delayed = p->pmi_late = false;
    p->pmi_source = 0;
    p->debugctl = 0;
    p->in_nmi = p->nmi_masked = false;
    p->storm_left = 0;
    env->msr_global_ctrl = (1ull << p->nb_gp) - 1;
    if (p->mode == X86_PMU_INTEL) {
        /* what firmware or an earlier kernel left behind */
        env->msr_global_status = env_archcpu(env)->pmu_stale |
                                 env_archcpu(env)->pmu_stuck;
        p->pebs_enable = env_archcpu(env)->pmu_stale_pebs;
        /* performance monitoring available; no BTS, no PEBS */
        env->msr_ia32_misc_enable |= (1 << 7) | (1 << 11) | (1 << 12);
    }
    x86_pmu_configure(env);
}

static X86PMUDead dead_mode(const char *name)
{
    if (!name) {
        return X86_PMU_ALIVE;
    }
    if (!strcmp(name, "ignore")) {
        return X86_PMU_IGNORE;
    }
    if (!strcmp(name, "fault")) {
        return X86_PMU_FAULT;
    }
    if (!strcmp(name, "still")) {
        return X86_PMU_STILL;
    }
    error_report("x86 PMU: pmu-dead is ignore, fault or still, not '%s'", name);
    exit(1);
}

static void realize_intel(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86PMUState *p = &env->pmu;

    p->mode = X86_PMU_INTEL;
    p->dead = dead_mode(cpu->pmu_dead);
    if (!cpu->pmu_version) {
        cpu->pmu_version = 4;
    }
    cpu->pmu_version = MIN(MAX(cpu->pmu_version, 2), 5);
    p->nb_gp = cpu->pmu_gp ? MIN(cpu->pmu_gp, 8) : 8;
    p->nb_fixed = MIN(cpu->pmu_fixed, X86_PMU_MAX_FIXED);
    /* up to the leaf that names the clocks */
    env->cpuid_level = MAX(env->cpuid_level, 0x15);
}

static void realize_amd(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86PMUState *p = &env->pmu;

    p->mode = X86_PMU_AMD;
    if (!cpu->pmu_version) {
        cpu->pmu_version = 1;
    }
    cpu->pmu_version = MIN(cpu->pmu_version, 2);
    p->nb_gp = 6;
    p->nb_fixed = 0;
    if (cpu->pmu_version >= 2) {
        env->cpuid_xlevel = MAX(env->cpuid_xlevel, 0x80000022);
    }
}

void x86_pmu_realize(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    X86PMUState *p = &env->pmu;
    static bool warned;

    if (!cpu->enable_pmu) {
        return;
    }
    if (!icount_enabled()) {
        if (!warned) {
            warn_report("x86 PMU: pmu=on under TCG needs -icount; no PMU");
            warned = true;
        }
        return;
    }
    p->width = MIN(MAX(cpu->pmu_width, 32), 62);
    cpu->pmu_cpi = MAX(cpu->pmu_cpi, 1);
    if (IS_INTEL_CPU(env)) {
        realize_intel(cpu);
    } else if (IS_AMD_CPU(env)) {
        realize_amd(cpu);
    }
}

void x86_pmu_cpuid(CPUX86State *env, uint32_t index, uint32_t *eax,
                   uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    X86PMUState *p = &env->pmu;
    int version = env_archcpu(env)->pmu_version;

    if (p->mode == X86_PMU_INTEL) {
        switch (index) {
        case 1:
            /* a hypervisor that emulates no PMU does not list this MSR */
            if (!env_archcpu(env)->pmu_dead) {
                *ecx |= CPUID_EXT_PDCM;
            }
            break;
        case 0xa:
            *eax = version | (p->nb_gp << 8) | (p->width << 16) | (7 << 24);
            *ebx = 0;
            *ecx = version >= 5 ? (1 << p->nb_fixed) - 1 : 0;
            *edx = p->nb_fixed | (p->width << 5) |
                   (version >= 5 ? 1 << 15 : 0);
            break;
        case 0x15:              /* TSC : crystal, and the crystal's rate */
            *eax = *ebx = 1;
            *ecx = CRYSTAL_HZ;
            *edx = 0;
            break;
        }
    } else if (p->mode == X86_PMU_AMD) {
        switch (index) {
        case 0x80000001:
            *ecx |= 1 << 23;                    /* PerfCtrExtCore */
            break;
        case 0x80000022:
            *eax = version >= 2;                /* PerfMonV2 */
            *ebx = version >= 2 ? p->nb_gp : 0;
            *ecx = *edx = 0;
            break;
        }
    }
}
