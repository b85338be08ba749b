// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the event's file: poll, signals, close. read() is in read.c, requests are
 * in ioctl.c, mmap is in mmap.c. Task context, may sleep.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "api/account.h"
#include "api/api.h"
#include "core/context.h"
#include "core/output.h"
#include "core/sideband.h"
#include "hooks/hooks.h"

/*
 * Nothing will come any more, or not before the CPU is back. An event that is not pinned
 * is in error only because the PMU has failed. As in perf, a copy in error changes nothing:
 * the event and its other copies count on.
 */
static bool has_hung_up(const struct pmr_event *event)
{
	if (READ_ONCE(event->state) == PMR_STATE_ERROR && !event->attr.pinned)
		return true;
	if (READ_ONCE(event->state) <= PMR_STATE_EXIT)
		return list_empty(&event->children);
	return !event->task && READ_ONCE(event->context->on_cpu) < 0;
}

static __poll_t event_poll(struct file *file, poll_table *wait)
{
	struct pmr_event *event = file->private_data;
	__poll_t events = EPOLLHUP;
	struct pmr_ring *ring;

	pmr_output_poll(event);		/* before the wait: its wake-ups come here */
	poll_wait(file, &event->waitq, wait);
	if (has_hung_up(event))
		return events;
	ring = pmr_output_ring(event);
	if (ring)
		events = atomic_xchg(&ring->poll, 0) ? EPOLLIN | EPOLLRDNORM : 0;
	pmr_ring_put(ring);
	return events;
}

static int event_fasync(int fd, struct file *file, int on)
{
	struct pmr_event *event = file->private_data;
	int ret = fasync_helper(fd, file, on, &event->fasync);

	return min(ret, 0);
}

/**
 * pmr_event_file_close() - end an event that was opened
 * @event: event without mappings
 */
void pmr_event_file_close(struct pmr_event *event)
{
	might_sleep();
	pmr_sideband_account(event, -1);
	kref_get(&event->ref);
	pmr_event_close(event);
	pmr_hooks_put(event);
	pmr_account_uncharge_event(event->accounts);
	pmr_event_put(event);
}

/* Each mapping holds the file, so the last one is gone. */
static int event_release(struct inode *inode, struct file *file)
{
	pmr_event_file_close(file->private_data);
	return 0;
}

static const struct file_operations event_fops = {
	.owner = THIS_MODULE,
	.read = pmr_event_file_read,
	.poll = event_poll,
	.unlocked_ioctl = pmr_event_file_ioctl,
	.compat_ioctl = pmr_event_file_compat_ioctl,
	.mmap = pmr_event_mmap,
	.fasync = event_fasync,
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
 * pmr_event_fget() - an event by its descriptor
 * @fd: any descriptor
 *
 * Return: its file with a reference, the event in private_data, or NULL if it
 * is none of ours.
 */
struct file *pmr_event_fget(int fd)
{
	struct file *file = fget(fd);

	if (file && file->f_op != &event_fops) {
		fput(file);
		return NULL;
	}
	return file;
}
