// SPDX-License-Identifier: GPL-2.0
/*
 * Owns /dev/pmuring: the requests of uapi/pmuring.h. Task context; no
 * locks.
 */
#include <linux/miscdevice.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/inherit.h"
#include "core/owner.h"
#include "hooks/hooks.h"
#include "sample/throttle.h"

static int ioctl_open(const void __user *user)
{
	struct pmuring_open open;

	if (copy_from_user(&open, user, sizeof(open)))
		return -EFAULT;
	return pmr_open(&open);
}

/* As for a CPU's events; in a container such a right is not for the whole machine. */
static bool may_see_machine(void)
{
	struct pmr_rights rights;

	pmr_rights_decide(&rights);
	return rights.cpu && task_active_pid_ns(current) == &init_pid_ns;
}

static void describe_pmu(struct pmuring_info *info)
{
	if (!pmr_pmu)
		return;
	info->vendor = pmr_pmu->vendor;
	info->pmu_version = pmr_pmu->version;
	info->gp_counters = pmr_pmu->gp_usable;
	info->gp_width = pmr_pmu->gp_width;
	info->fixed_counters = pmr_pmu->fixed_counters;
	info->fixed_width = pmr_pmu->fixed_width;
	info->fixed_mask = pmr_pmu->fixed_mask;
	info->hardware_events = pmr_pmu->hardware_events;
	info->max_period = pmr_pmu->max_period;
	info->full_width_write = pmr_pmu->full_width_write;
}

/* What all users' events do together. */
static void describe_machine(struct pmuring_info *info)
{
	int cpu;

	info->events = pmr_events_open();
	info->task_hooks = pmr_sched_hooks_on();
	info->not_inherited = pmr_inherit_missed();
	for_each_possible_cpu(cpu) {
		const struct pmr_cpu_stats *stats = per_cpu_ptr(&pmr_cpu_stats, cpu);

		info->nmis += READ_ONCE(stats->nmis);
		info->late_nmis += READ_ONCE(stats->late_nmis);
		info->samples += READ_ONCE(stats->samples);
		info->lost += READ_ONCE(stats->lost);
		info->throttled += READ_ONCE(stats->throttled);
		info->recovered += READ_ONCE(stats->recovered);
		info->repaired += READ_ONCE(stats->repaired);
		info->storms += READ_ONCE(stats->storms);
		info->failures += READ_ONCE(stats->failures);
		info->misplaced += READ_ONCE(stats->misplaced);
	}
}

static int ioctl_info(void __user *user)
{
	struct pmuring_info info = {
		.size = sizeof(info),
		.abi_version = PMURING_ABI_VERSION,
		.mlock_kb = READ_ONCE(pmr_knobs.mlock_kb),
		.max_sample_rate = pmr_throttle_rate(),
		.max_stack = READ_ONCE(pmr_knobs.max_stack),
		.paranoid = READ_ONCE(pmr_knobs.paranoid),
	};
	bool machine = may_see_machine();
	u32 room;

	if (get_user(room, (u32 __user *)user))
		return -EFAULT;
	if (room < sizeof(info.size))
		return -EINVAL;
	info.holder = pmr_pmu_holder(machine);
	describe_pmu(&info);
	if (machine)
		describe_machine(&info);
	return copy_to_user(user, &info, min_t(size_t, room, sizeof(info))) ? -EFAULT : 0;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case PMURING_IOC_OPEN:
		return ioctl_open((const void __user *)arg);
	case PMURING_IOC_INFO:
		return ioctl_info((void __user *)arg);
	case PMURING_IOC_TASK_ENABLE:
		pmr_owner_control(true);
		return 0;
	case PMURING_IOC_TASK_DISABLE:
		pmr_owner_control(false);
		return 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,	/* the structs are the same for both */
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pmuring",
	.mode = 0600,
	.fops = &device_fops,
};

/**
 * pmr_device_init() - open the door
 *
 * Return: 0 or an error of misc_register().
 */
int pmr_device_init(void)
{
	return misc_register(&device);
}

/**
 * pmr_device_exit() - close it
 */
void pmr_device_exit(void)
{
	misc_deregister(&device);
}
