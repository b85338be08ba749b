// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the NMI handler: is this NMI ours at all? Runs in NMI context, takes no
 * locks. Registered from load to unload.
 */
#include <linux/smp.h>
#include <asm/nmi.h>

#include "pmu/x86/counters.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/nmi.h"

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	int served;

	/* A counter that is stopped for good may leave one PMI behind. */
	if (!READ_ONCE(counters->ready) && !counters->late_until)
		return NMI_DONE;
	served = pmr_intel_handle_pmi(counters, regs);
	if (served)
		__this_cpu_inc(pmr_cpu_stats.nmis);
	return served;
}

/**
 * pmr_nmi_register() - take part in the handling of NMIs
 *
 * Task context. Return: 0 or an error of register_nmi_handler().
 */
int pmr_nmi_register(void)
{
	return register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "pmuring");
}

/**
 * pmr_nmi_unregister() - leave it
 *
 * Task context; returns when no CPU runs the handler any more.
 */
void pmr_nmi_unregister(void)
{
	unregister_nmi_handler(NMI_LOCAL, "pmuring");
}
