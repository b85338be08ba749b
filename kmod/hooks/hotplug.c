// SPDX-License-Identifier: GPL-2.0
/*
 * Owns CPU hotplug: when a CPU comes online its PMU is tried, and then its contexts come
 * in. When it goes, they go out, and then its PMU, which the first event to count there
 * has taken.
 * The callbacks run on the CPU concerned in its hotplug thread; at that time no
 * other task is allowed there.
 */
#include <linux/cpuhotplug.h>
#include <linux/irqflags.h>

#include "core/context.h"
#include "hooks/hooks.h"

static enum cpuhp_state state;

static int come_online(unsigned int cpu)
{
	unsigned long flags;

	pmr_pmu_cpu_online();
	local_irq_save(flags);
	if (!pmr_power_parked())
		pmr_contexts_cpu_online();
	local_irq_restore(flags);
	return 0;
}

static int go_offline(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_contexts_cpu_offline();
	pmr_pmu_cpu_stop();
	local_irq_restore(flags);
	pmr_pmu_cpu_offline();
	return 0;
}

/**
 * pmr_hotplug_init() - bring in all CPUs and follow them from now on
 *
 * Return: 0 or an error of cpuhp_setup_state().
 */
int pmr_hotplug_init(void)
{
	int ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "pmuring:online", come_online, go_offline);

	if (ret < 0)
		return ret;
	state = ret;
	return 0;
}

/**
 * pmr_hotplug_exit() - take all CPUs out again
 */
void pmr_hotplug_exit(void)
{
	cpuhp_remove_state(state);
}
