// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the module parameters, most of which carry the names of perf's sysctls. Root
 * reads and writes them at run time in /sys/module/pmuring/parameters. No
 * locks: each is one word. pmr_rights_decide() reads those of an open, once.
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>

#include "api/api.h"
#include "sample/throttle.h"

/* The defaults are those of Linux (Documentation/admin-guide/sysctl/kernel.rst). */
struct pmr_knobs pmr_knobs = {
	.paranoid = 2,
	.mlock_kb = 512 + PAGE_SIZE / 1024,
	.max_stack = PERF_MAX_STACK_DEPTH,
	.max_events = 65536,
	.max_inherited = 128,
};

module_param_named(paranoid, pmr_knobs.paranoid, int, 0644);
MODULE_PARM_DESC(paranoid, "what needs CAP_PERFMON: 3 all, 2 kernel profiling, 1 CPU events, 0 and less nothing (default 2)");

module_param_named(mlock_kb, pmr_knobs.mlock_kb, uint, 0644);
MODULE_PARM_DESC(mlock_kb, "KiB of rings per user and online CPU that RLIMIT_MEMLOCK does not count (default 516)");

module_param_named(max_stack, pmr_knobs.max_stack, uint, 0644);
MODULE_PARM_DESC(max_stack, "limit and default of attr.sample_max_stack (default 127)");

module_param_named(max_events, pmr_knobs.max_events, uint, 0644);
MODULE_PARM_DESC(max_events, "events that a user without CAP_PERFMON may have open (default 65536)");

module_param_named(max_inherited, pmr_knobs.max_inherited, uint, 0644);
MODULE_PARM_DESC(max_inherited, "events with attr.inherit that one task may have without CAP_PERFMON, beyond 16 for each CPU (default 128)");

/**
 * pmr_inherited_max() - number of inherited events that one task may have
 *
 * perf(1) opens each event of a task once for each CPU.
 */
unsigned int pmr_inherited_max(void)
{
	return min(READ_ONCE(pmr_knobs.max_inherited), UINT_MAX / 2) + 16 * num_possible_cpus();
}

static int set_rate(const char *value, const struct kernel_param *param)
{
	u32 rate;
	int err = kstrtou32(value, 0, &rate);

	return err ?: pmr_throttle_set_rate(rate);
}

static int get_rate(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%u\n", pmr_throttle_rate());
}

static const struct kernel_param_ops rate_ops = { .set = set_rate, .get = get_rate };

module_param_cb(max_sample_rate, &rate_ops, NULL, 0644);
MODULE_PARM_DESC(max_sample_rate, "samples per second beyond which an event is throttled (default 100000)");

static int set_percent(const char *value, const struct kernel_param *param)
{
	u32 percent;
	int err = kstrtou32(value, 0, &percent);

	return err ?: pmr_throttle_set_percent(percent);
}

static int get_percent(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%u\n", pmr_throttle_percent());
}

static const struct kernel_param_ops percent_ops = { .set = set_percent, .get = get_percent };

module_param_cb(cpu_time_max_percent, &percent_ops, NULL, 0644);
MODULE_PARM_DESC(cpu_time_max_percent, "percent of a CPU's time beyond which the event that samples most is throttled, 0 and 100 for no limit (default 25)");
