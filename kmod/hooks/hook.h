/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hook: a place where the kernel calls us, there for as long as somebody needs
 * it and a second longer.
 */
#ifndef PMR_HOOK_H
#define PMR_HOOK_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct pmr_hook - a hook
 * @place: put it in place; 0 or an error
 * @remove: take it away
 * @lock: protects the rest
 * @users: who needs it now
 * @unused_since: jiffies when @users became 0
 * @placed: it is in place; read without the lock as well
 * @leave: takes it away when it has not been needed for a while
 */
struct pmr_hook {
	int (*place)(struct pmr_hook *hook);
	void (*remove)(struct pmr_hook *hook);
	struct mutex lock;	/* protects users, unused_since and placed */
	unsigned int users;
	unsigned long unused_since;
	bool placed;
	struct delayed_work leave;
};

void pmr_hook_init(struct pmr_hook *hook);
int pmr_hook_get(struct pmr_hook *hook);
void pmr_hook_put(struct pmr_hook *hook);
void pmr_hook_exit(struct pmr_hook *hook);
bool pmr_hook_placed(const struct pmr_hook *hook);

#endif /* PMR_HOOK_H */
