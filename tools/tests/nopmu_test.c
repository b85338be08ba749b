// SPDX-License-Identifier: GPL-2.0
/*
 * A machine whose PMU the module does not drive: it loads, says so, and answers
 * hardware events as perf does on a machine without a PMU.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"

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

	refuses(&attr, 0, -1, ENOENT, "cycles of the caller");
	refuses(&attr, -1, 0, ENOENT, "cycles of a CPU");
	attr.sample_period = 100003;
	refuses(&attr, 0, -1, ENOENT, "cycles, sampled");
	attr = raw(0xc0);
	refuses(&attr, 0, -1, ENOENT, "a RAW event");

	/* what is wrong with any PMU is found before it is missed */
	attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	attr.sample_type = 1ULL << 63;
	refuses(&attr, 0, -1, EINVAL, "an unknown sample_type");
	attr.sample_type = 0;
	refuses(&attr, 0x3fffffff, -1, ESRCH, "a pid that never was");
	refuses(&attr, -1, -1, EINVAL, "pid -1 and cpu -1");
}

int main(void)
{
	struct pmuring_info info;

	if (pmu_is_there())
		return skip_all("there is a PMU here");
	plan(3 + 7);
	info = module_info();
	is(info.gp_counters + info.fixed_counters, 0, "INFO: no counters");
	is(info.hardware_events, 0, "  no hardware events");
	is(info.holder, PMURING_HOLDER_NOBODY, "  which nobody holds");
	events();
	return done();
}
