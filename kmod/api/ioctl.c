// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the requests that an event answers (perf_event_open(2), ioctls). Task
 * context, may sleep; no locks of its own.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/context.h"
#include "core/output.h"
#include "sample/throttle.h"

static bool valid_period(const struct pmr_event *event, u64 period)
{
	const struct pmr_pmu *pmu = event->hw.pmu;

	if (event->attr.freq)
		return period <= pmr_throttle_rate();
	return !(period >> 63) && (!pmu->period_min || period >= pmu->period_min(&event->hw));
}

/* Its variable on the stack would be guarded in each ioctl. */
static noinline int ioctl_period(struct pmr_event *event, u64 __user *user)
{
	u64 period;

	if (copy_from_user(&period, user, sizeof(period)))
		return -EFAULT;
	if (!event->hw.sampling || !period)
		return -EINVAL;
	if (!valid_period(event, period))
		return -EINVAL;
	pmr_event_set_period(event, period);
	return 0;
}

static int ioctl_pause(struct pmr_event *event, bool pause)
{
	struct pmr_ring *ring = pmr_output_ring(event);
	int err = -EINVAL;

	if (ring && ring->size) {
		WRITE_ONCE(ring->paused, pause);
		err = 0;
	}
	pmr_ring_put(ring);
	return err;
}

/* Only a long -1 undoes: an int -1 that was widened without a sign is no descriptor. */
static int ioctl_set_output(struct pmr_event *event, unsigned long fd)
{
	struct file *file;
	int err;

	if (fd == -1UL)
		return pmr_set_output(event, NULL);
	file = pmr_event_fget(fd);
	if (!file)
		return -EBADF;
	err = pmr_set_output(event, file->private_data);
	fput(file);
	return err;
}

static int ioctl_id(const struct pmr_event *event, u64 __user *user)
{
	return copy_to_user(user, &event->id, sizeof(event->id)) ? -EFAULT : 0;
}

/* Filters and programs are for kinds of events that pmuring does not have. */
static int ioctl_filter(const char __user *user)
{
	char *filter = strndup_user(user, PAGE_SIZE);

	if (IS_ERR(filter))
		return PTR_ERR(filter);
	kfree(filter);
	return -EINVAL;
}

static int ioctl_bpf(int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	fput(file);
	return -EINVAL;
}

static int ioctl_modify(const struct pmr_event *event, struct perf_event_attr __user *user)
{
	struct perf_event_attr attr;
	struct pmr_rights rights;
	int err;

	pmr_rights_decide(&rights);
	err = pmr_attr_copy(user, &attr, &rights);
	if (err)
		return err;
	return attr.type == event->attr.type ? -EOPNOTSUPP : -EINVAL;
}

/**
 * pmr_event_file_ioctl() - a request
 * @file: event file
 * @cmd: PERF_EVENT_IOC_*
 * @arg: its argument
 *
 * SET_FILTER, SET_BPF and QUERY_BPF are for kinds of events that pmuring does
 * not have; they get the answer that perf gives for others.
 *
 * Return: 0 or an errno of perf_event_open(2); -ENOTTY for no request of ours.
 */
long pmr_event_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct pmr_event *event = file->private_data;
	bool group = arg & PERF_IOC_FLAG_GROUP;

	might_sleep();
	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		pmr_event_enable(event, group);
		return 0;
	case PERF_EVENT_IOC_DISABLE:
		pmr_event_disable(event, group);
		return 0;
	case PERF_EVENT_IOC_RESET:
		pmr_event_reset(event, group);
		return 0;
	case PERF_EVENT_IOC_REFRESH:
		return pmr_event_refresh(event, arg);
	case PERF_EVENT_IOC_PERIOD:
		return ioctl_period(event, (u64 __user *)arg);
	case PERF_EVENT_IOC_ID:
		return ioctl_id(event, (u64 __user *)arg);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return ioctl_set_output(event, arg);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return ioctl_pause(event, arg);
	case PERF_EVENT_IOC_SET_FILTER:
		return ioctl_filter((const char __user *)arg);
	case PERF_EVENT_IOC_SET_BPF:
		return ioctl_bpf(arg);
	case PERF_EVENT_IOC_QUERY_BPF:
		return perfmon_capable() ? -EINVAL : -EPERM;
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return ioctl_modify(event, (struct perf_event_attr __user *)arg);
	default:
		return -ENOTTY;
	}
}

/**
 * pmr_event_file_compat_ioctl() - a request of a 32-bit process
 * @file: event file
 * @cmd: PERF_EVENT_IOC_*; numbers with a pointer in them carry its size, which
 *	is 4 for these callers
 * @arg: its argument
 *
 * Return: as pmr_event_file_ioctl().
 */
long pmr_event_file_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(PERF_EVENT_IOC_SET_FILTER):
	case _IOC_NR(PERF_EVENT_IOC_ID):
	case _IOC_NR(PERF_EVENT_IOC_QUERY_BPF):
	case _IOC_NR(PERF_EVENT_IOC_MODIFY_ATTRIBUTES):
		if (_IOC_SIZE(cmd) == sizeof(compat_uptr_t)) {
			cmd &= ~IOCSIZE_MASK;
			cmd |= sizeof(void *) << IOCSIZE_SHIFT;
		}
		break;
	}
	return pmr_event_file_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
}
