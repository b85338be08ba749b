// SPDX-License-Identifier: GPL-2.0
/*
 * Owns suspend, hibernation and reboot: nothing counts while the registers of the PMU
 * may be lost, or when another kernel takes over.
 *
 * For suspend and hibernation a device without a driver stands in the list of those
 * that the kernel stops. Its turn is late: when all tasks are frozen, and all CPUs are
 * there still or again. So no instruction of a task is missed. What is counted of the
 * kernel, and the events' times, stand still in between. A panic goes another way.
 *
 * park, unpark: task context, may sleep; they hold the hotplug lock while all CPUs
 * answer an IPI. init, exit: load and unload.
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/pm.h>
#include <linux/pm_domain.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "core/context.h"
#include "hooks/hooks.h"

/* All contexts are out; a CPU that comes online leaves its own out. Under the hotplug lock. */
static bool parked;

/* In this order, as when a CPU goes offline: no event runs when its PMU is given back. */
static void park_cpu(void *unused)
{
	lockdep_assert_irqs_disabled();
	pmr_contexts_park();
	pmr_pmu_cpu_stop();
}

static void unpark_cpu(void *unused)
{
	lockdep_assert_irqs_disabled();
	pmr_contexts_unpark();
}

static void park(void)
{
	cpus_read_lock();
	if (!parked) {
		parked = true;
		on_each_cpu(park_cpu, NULL, 1);
	}
	cpus_read_unlock();
}

static void unpark(void)
{
	cpus_read_lock();
	if (parked) {
		parked = false;
		on_each_cpu(unpark_cpu, NULL, 1);
	}
	cpus_read_unlock();
}

/**
 * pmr_power_parked() - must contexts stay out?
 *
 * From the hotplug callbacks.
 */
bool pmr_power_parked(void)
{
	return parked;
}

static int suspend(struct device *dev)
{
	park();
	return 0;
}

static int resume(struct device *dev)
{
	unpark();
	return 0;
}

static struct dev_pm_domain domain = {
	.ops = {
		NOIRQ_SYSTEM_SLEEP_PM_OPS(suspend, resume)
	},
};

/* The next kernel takes a PMU that is running for the firmware's. It does not come back. */
static int on_reboot(struct notifier_block *block, unsigned long action, void *data)
{
	park();
	return NOTIFY_DONE;
}

static struct notifier_block reboot = { .notifier_call = on_reboot };
static struct device *device;

/**
 * pmr_power_init() - follow suspend and reboot
 *
 * Return: 0 or an error of the device.
 */
int pmr_power_init(void)
{
	int err;

	/* On no bus: the platform bus returns -EINVAL where there is no memory for the name. */
	device = root_device_register("pmuring");
	if (IS_ERR(device))
		return PTR_ERR(device);
	dev_pm_domain_set(device, &domain);
	err = register_reboot_notifier(&reboot);
	if (err)
		root_device_unregister(device);
	return err;
}

/**
 * pmr_power_exit() - follow them no more
 */
void pmr_power_exit(void)
{
	unregister_reboot_notifier(&reboot);
	root_device_unregister(device);
}
