// SPDX-License-Identifier: GPL-2.0
/*
 * Owns read() of an event: the layout of perf_event.h, enum
 * perf_event_read_format. Task context, may sleep; no locks.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api/api.h"

/* value, enabled, running, id, lost */
#define SINGLE_WORDS_MAX	5

static ssize_t read_single(struct pmr_event *event, char __user *buffer)
{
	u64 format = event->attr.read_format;
	u64 words[SINGLE_WORDS_MAX];
	struct pmr_value value;
	unsigned int n = 0;

	pmr_event_read(event, &value);
	words[n++] = value.count;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[n++] = value.enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[n++] = value.running;
	if (format & PERF_FORMAT_ID)
		words[n++] = event->id;
	if (format & PERF_FORMAT_LOST)
		words[n++] = READ_ONCE(event->lost);
	return copy_to_user(buffer, words, n * sizeof(u64)) ? -EFAULT : n * sizeof(u64);
}

static noinline_for_stack
ssize_t read_group(struct pmr_event *event, char __user *buffer, size_t count)
{
	u64 few[PMR_READ_FEW], *words;
	ssize_t size;

	size = pmr_group_read(event, few, &words, count);
	if (size < 0)
		return size;
	if (copy_to_user(buffer, words, size))
		size = -EFAULT;
	if (words != few)
		kfree(words);
	return size;
}

/**
 * pmr_event_file_read() - read() of an event
 * @file: event file
 * @buffer: where it goes
 * @count: its size
 * @pos: not used: an event has no position
 *
 * Return: bytes; 0 for a pinned event that could not be counted; -ENOSPC if
 * @buffer is too small; -ECHILD, see pmr_group_read(); -ENOMEM; -EFAULT.
 */
ssize_t pmr_event_file_read(struct file *file, char __user *buffer, size_t count, loff_t *pos)
{
	struct pmr_event *event = file->private_data;
	u64 format = event->attr.read_format;

	might_sleep();
	if (READ_ONCE(event->state) == PMR_STATE_ERROR)
		return 0;
	if (format & PERF_FORMAT_GROUP)
		return read_group(event, buffer, count);
	if (count < pmr_read_words(format, 1) * sizeof(u64))
		return -ENOSPC;
	return read_single(event, buffer);
}
