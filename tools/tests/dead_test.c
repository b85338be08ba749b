// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU that CPUID lists and that does not work: as under a hypervisor that ignores
 * its registers or faults, or whose counters stand still. The module loads, says so in
 * one line, and hardware events get ENOENT; when the PMU works again, so does the
 * module. Needs the PMU-modelling QEMU, which fails on request.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS	1000
#define LENGTH	(ROUNDS * WORK_ROUND + WORK_TAIL)

/* lines_with - how many messages since the mark contain a text */
static unsigned int lines_with(int log, const char *text)
{
	unsigned int lines = 0;
	char line[1024];
	ssize_t len;

	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, text))
			continue;
		diag("%s", line);
		lines++;
	}
	return lines;
}

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
	gives(module_load(), 0, "  it loads again");
	is(lines_with(log, why), 1, "  and says why there is no PMU, once");
	close(log);
	is(module_info().vendor, PMURING_VENDOR_NONE, "  INFO: no PMU");
	gives(door_open_event(&attr, 0, -1, -1, 0), ENOENT, "  hardware events: ENOENT");
	pmu_becomes(QPMU_ALIVE);
}

static void works_again(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	gives(module_unload(), 0, "a PMU that works: the module unloads");
	gives(module_load(), 0, "  it loads again");
	for (int cpu = 0; cpu < 2; cpu++) {
		cpu_pin(cpu % cpu_possible());
		fd = open_self(&attr);
		work_counted(fd, ROUNDS);
		is(read_value(fd), LENGTH, "  and counts right on CPU %d", cpu);
		close(fd);
	}
}

int main(void)
{
	if (!machine_is_exact())
		return skip_all("not the QEMU that models a PMU");
	if (!module_path())
		return skip_all("PMURING_KO does not name the module's file");
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(3 * 5 + 4);
	refused(QPMU_IGNORE, "registers that swallow writes",
		"no usable PMU: a counter does not keep a value");
	refused(QPMU_FAULT, "registers that fault",
		"no usable PMU: a register cannot be read");
	refused(QPMU_STILL, "counters that stand still",
		"no usable PMU: a counter does not count");
	works_again();
	return done();
}
