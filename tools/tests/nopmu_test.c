// SPDX-License-Identifier: GPL-2.0
/*
 * A machine without a PMU that pmuring knows: the module loads, says so once,
 * and hardware events get ENOENT, which lets perf's clients fall back. Runs
 * only in boots of such a machine (scripts/check/e2e.sh nopmu-*), where finding
 * a PMU is a failure.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"

/* log_lines - how many messages that name the module came since the log was opened */
static unsigned int log_lines(int log)
{
	char line[1024];
	unsigned int n = 0;
	ssize_t len;

	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, "pmuring: ") && strstr(line, "PMU")) {
			diag("%s", line);
			n++;
		}
	}
	return n;
}

static void test_load(void)
{
	int log;

	is(module_unload(), 0, "the module unloads");
	log = kernel_log_open();
	is(module_load(), 0, "the module loads without a PMU");
	is(log_lines(log), 1, "and says once that there is none");
	close(log);
}

static void test_info(void)
{
	struct pmuring_info info = module_info();

	is(info.vendor, PMURING_VENDOR_NONE, "INFO: no vendor");
	is(info.pmu_version, 0, "INFO: version 0");
	is(info.gp_counters, 0, "INFO: no general-purpose counters");
	is(info.fixed_counters, 0, "INFO: no fixed counters");
	is(info.hardware_events, 0, "INFO: no hardware events");
}

static void test_hardware(void)
{
	struct perf_event_attr attr;

	for (unsigned int i = 0; i < PERF_COUNT_HW_MAX; i++) {
		attr = hardware(i);
		gives(open_self(&attr), ENOENT, "hardware event %u", i);
	}
	attr = raw(0xc0);
	gives(open_self(&attr), ENOENT, "raw event");
	attr = sampling(PERF_COUNT_HW_CPU_CYCLES, 100003, PERF_SAMPLE_IP);
	gives(open_self(&attr), ENOENT, "sampling event");
	is(module_info().events, 0, "no event is left behind");
}

int main(void)
{
	plan(3 + 5 + PERF_COUNT_HW_MAX + 3);
	test_load();
	test_info();
	test_hardware();
	return done();
}
