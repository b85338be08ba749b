/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Our place among the NMI handlers.
 */
#ifndef PMR_NMI_H
#define PMR_NMI_H

struct pt_regs;

typedef int (*pmr_nmi_fn)(unsigned int type, struct pt_regs *regs);

int pmr_nmi_register(pmr_nmi_fn handler);
void pmr_nmi_unregister(void);

#endif /* PMR_NMI_H */
