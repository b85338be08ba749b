// SPDX-License-Identifier: GPL-2.0
/*
 * A machine with no supported PMU: the module loads, logs this once, and refuses
 * hardware events with the errno that perf uses without a PMU, so that perf's clients
 * fall back. Run only in boots of such a machine
 * (scripts/check/e2e.sh nopmu-*), where finding a PMU is a failure.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"

/* lines_about_pmu - number of module messages about the PMU since the mark */
static unsigned int lines_about_pmu(int log)
{
	unsigned int lines = 0;
	char line[1024];
	ssize_t len;

	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, "pmuring: ") || !strstr(line, "PMU"))
			continue;
		diag("%s", line);
		lines++;
	}
	return lines;
}

static void load(void)
{
	int log;

	if (!module_path()) {
		skip(3, "PMURING_KO does not name the module's file");
		return;
	}
	gives(module_unload(), 0, "the module unloads");
	log = kernel_log_open();
	gives(module_load(), 0, "the module loads without a PMU");
	is(lines_about_pmu(log), 1, "the log says once that there is no PMU");
	close(log);
}

static void refuses(const struct perf_event_attr *attr, pid_t pid, int cpu, int want,
		    const char *what)
{
	int fd = door_open_event(attr, pid, cpu, -1, 0);

	gives(fd, want, "%s: %s", what, strerrorname_np(want));
	if (fd >= 0)
		close(fd);
}

static void events(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);

	for (unsigned int i = 0; i < PERF_COUNT_HW_MAX; i++) {
		attr = hardware(i);
		gives(door_open_event(&attr, 0, -1, -1, 0), ENOENT, "hardware event %u: ENOENT", i);
	}
	attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	refuses(&attr, -1, 0, ENOENT, "cycles of a CPU");
	attr.sample_period = 100003;
	refuses(&attr, 0, -1, ENOENT, "cycles, sampled");
	attr = raw(0xc0);
	refuses(&attr, 0, -1, ENOENT, "a RAW event");

	/* errors that do not depend on the PMU come first */
	attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	attr.sample_type = 1ULL << 63;
	refuses(&attr, 0, -1, EINVAL, "an unknown sample_type");
	attr.sample_type = 0;
	refuses(&attr, 0x3fffffff, -1, ESRCH, "a pid that does not exist");
	refuses(&attr, -1, -1, EINVAL, "pid -1 and cpu -1");
}

int main(void)
{
	struct pmuring_info info;

	plan(3 + 5 + PERF_COUNT_HW_MAX + 6 + 1);
	load();
	info = module_info();
	is(info.vendor, PMURING_VENDOR_NONE, "INFO: no vendor");
	is(info.pmu_version, 0, "INFO: version 0");
	is(info.gp_counters + info.fixed_counters, 0, "INFO: no counters");
	is(info.hardware_events, 0, "INFO: no hardware events");
	is(info.holder, PMURING_HOLDER_NOBODY, "INFO: no holder");
	events();
	is(module_info().events, 0, "no event is left behind");
	return done();
}
