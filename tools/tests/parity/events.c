// SPDX-License-Identifier: GPL-2.0
/*
 * Opening and reading events. The only file that knows how an event is opened:
 * by perf_event_open(2), which a preloaded library may answer, or by the node
 * that --door names. Called by the cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"
#include "pmuring.h"
#include "workload.h"

/* more than any PMU has counters */
#define COUNTERS_MAX	70

static int door = -1;

/**
 * use_door - open events at a node of pmuring
 * @node: its path
 */
void use_door(const char *node)
{
	door = open(node, O_RDWR | O_CLOEXEC);
	if (door < 0) {
		perror(node);
		exit(1);
	}
}

/**
 * try_open - perf_event_open(2)
 * @attr: struct perf_event_attr, or other bytes to pass as one
 * @pid: task to count
 * @cpu: CPU to count on
 * @group_fd: leader, or -1
 * @flags: PERF_FLAG_*
 *
 * Return: a descriptor, or -1 with errno
 */
int try_open(const void *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	struct pmuring_open args = {
		.attr_ptr = (uintptr_t)attr,
		.pid = pid,
		.cpu = cpu,
		.group_fd = group_fd,
		.flags = flags,
	};

	if (door >= 0)
		return ioctl(door, PMURING_IOC_OPEN, &args);
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

/**
 * must_open - open an event, or give up the case
 * @attr: what to count
 * @pid: task to count
 * @cpu: CPU to count on
 * @group_fd: leader, or -1
 *
 * Return: its descriptor
 */
int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = try_open(attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		give_up("open of %u:%#llx: %s", attr->type, (unsigned long long)attr->config,
			error_name(fd));
	return fd;
}

/**
 * open_self - open an event of the calling task that must open
 * @attr: what to count
 *
 * Return: its descriptor
 */
int open_self(const struct perf_event_attr *attr)
{
	return must_open(attr, 0, -1, -1);
}

/**
 * open_error_event - an event in state ERROR
 * @read_format: of the event
 * @period: of the event; 0 counts
 *
 * Opens pinned events until one finds no counter.
 *
 * Return: its descriptor
 */
int open_error_event(uint64_t read_format, uint64_t period)
{
	struct perf_event_attr attr = branches();
	uint64_t words[8];
	int fd;

	attr.pinned = 1;
	attr.disabled = 0;
	attr.read_format = read_format;
	attr.sample_period = period;
	for (int i = 0; i < COUNTERS_MAX; i++) {
		fd = open_self(&attr);
		work(1);
		if (!read(fd, words, sizeof(words)))
			return fd;
	}
	give_up("pinned events without end");
}

/**
 * event_attr - an event of user mode, not yet enabled
 * @type: PERF_TYPE_*
 * @config: of that type
 *
 * Return: its attributes
 */
struct perf_event_attr event_attr(uint32_t type, uint64_t config)
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

struct perf_event_attr instructions(void)
{
	return event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

struct perf_event_attr branches(void)
{
	return event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
}

/**
 * software - a software event of user and kernel mode, not yet enabled
 * @config: PERF_COUNT_SW_*
 *
 * Return: its attributes
 */
struct perf_event_attr software(uint64_t config)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_SOFTWARE, config);

	attr.exclude_kernel = 0;
	attr.exclude_hv = 0;
	return attr;
}

/**
 * sampling - instructions that are sampled, not yet enabled
 * @period: from one sample to the next
 * @sample_type: PERF_SAMPLE_*
 *
 * Return: the attributes
 */
struct perf_event_attr sampling(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = instructions();

	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

void enable(int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		give_up("ENABLE: %s", error_name(-1));
}

void disable(int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0))
		give_up("DISABLE: %s", error_name(-1));
}

uint64_t event_id(int fd)
{
	uint64_t id = 0;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		give_up("ID: %s", error_name(-1));
	return id;
}

/**
 * read_value - the count of an event that is read alone
 * @fd: the event
 *
 * Return: the first word of what read(2) gives
 */
uint64_t read_value(int fd)
{
	uint64_t words[8];
	ssize_t len = read(fd, words, sizeof(words));

	if (len < 8)
		give_up("read: %s", len ? error_name(len) : "end of file");
	return words[0];
}

/**
 * read_count - value and times
 * @fd: an event with FORMAT_TIMES
 * @count: filled in
 *
 * Return: false where read(2) gives something else
 */
bool read_count(int fd, struct count *count)
{
	return read(fd, count, sizeof(*count)) == sizeof(*count);
}

/**
 * must_map - map the ring of an event
 * @ring: filled in
 * @fd: the event
 * @data_pages: a power of two
 */
void must_map(struct ring *ring, int fd, size_t data_pages)
{
	if (ring_map(ring, fd, data_pages))
		give_up("mmap: %s", error_name(-1));
}

/**
 * say_behaviour - add what an event does during some work
 * @what: which event
 * @fd: with FORMAT_TIMES
 */
void say_behaviour(const char *what, int fd)
{
	struct count before = {}, after = {};
	ssize_t len = read(fd, &before, sizeof(before));

	if (len < (ssize_t)sizeof(before)) {
		say("%s:%s", what, len ? error_name(len) : "eof");
		return;
	}
	work(SOME_WORK);
	read_count(fd, &after);
	say("%s:%s%s%s", what, after.value > before.value ? "counts" :
	    after.value == before.value ? "still" : "backwards",
	    after.enabled > before.enabled ? "+enabled" : "",
	    after.running > before.running ? "+running" : "");
}

/**
 * say_poll - add the immediate result of poll(2)
 * @what: which event
 * @fd: the event
 */
void say_poll(const char *what, int fd)
{
	static const struct {
		short bit;
		const char *name;
	} bits[] = {
		{ POLLIN, "IN" }, { POLLPRI, "PRI" }, { POLLOUT, "OUT" }, { POLLERR, "ERR" },
		{ POLLHUP, "HUP" }, { POLLNVAL, "NVAL" }, { POLLRDNORM, "RDNORM" },
	};
	struct pollfd item = { .fd = fd, .events = POLLIN | POLLPRI | POLLOUT | POLLRDNORM };
	char text[60] = "";
	int n = poll(&item, 1, 0);

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		if (!(item.revents & bits[i].bit))
			continue;
		if (*text)
			strcat(text, "|");
		strcat(text, bits[i].name);
	}
	say("%s=%d:%s", what, n, *text ? text : "none");
}
