// SPDX-License-Identifier: GPL-2.0
/*
 * Owns load and unload: the order in which the layers come and go, lowest
 * first. Task context.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "api/account.h"
#include "api/api.h"
#include "core/context.h"
#include "core/inherit.h"
#include "core/task_table.h"
#include "core/tick.h"
#include "hooks/hooks.h"
#include "ring/ring.h"
#include "sample/sample.h"

static int __init pmuring_init(void)
{
	int err;

	err = pmr_ring_init();
	if (err)
		return err;
	err = pmr_task_table_init();
	if (err)
		goto exit_ring;
	err = pmr_inherit_init();
	if (err)
		goto exit_table;
	pmr_tick_init();
	pmr_schedule_init();
	pmr_user_page_init();
	err = pmr_pmu_init(pmr_event_overflow);
	if (err)
		goto exit_inherit;
	pmr_contexts_init();
	err = pmr_hotplug_init();
	if (err)
		goto exit_pmu;
	err = pmr_power_init();
	if (err)
		goto exit_hotplug;
	err = pmr_hooks_init();
	if (err)
		goto exit_power;
	err = pmr_device_init();
	if (err)
		goto exit_power;
	return 0;

exit_power:
	pmr_power_exit();
exit_hotplug:
	pmr_hotplug_exit();
exit_pmu:
	pmr_pmu_exit();
exit_inherit:
	pmr_inherit_exit();
exit_table:
	pmr_task_table_exit();
exit_ring:
	pmr_ring_exit();
	return err;
}

/* Every open event holds the module, so none is left. */
static void __exit pmuring_exit(void)
{
	pmr_device_exit();
	pmr_account_exit();
	pmr_hooks_exit();
	pmr_inherit_exit();
	pmr_power_exit();
	pmr_hotplug_exit();
	pmr_pmu_exit();
	pmr_schedule_exit();
	pmr_tick_exit();
	pmr_task_table_exit();
	pmr_ring_exit();
	pmr_callchain_exit();
}

module_init(pmuring_init);
module_exit(pmuring_exit);

MODULE_DESCRIPTION("The perf event core behind a character device");
MODULE_AUTHOR("the pmuring developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
