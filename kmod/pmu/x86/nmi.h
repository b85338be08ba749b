/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The NMI handler.
 */
#ifndef PMR_NMI_H
#define PMR_NMI_H

int pmr_nmi_register(void);
void pmr_nmi_unregister(void);

#endif /* PMR_NMI_H */
