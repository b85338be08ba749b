// SPDX-License-Identifier: GPL-2.0
/*
 * The requests of an event and of the device node: what they do, and what they
 * refuse.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		10000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)

#define BAD_ADDRESS	((void *)8)

static void unknown_requests(int fd)
{
	static const unsigned long requests[] = {
		0, 0x2400 - 1, 0x240c, 0x24ff, 0x5401, 0xffffffff, PMURING_IOC_OPEN,
	};

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		gives(ioctl(fd, requests[i], 0), ENOTTY, "event request %#lx: ENOTTY", requests[i]);
}

#define UNKNOWN_CHECKS 7

static void switching(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);

	gives(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "DISABLE of a disabled event");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	gives(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "ENABLE of an enabled event");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	switch_event(fd, PERF_EVENT_IOC_RESET);
	is(read_value(fd), 0, "RESET while disabled clears the count");
	work_counted(fd, ROUNDS);
	between(read_value(fd), LENGTH, LENGTH + machine_slack(LENGTH),
		"an event counts from 0 after RESET");

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	switch_event(fd, PERF_EVENT_IOC_RESET);
	between(read_value(fd), 1, ROUNDS, "RESET while enabled restarts the count at 0");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);

	/* one event alone is a group of its own */
	gives(ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0, "RESET with FLAG_GROUP");
	is(read_value(fd), 0, "RESET with FLAG_GROUP clears the event's count");
	close(fd);
}

static void ids(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t id = 0;
	int fd = open_self(&attr);

	gives(ioctl(fd, PERF_EVENT_IOC_ID, &id), 0, "ID");
	ok(id != 0, "the ID is not 0");
	gives(ioctl(fd, PERF_EVENT_IOC_ID, BAD_ADDRESS), EFAULT, "ID to a bad address: EFAULT");
	close(fd);
}

static int set_period(int fd, uint64_t period)
{
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

static void periods(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	struct ring ring;

	gives(set_period(fd, 1000), EINVAL, "PERIOD of an event that does not sample: EINVAL");
	close(fd);

	attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, LENGTH / 4, PERF_SAMPLE_IP);
	fd = open_self(&attr);
	map_ring(&ring, fd, 1);
	gives(set_period(fd, 0), EINVAL, "PERIOD 0: EINVAL");
	gives(set_period(fd, 1ULL << 63), EINVAL, "PERIOD with bit 63: EINVAL");
	gives(set_period(fd, UINT64_MAX), EINVAL, "PERIOD of all ones: EINVAL");
	gives(ioctl(fd, PERF_EVENT_IOC_PERIOD, BAD_ADDRESS), EFAULT,
	      "PERIOD at a bad address: EFAULT");
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 4, "a refused PERIOD does not change the period");
	gives(set_period(fd, LENGTH / 8), 0, "PERIOD while disabled");
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 8,
	   "PERIOD while disabled takes effect at the next ENABLE");
	gives(set_period(fd, (1ULL << 63) - 1), 0, "PERIOD 2^63 - 1");
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 0, "a period of 2^63 - 1 does not overflow");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	gives(set_period(fd, LENGTH / 8), 0, "PERIOD while enabled");
	work(ROUNDS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	is(drain(&ring, NULL, NULL).samples, 8, "PERIOD while enabled takes effect at once");
	ring_unmap(&ring);
	close(fd);
}

/* what needs a group, a tracepoint or a ring */
static void out_of_place(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	char filter[] = "common_pid != 0";

	gives(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter), EINVAL,
	      "SET_FILTER of a hardware event: EINVAL");
	gives(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL,
	      "PAUSE_OUTPUT without a ring: EINVAL");
	gives(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd), EINVAL,
	      "SET_OUTPUT to the event itself: EINVAL");
	gives(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL,
	      "REFRESH of an event that does not sample: EINVAL");
	close(fd);
}

static void device_node(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct pmuring_open args = { .attr_ptr = (uintptr_t)&attr, .cpu = -1, .group_fd = -1 };
	struct {
		struct pmuring_info info;
		unsigned char beyond[64];
	} room;
	int node = door_fd();

	gives(ioctl(node, PMURING_IOC_OPEN, BAD_ADDRESS), EFAULT, "OPEN at a bad address: EFAULT");
	args.reserved = 1;
	gives(ioctl(node, PMURING_IOC_OPEN, &args), EINVAL, "OPEN with reserved set: EINVAL");
	gives(ioctl(node, 0x5401, 0), ENOTTY, "an unknown request on the node: ENOTTY");
	gives(ioctl(node, PERF_EVENT_IOC_ENABLE, 0), ENOTTY,
	      "an event request on the node: ENOTTY");
	gives(ioctl(node, PMURING_IOC_INFO, BAD_ADDRESS), EFAULT, "INFO at a bad address: EFAULT");

	memset(&room, 0xaa, sizeof(room));
	room.info.size = 8;
	gives(ioctl(node, PMURING_IOC_INFO, &room), 0, "INFO with room for 8 bytes");
	is(room.info.size, sizeof(room.info), "INFO returns its full size");
	is(room.info.abi_version, PMURING_ABI_VERSION, "INFO returns the ABI version");
	is(room.info.vendor, 0xaaaaaaaa, "INFO writes no byte beyond");

	memset(&room, 0xaa, sizeof(room));
	room.info.size = sizeof(room);
	gives(ioctl(node, PMURING_IOC_INFO, &room), 0, "INFO with more room than its size");
	is(room.info.size, sizeof(room.info), "INFO returns its full size");
	is(room.beyond[0], 0xaa, "INFO writes no byte beyond");
	gives(read(node, &room, sizeof(room)), EINVAL, "read of the node: EINVAL");
	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, node, 0) == MAP_FAILED && errno == ENODEV,
	   "mmap of the node: ENODEV");
}

static void info(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct pmuring_info before = module_info(), with;
	int fd = open_self(&attr);

	with = module_info();
	is(with.events, before.events + 1, "INFO counts an open event");
	is(with.holder, PMURING_HOLDER_PMURING, "INFO reports pmuring as the holder");
	close(fd);
	is(module_info().events, before.events, "INFO does not count a closed event");
	is(module_info().holder, PMURING_HOLDER_NOBODY, "INFO reports no holder after the close");
	is(hooks_remain(), 0, "no context-switch hook is left without events");
	ok(with.gp_counters >= 1 && with.gp_width >= 32, "%u counters of %u bits",
	   with.gp_counters, with.gp_width);
	ok(with.hardware_events & 1 << PERF_COUNT_HW_INSTRUCTIONS &&
	   with.hardware_events & 1 << PERF_COUNT_HW_CPU_CYCLES,
	   "cycles and instructions are among the events");
	is(with.fixed_counters, __builtin_popcountll(with.fixed_mask),
	   "as many fixed counters as the mask says");
}

int main(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(UNKNOWN_CHECKS + 7 + 3 + 12 + 4 + 14 + 8);
	fd = open_self(&attr);
	unknown_requests(fd);
	close(fd);
	switching();
	ids();
	periods();
	out_of_place();
	device_node();
	info();
	return done();
}
