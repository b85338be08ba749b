// SPDX-License-Identifier: GPL-2.0
/*
 * Owns read() of an event: the layout of perf_event.h, enum
 * perf_event_read_format. Task context, may sleep; no locks.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api/api.h"

/* value, enabled, running, id, lost */
#define SINGLE_WORDS_MAX	5

static unsigned int put_times(u64 *words, u64 format, const struct pmr_value *value)
{
	unsigned int n = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[n++] = value->enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[n++] = value->running;
	return n;
}

static unsigned int put_who(u64 *words, u64 format, const struct pmr_value *value)
{
	unsigned int n = 0;

	if (format & PERF_FORMAT_ID)
		words[n++] = value->id;
	if (format & PERF_FORMAT_LOST)
		words[n++] = value->lost;
	return n;
}

static ssize_t read_single(struct pmr_event *event, char __user *buffer)
{
	u64 format = event->attr.read_format;
	u64 words[SINGLE_WORDS_MAX];
	struct pmr_value value;
	unsigned int n = 0;

	pmr_event_read(event, &value);
	words[n++] = value.count;
	n += put_times(&words[n], format, &value);
	n += put_who(&words[n], format, &value);
	return copy_to_user(buffer, words, n * sizeof(u64)) ? -EFAULT : n * sizeof(u64);
}

/* The times are the leader's: a group counts together. */
static ssize_t copy_group(u64 format, const struct pmr_value *values, unsigned int members,
			  char __user *buffer)
{
	size_t size = pmr_read_words(format, members) * sizeof(u64);
	u64 *words = kmalloc(size, GFP_KERNEL);
	unsigned int n = 0, i;
	bool fault;

	if (!words)
		return -ENOMEM;
	words[n++] = members;
	n += put_times(&words[n], format, &values[0]);
	for (i = 0; i < members; i++) {
		words[n++] = values[i].count;
		n += put_who(&words[n], format, &values[i]);
	}
	fault = copy_to_user(buffer, words, size);
	kfree(words);
	return fault ? -EFAULT : size;
}

static unsigned int members_in(u64 format, size_t count)
{
	unsigned int fixed = pmr_read_words(format, 0), each = pmr_read_words(format, 1) - fixed;
	size_t words = count / sizeof(u64);

	return words < fixed ? 0 : min_t(size_t, (words - fixed) / each, INT_MAX);
}

static ssize_t read_group(struct pmr_event *event, char __user *buffer, size_t count)
{
	u64 format = event->attr.read_format;
	struct pmr_value *values;
	ssize_t size;
	int members;

	members = pmr_group_read(event, &values, members_in(format, count));
	if (members < 0)
		return members;
	size = copy_group(format, values, members, buffer);
	kfree(values);
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

	if (READ_ONCE(event->state) == PMR_STATE_ERROR)
		return 0;
	if (format & PERF_FORMAT_GROUP)
		return read_group(event, buffer, count);
	if (count < pmr_read_words(format, 1) * sizeof(u64))
		return -ENOSPC;
	return read_single(event, buffer);
}
