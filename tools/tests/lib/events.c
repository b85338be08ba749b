// SPDX-License-Identifier: GPL-2.0
/*
 * Short forms for what nearly every test does with an event. What must work for
 * the test to make sense ends the test when it fails. Called by the tests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "tap.h"

static struct perf_event_attr user_only(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

/**
 * hardware - a generic hardware event in user mode, not yet enabled
 * @config: PERF_COUNT_HW_*
 *
 * Return: its attributes
 */
struct perf_event_attr hardware(uint64_t config)
{
	return user_only(PERF_TYPE_HARDWARE, config);
}

/**
 * raw - an event of the PMU by its number, in user mode, not yet enabled
 * @config: unit mask and event code
 *
 * Return: its attributes
 */
struct perf_event_attr raw(uint64_t config)
{
	return user_only(PERF_TYPE_RAW, config);
}

/**
 * sampling - a generic hardware event that samples user mode, not yet enabled
 * @config: PERF_COUNT_HW_*
 * @period: events from one sample to the next
 * @sample_type: PERF_SAMPLE_*
 *
 * Return: its attributes
 */
struct perf_event_attr sampling(uint64_t config, uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = hardware(config);

	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

/**
 * open_event - open an event that must open
 * @attr: its attributes
 * @pid: task to count
 * @cpu: CPU to count on
 *
 * Return: its descriptor
 */
int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = door_open_event(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		bail_out("cannot open event %u:%#llx of pid %d cpu %d", attr->type,
			 (unsigned long long)attr->config, pid, cpu);
	return fd;
}

/**
 * open_self - open an event of the calling thread
 * @attr: its attributes
 *
 * Return: its descriptor
 */
int open_self(const struct perf_event_attr *attr)
{
	return open_event(attr, 0, -1);
}

/**
 * switch_event - ENABLE, DISABLE or RESET
 * @fd: the event
 * @request: PERF_EVENT_IOC_*
 */
void switch_event(int fd, unsigned long request)
{
	if (ioctl(fd, request, 0))
		bail_out("event request %#lx", request);
}

/**
 * read_value - the count of an event
 * @fd: opened with any read_format
 *
 * Return: the count
 */
uint64_t read_value(int fd)
{
	uint64_t words[8];

	if (read(fd, words, sizeof(words)) < (ssize_t)sizeof(words[0]))
		bail_out("cannot read an event");
	return words[0];
}

/**
 * read_count - the count of an event with its times
 * @fd: opened with both times in its read_format
 *
 * Return: count and times
 */
struct count read_count(int fd)
{
	struct count count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		bail_out("cannot read an event with its times");
	return count;
}

/**
 * event_id - the number by which records name an event
 * @fd: the event
 *
 * Return: the number
 */
uint64_t event_id(int fd)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		bail_out("cannot get the id of an event");
	return id;
}

/**
 * map_ring - map a ring that must map
 * @ring: filled in
 * @fd: the event
 * @data_pages: a power of two
 */
void map_ring(struct ring *ring, int fd, size_t data_pages)
{
	if (ring_map(ring, fd, data_pages))
		bail_out("cannot map %zu pages", data_pages);
}

static void count_record(struct tally *tally, const struct record *rec)
{
	switch (rec->header.type) {
	case PERF_RECORD_SAMPLE:
		tally->samples++;
		break;
	case PERF_RECORD_LOST:
		/* id, lost */
		tally->lost += rec->field[1];
		tally->lost_records++;
		break;
	case PERF_RECORD_THROTTLE:
		tally->throttles++;
		break;
	case PERF_RECORD_UNTHROTTLE:
		tally->unthrottles++;
		break;
	default:
		tally->others++;
	}
}

/**
 * drain - take all records that a ring holds
 * @ring: mapped
 * @fn: sees each of them, or NULL
 * @data: for @fn
 *
 * Return: how many there were of which kind
 */
struct tally drain(struct ring *ring, record_fn fn, void *data)
{
	const struct perf_event_header *header;
	struct tally tally = { 0 };
	int rc;

	while ((rc = ring_next(ring, &header)) > 0) {
		const struct record *rec = (const void *)header;

		count_record(&tally, rec);
		if (fn)
			fn(rec, data);
	}
	if (rc < 0) {
		tally.broken = true;
		diag("ring: no record at %#llx (head %#llx)", (unsigned long long)ring->tail,
		     (unsigned long long)ring_head(ring));
	}
	ring_release(ring);
	return tally;
}
