// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU that CPUID lists but that does not work, as under a hypervisor that ignores
 * register writes, faults on access, or keeps the counters stopped. The module loads,
 * logs one line, and hardware events get ENOENT. The module works again when the PMU
 * does. The same holds for a CPU that comes online after the module is loaded. Needs the
 * PMU-modelling QEMU, which fails on request.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS	1000
#define LENGTH	(ROUNDS * WORK_ROUND + WORK_TAIL)

static void pmu_becomes(uint64_t what)
{
	for (int cpu = 0; cpu < cpu_possible(); cpu++)
		if (!msr_write(cpu, QPMU_CONTROL, what))
			bail_out("cannot write MSRs");
}

static void refused(uint64_t how, const char *name, const char *why)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int log;

	gives(module_unload(), 0, "%s: the module unloads", name);
	pmu_becomes(how);
	log = kernel_log_open();
	gives(module_load(), 0, "the module loads again");
	is(kernel_log_lines(log, why), 1, "the log gives the reason once");
	close(log);
	is(module_info().vendor, PMURING_VENDOR_NONE, "INFO reports no PMU");
	gives(door_open_event(&attr, 0, -1, -1, 0), ENOENT, "hardware events get ENOENT");
	pmu_becomes(QPMU_ALIVE);
}

static void works_again(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	gives(module_unload(), 0, "a working PMU: the module unloads");
	gives(module_load(), 0, "the module loads again");
	for (int cpu = 0; cpu < 2; cpu++) {
		cpu_pin(cpu % cpu_possible());
		fd = open_self(&attr);
		work_counted(fd, ROUNDS);
		is(read_value(fd), LENGTH, "a working PMU: the count is right on CPU %d", cpu);
		close(fd);
	}
}

static short poll_now(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	poll(&pollfd, 1, 0);
	return pollfd.revents;
}

/* CPU 1 goes offline and comes back with a PMU in the given state; marks the log */
static int comes_back(uint64_t what)
{
	int log;

	if (!msr_write(1, QPMU_CONTROL, what))
		bail_out("cannot write MSRs");
	log = kernel_log_open();
	if (!cpu_set_online(1, false) || !cpu_set_online(1, true))
		bail_out("CPU 1 does not go offline and online");
	return log;
}

static struct count of_task(int cpu)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct count count;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_self(&attr);
	cpu_pin(cpu);
	work_counted(fd, ROUNDS);
	count = read_count(fd);
	cpu_pin(0);
	close(fd);
	return count;
}

/* events on another CPU, and events that need no PMU, are not refused */
static void others_open(const struct perf_event_attr *attr)
{
	struct perf_event_attr software = { .size = sizeof(software), .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_CPU_CLOCK };
	int fd = door_open_event(attr, -1, 0, -1, 0);

	gives(fd, 0, "CPU 1 has no PMU: an event on CPU 0 opens");
	close(fd);
	fd = door_open_event(&software, -1, 1, -1, 0);
	gives(fd, 0, "CPU 1 has no PMU: a software event on CPU 1 opens");
	close(fd);
}

/* the PMU of CPU 1 breaks while it is offline */
static void hotplugged(uint64_t how, const char *name, const char *why)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct count count;
	uint64_t value;
	int log, fd;

	attr.disabled = 0;
	fd = open_event(&attr, -1, 1);
	log = comes_back(how);
	is(kernel_log_lines(log, why), 1, "CPU 1 comes online, %s: the log gives the reason once", name);
	close(log);
	ok(poll_now(fd) & POLLHUP, "CPU 1 has no PMU: its event reports POLLHUP");
	is(read(fd, &value, sizeof(value)), 0, "CPU 1 has no PMU: its event is in error state");
	gives(door_open_event(&attr, -1, 1, -1, 0), ENOENT,
	      "CPU 1 has no PMU: a new CPU event gets ENOENT");
	gives(door_open_event(&attr, 0, 1, -1, 0), ENOENT,
	      "CPU 1 has no PMU: a new task event on CPU 1 gets ENOENT");
	others_open(&attr);
	count = of_task(1);
	ok(!count.value && !count.running && count.enabled,
	   "CPU 1 has no PMU: a task event does not run there");
	is(of_task(0).value, LENGTH, "CPU 1 has no PMU: a task event counts on CPU 0");
	close(fd);

	/* No event holds the PMU here. */
	close(comes_back(how));
	gives(door_open_event(&attr, -1, 1, -1, 0), ENOENT,
	      "CPU 1 has no PMU: ENOENT with no event open");
	log = comes_back(QPMU_ALIVE);
	is(kernel_log_lines(log, "PMU"), 0, "CPU 1 has a PMU again: nothing is logged");
	close(log);
	fd = door_open_event(&attr, -1, 1, -1, 0);
	gives(fd, 0, "CPU 1 has a PMU again: its events open");
	close(fd);
	is(of_task(1).value, LENGTH, "CPU 1 has a PMU again: a task event counts there");
}

int main(void)
{
	if (!machine_is_exact())
		return skip_all("not the QEMU that models a PMU");
	if (!module_path())
		return skip_all("PMURING_KO does not name the module's file");
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(3 * 5 + 4 + 2 * 13);
	refused(QPMU_IGNORE, "registers that ignore writes",
		"no usable PMU: a counter does not keep a value");
	refused(QPMU_FAULT, "registers that fault",
		"no usable PMU: a register cannot be read");
	refused(QPMU_STILL, "counters that do not count",
		"no usable PMU: a counter does not count");
	works_again();
	if (cpu_possible() < 2) {
		skip(2 * 13, "one CPU only");
		return done();
	}
	hotplugged(QPMU_STILL, "counters that do not count",
		   "no usable PMU on CPU 1: a counter does not count");
	hotplugged(QPMU_IGNORE, "registers that ignore writes",
		   "no usable PMU on CPU 1: a counter does not keep a value");
	return done();
}
