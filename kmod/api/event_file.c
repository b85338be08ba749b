// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the event's file: read, poll, ioctl, close. mmap is in mmap.c. Task
 * context, may sleep; poll takes the event's mmap_mutex.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/context.h"
#include "hooks/hooks.h"
#include "pmu/period.h"
#include "sample/sample.h"

/* nr, enabled, running, count, id, lost: a group of one has the most. */
#define READ_WORDS_MAX	6

/* Lays out what read() returns (perf_event.h, enum perf_event_read_format). */
static unsigned int fill_read(u64 *words, const struct pmr_event *event,
			      const struct pmr_value *value)
{
	u64 format = event->attr.read_format;
	unsigned int n = 0;

	words[n++] = format & PERF_FORMAT_GROUP ? 1 : value->count;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[n++] = value->enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[n++] = value->running;
	if (format & PERF_FORMAT_GROUP)
		words[n++] = value->count;
	if (format & PERF_FORMAT_ID)
		words[n++] = event->id;
	if (format & PERF_FORMAT_LOST)
		words[n++] = pmr_event_lost(event);
	return n;
}

static ssize_t event_read(struct file *file, char __user *buffer, size_t count, loff_t *pos)
{
	struct pmr_event *event = file->private_data;
	u64 words[READ_WORDS_MAX];
	struct pmr_value value;
	size_t size;

	/* Before the IPI: what does not fit is not worth one. */
	value = (struct pmr_value) {};
	size = fill_read(words, event, &value) * sizeof(u64);
	if (count < size)
		return -ENOSPC;
	pmr_event_read(event, &value);
	fill_read(words, event, &value);
	return copy_to_user(buffer, words, size) ? -EFAULT : size;
}

static __poll_t event_poll(struct file *file, poll_table *wait)
{
	struct pmr_event *event = file->private_data;
	__poll_t events = EPOLLHUP;
	struct pmr_ring *ring;

	poll_wait(file, &event->waitq, wait);
	if (READ_ONCE(event->state) <= PMR_STATE_EXIT)
		return events;
	mutex_lock(&event->mmap_mutex);
	ring = rcu_dereference_protected(event->ring, lockdep_is_held(&event->mmap_mutex));
	if (ring)
		events = atomic_xchg(&ring->poll, 0) ? EPOLLIN | EPOLLRDNORM : 0;
	mutex_unlock(&event->mmap_mutex);
	return events;
}

static int ioctl_period(struct pmr_event *event, u64 __user *user)
{
	u64 period;

	if (!event->hw.sampling)
		return -EINVAL;
	if (copy_from_user(&period, user, sizeof(period)))
		return -EFAULT;
	if (!period || period >> 63)
		return -EINVAL;
	pmr_event_set_period(event, period);
	return 0;
}

static int ioctl_pause(struct pmr_event *event, bool pause)
{
	struct pmr_ring *ring;
	int err = -EINVAL;

	mutex_lock(&event->mmap_mutex);
	ring = rcu_dereference_protected(event->ring, lockdep_is_held(&event->mmap_mutex));
	if (ring && ring->size) {
		WRITE_ONCE(ring->paused, pause);
		err = 0;
	}
	mutex_unlock(&event->mmap_mutex);
	return err;
}

/* Sharing another event's ring is not built; what perf refuses is refused. */
static int ioctl_set_output(struct pmr_event *event, int fd)
{
	struct file *file;
	int err = -EOPNOTSUPP;

	if (fd == -1)	/* nothing to undo */
		return 0;
	file = fget(fd);
	if (!file)
		return -EBADF;
	if (!pmr_is_event_file(file))
		err = -EBADF;
	else if (file->private_data == event)
		err = -EINVAL;
	fput(file);
	return err;
}

/* PERF_IOC_FLAG_GROUP in @arg makes no difference to a group of one. */
static long event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct pmr_event *event = file->private_data;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		pmr_event_enable(event);
		return 0;
	case PERF_EVENT_IOC_DISABLE:
		pmr_event_disable(event);
		return 0;
	case PERF_EVENT_IOC_RESET:
		pmr_event_reset(event);
		return 0;
	case PERF_EVENT_IOC_PERIOD:
		return ioctl_period(event, (u64 __user *)arg);
	case PERF_EVENT_IOC_ID:
		return copy_to_user((u64 __user *)arg, &event->id, sizeof(event->id)) ?
			-EFAULT : 0;
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return ioctl_pause(event, arg);
	case PERF_EVENT_IOC_SET_FILTER:
	case PERF_EVENT_IOC_SET_BPF:
		return -EINVAL;		/* as perf for an event of this kind */
	case PERF_EVENT_IOC_REFRESH:
		return event->hw.sampling ? -EOPNOTSUPP : -EINVAL;
	case PERF_EVENT_IOC_SET_OUTPUT:
		return ioctl_set_output(event, arg);
	case PERF_EVENT_IOC_QUERY_BPF:
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return -EOPNOTSUPP;
	default:
		return -ENOTTY;
	}
}

/* Numbers with a pointer in them carry its size, which is 4 for these callers. */
static long event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
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
	return event_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
}

/**
 * pmr_event_close() - end an event that is in a context
 * @event: event without mappings
 */
void pmr_event_close(struct pmr_event *event)
{
	struct pmr_context *context = event->context;

	pmr_event_remove(event);
	if (event->task) {
		pmr_task_context_put(context);
		pmr_sched_hooks_put();
	}
	pmr_event_free(event);
}

/* Each mapping holds the file, so the last one is gone. */
static int event_release(struct inode *inode, struct file *file)
{
	pmr_event_close(file->private_data);
	return 0;
}

static const struct file_operations event_fops = {
	.owner = THIS_MODULE,
	.read = event_read,
	.poll = event_poll,
	.unlocked_ioctl = event_ioctl,
	.compat_ioctl = event_compat_ioctl,
	.mmap = pmr_event_mmap,
	.release = event_release,
};

/**
 * pmr_event_file() - make the file of an event
 * @event: event; closing the file will close it
 *
 * Return: the file or ERR_PTR.
 */
struct file *pmr_event_file(struct pmr_event *event)
{
	return anon_inode_getfile("[pmuring]", &event_fops, event, O_RDWR);
}

/**
 * pmr_is_event_file() - is it one of ours?
 * @file: any file
 */
bool pmr_is_event_file(const struct file *file)
{
	return file->f_op == &event_fops;
}
