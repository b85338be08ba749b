// SPDX-License-Identifier: GPL-2.0
/*
 * Features of perf that pmuring does not implement are refused with EOPNOTSUPP, or
 * with EINVAL if perf's clients fall back on that. They are never ignored silently.
 * Attributes without effect here are accepted.
 *
 * Every attribute here opens on the kernel's own perf, or is refused by it for
 * want of hardware.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define EVENT(...)							\
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,	\
	  .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, __VA_ARGS__ }

#define SAMPLES(...) EVENT(.sample_period = 100003, __VA_ARGS__)

/* the initializers above are overridden on purpose */
#pragma GCC diagnostic ignored "-Woverride-init"

struct feature {
	const char *what;
	struct perf_event_attr attr;
	int want;
};

static const struct feature features[] = {
	/* signals to the task */
	{ "sigtrap", SAMPLES(.sigtrap = 1, .remove_on_exec = 1), EOPNOTSUPP },

	/* further sample fields */
	{ "sample BRANCH_STACK",
	  SAMPLES(.sample_type = PERF_SAMPLE_BRANCH_STACK,
		  .branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER),
	  EOPNOTSUPP },
	{ "sample REGS_USER", SAMPLES(.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1),
	  EOPNOTSUPP },
	{ "sample STACK_USER",
	  SAMPLES(.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 1024), EOPNOTSUPP },
	{ "sample REGS_INTR", SAMPLES(.sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 1),
	  EOPNOTSUPP },
	{ "sample PHYS_ADDR", SAMPLES(.sample_type = PERF_SAMPLE_PHYS_ADDR), EOPNOTSUPP },
	{ "sample AUX", SAMPLES(.sample_type = PERF_SAMPLE_AUX), EOPNOTSUPP },
	{ "sample CGROUP", SAMPLES(.sample_type = PERF_SAMPLE_CGROUP), EINVAL },
	{ "sample DATA_PAGE_SIZE", SAMPLES(.sample_type = PERF_SAMPLE_DATA_PAGE_SIZE), EINVAL },
	{ "sample CODE_PAGE_SIZE", SAMPLES(.sample_type = PERF_SAMPLE_CODE_PAGE_SIZE), EINVAL },
	{ "precise_ip 1", SAMPLES(.precise_ip = 1), EOPNOTSUPP },
	{ "precise_ip 3", SAMPLES(.precise_ip = 3), EOPNOTSUPP },

	/* records beside samples */
	{ "namespaces", EVENT(.namespaces = 1), EINVAL },
	{ "cgroup", EVENT(.cgroup = 1), EINVAL },
	{ "text_poke", EVENT(.text_poke = 1, .exclude_kernel = 0), EINVAL },
	{ "build_id", EVENT(.mmap = 1, .mmap2 = 1, .build_id = 1), EINVAL },

	/* how it is scheduled */
	{ "exclude_host", EVENT(.exclude_host = 1), EOPNOTSUPP },

	/* how the ring is filled */
	{ "aux_output", SAMPLES(.aux_output = 1), EINVAL },

	/* accepted: without effect here, or built */
	{ "sigtrap without remove_on_exec", SAMPLES(.sigtrap = 1), EINVAL },
	{ "ksymbol, which perf sets by default", EVENT(.ksymbol = 1), 0 },
	{ "bpf_event, which perf sets by default", EVENT(.bpf_event = 1), 0 },
	{ "exclude_idle", EVENT(.exclude_idle = 1), 0 },
	{ "exclude_guest", EVENT(.exclude_guest = 1), 0 },
	{ "exclude_hv 0", EVENT(.exclude_hv = 0), 0 },
	{ "sample_id_all", SAMPLES(.sample_id_all = 1), 0 },
	{ "watermark", SAMPLES(.watermark = 1, .wakeup_watermark = 4096), 0 },
	{ "a period of 2^63 - 1", EVENT(.sample_period = (1ULL << 63) - 1), 0 },
	{ "sample_max_stack without CALLCHAIN", SAMPLES(.sample_max_stack = 65535), 0 },
	{ "use_clockid MONOTONIC", SAMPLES(.use_clockid = 1, .clockid = CLOCK_MONOTONIC), 0 },
	{ "use_clockid MONOTONIC_RAW",
	  SAMPLES(.use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW), 0 },
};

static void table(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct perf_event_attr attr = features[i].attr;
		int fd;

		attr.size = sizeof(attr);
		fd = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		gives(fd, features[i].want, "%s: %s", features[i].what,
		      features[i].want ? strerrorname_np(features[i].want) : "opens");
		if (fd >= 0)
			close(fd);
	}
}

/* TIME is from the requested clock */
static void clock_of_samples(clockid_t clock, const char *what)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 100003,
					       PERF_SAMPLE_TIME);
	const struct perf_event_header *header;
	struct timespec before, after;
	uint64_t low, high, n = 0, wrong = 0;
	struct ring ring;
	int fd;

	attr.use_clockid = 1;
	attr.clockid = clock;
	fd = open_self(&attr);
	map_ring(&ring, fd, 8);
	clock_gettime(clock, &before);
	work_counted(fd, 100000);
	clock_gettime(clock, &after);
	low = before.tv_sec * 1000000000ULL + before.tv_nsec;
	high = after.tv_sec * 1000000000ULL + after.tv_nsec;
	while (ring_next(&ring, &header) > 0) {
		uint64_t time = ((const struct record *)header)->field[0];

		n++;
		wrong += time < low || time > high;
	}
	ok(n && !wrong, "%s: the time of %llu samples is from this clock", what,
	   (unsigned long long)n);
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(ARRAY_SIZE(features) + 2);
	table();
	clock_of_samples(CLOCK_MONOTONIC, "MONOTONIC");
	clock_of_samples(CLOCK_MONOTONIC_RAW, "MONOTONIC_RAW");
	return done();
}
