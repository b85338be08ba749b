/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each user has open and mapped, and the limits of that.
 */
#ifndef PMR_ACCOUNT_H
#define PMR_ACCOUNT_H

#include <linux/uidgid.h>

struct pmr_account;

struct pmr_account *pmr_account_get(kuid_t uid);
void pmr_account_put(struct pmr_account *account);
void pmr_account_exit(void);
unsigned long pmr_account_charge_pages(struct pmr_account *account, unsigned long pages,
				       unsigned long limit);
void pmr_account_uncharge_pages(struct pmr_account *account, unsigned long pages);
int pmr_account_charge_event(struct pmr_account *accounts[2]);
void pmr_account_uncharge_event(struct pmr_account *accounts[2]);

#endif /* PMR_ACCOUNT_H */
