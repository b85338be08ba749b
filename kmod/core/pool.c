// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the spare events from which a fork takes its copies, because nothing may
 * sleep there. Filled in task context when an event with attr.inherit is opened,
 * and by a worker whenever it runs low; emptied at unload.
 *
 * pmr_pool_get(): any context but NMI and hard IRQ. fill, exit: task context,
 * may sleep. Takes pool_lock, a leaf.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/pool.h"

/* What a burst of forks may take before the worker has run. */
#define SPARES		128
#define LOW_WATER	96

static LIST_HEAD(spares);
static unsigned int number;
/* Protects spares and number. */
static DEFINE_RAW_SPINLOCK(pool_lock);

/**
 * pmr_pool_fill() - have spare events at hand
 */
void pmr_pool_fill(void)
{
	struct pmr_event *event;
	unsigned long flags;

	while (READ_ONCE(number) < SPARES) {
		event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		if (!event)
			return;
		raw_spin_lock_irqsave(&pool_lock, flags);
		list_add(&event->all, &spares);
		number++;
		raw_spin_unlock_irqrestore(&pool_lock, flags);
	}
}

static void fill(struct work_struct *work)
{
	pmr_pool_fill();
}

static DECLARE_WORK(fill_work, fill);

/**
 * pmr_pool_get() - take a spare event
 *
 * Return: zeroed memory, or NULL if there is none left.
 */
struct pmr_event *pmr_pool_get(void)
{
	struct pmr_event *event;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool_lock, flags);
	event = list_first_entry_or_null(&spares, struct pmr_event, all);
	if (event) {
		list_del(&event->all);
		number--;
	}
	raw_spin_unlock_irqrestore(&pool_lock, flags);
	return event;
}

/**
 * pmr_pool_refill() - see to it that there are enough spares for the next fork
 *
 * Not under a raw spinlock.
 */
void pmr_pool_refill(void)
{
	if (READ_ONCE(number) < LOW_WATER)
		schedule_work(&fill_work);
}

/**
 * pmr_pool_exit() - free the spares
 */
void pmr_pool_exit(void)
{
	struct pmr_event *event, *next;

	cancel_work_sync(&fill_work);
	list_for_each_entry_safe(event, next, &spares, all)
		kfree(event);
	INIT_LIST_HEAD(&spares);
	number = 0;
}
