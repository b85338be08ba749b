// SPDX-License-Identifier: GPL-2.0
/*
 * A neighbour for the tests: before pmuring's NMI handler it does what the kernel's perf
 * does while it has an event that holds no counter, as Intel PT's: reads GLOBAL_STATUS and
 * acknowledges all of it, unmasks the LVT entry, and leaves GLOBAL_CTRL at 0.
 *
 * NMI; no locks.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>

static bool clear;
module_param(clear, bool, 0600);
MODULE_PARM_DESC(clear, "leave GLOBAL_CTRL at 0");

static bool eat;
module_param(eat, bool, 0600);
MODULE_PARM_DESC(eat, "acknowledge what is in GLOBAL_STATUS");

/* as pmuring reaches it: apic_write() is not for modules on all kernels */
static void unmask(void)
{
	apic->write(APIC_LVTPC, APIC_DM_NMI);
}

static int handle(unsigned int type, struct pt_regs *regs)
{
	u64 status;

	if (clear)
		wrmsrl(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	if (!eat)
		return NMI_DONE;
	rdmsrl(MSR_CORE_PERF_GLOBAL_STATUS, status);
	if (!status)
		return NMI_DONE;
	wrmsrl(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status);
	unmask();
	return hweight64(status);
}

static int __init neighbour_init(void)
{
	return register_nmi_handler(NMI_LOCAL, handle, NMI_FLAG_FIRST, "neighbour");
}

static void __exit neighbour_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "neighbour");
}

module_init(neighbour_init);
module_exit(neighbour_exit);
MODULE_DESCRIPTION("Acknowledges what is pmuring's, as perf may do");
MODULE_LICENSE("GPL");
