// SPDX-License-Identifier: GPL-2.0
/*
 * Owns our place among the kernel's NMI handlers, from load to unload. Task
 * context; no locks. The handlers themselves belong to the drivers: only they
 * know whether an NMI is theirs.
 */
#include <linux/kernel.h>
#include <asm/nmi.h>

#include "pmu/x86/nmi.h"

static struct nmiaction action = { .name = "pmuring" };

/**
 * pmr_nmi_register() - take part in the handling of NMIs
 * @handler: called for every NMI of the CPU; returns how many causes it served,
 *	0 if the NMI is not ours
 *
 * Task context. Return: 0 or an error of __register_nmi_handler().
 */
int pmr_nmi_register(pmr_nmi_fn handler)
{
	might_sleep();
	INIT_LIST_HEAD(&action.list);
	action.handler = handler;
	return __register_nmi_handler(NMI_LOCAL, &action);
}

/**
 * pmr_nmi_unregister() - leave it
 *
 * Task context; returns when no CPU runs the handler any more.
 */
void pmr_nmi_unregister(void)
{
	might_sleep();
	unregister_nmi_handler(NMI_LOCAL, action.name);
}
