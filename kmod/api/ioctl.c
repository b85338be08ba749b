// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the requests that an event answers (perf_event_open(2), ioctls). Task
 * context, may sleep; no locks of its own.
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/context.h"
#include "core/output.h"
#include "sample/throttle.h"

static int ioctl_period(struct pmr_event *event, u64 __user *user)
{
	u64 period;

	if (!event->hw.sampling)
		return -EINVAL;
	if (copy_from_user(&period, user, sizeof(period)))
		return -EFAULT;
	if (!period)
		return -EINVAL;
	if (event->attr.freq ? period > pmr_throttle_rate() : period >> 63)
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

static int ioctl_set_output(struct pmr_event *event, int fd)
{
	struct file *file;
	int err;

	if (fd == -1)
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

/**
 * pmr_event_file_ioctl() - a request
 * @file: event file
 * @cmd: PERF_EVENT_IOC_*
 * @arg: its argument
 *
 * SET_FILTER, SET_BPF and QUERY_BPF are for kinds of events that pmuring does
 * not have, and get the answer that perf gives for others.
 *
 * Return: 0 or an errno of perf_event_open(2); -ENOTTY for no request of ours.
 */
long pmr_event_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct pmr_event *event = file->private_data;
	bool group = arg & PERF_IOC_FLAG_GROUP;

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
	case PERF_EVENT_IOC_SET_BPF:
		return -EINVAL;
	case PERF_EVENT_IOC_QUERY_BPF:
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return -EOPNOTSUPP;
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
