// SPDX-License-Identifier: GPL-2.0
/*
 * Quirks of this CPU model's PMU: smallest periods, loads that are multiples of 64,
 * and raw events that are refused because they would count wrongly. make check runs
 * this on several models (scripts/check/e2e.sh).
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define MSR_SELECTOR0	0x186
#define MSR_COUNTER0	0x4c1
#define COUNTERS	8
#define COUNTER_MASK	((1ULL << 48) - 1)

/* INST_RETIRED with umask 01H, which has errata of its own */
#define RETIRED		0x01c0

#define SOME_PERIOD	1001
/* fewer samples than the limit of a tick allows */
#define ROUNDS		10000

struct model {
	const char *name;
	unsigned int number;
	uint64_t period_min;
	uint64_t retired_min;
	uint64_t retired_step;
	bool notice;
	/* one that is refused, one that is not */
	uint64_t refused;
	uint64_t allowed;
};

static const struct model models[] = {
	{ "Skylake", 0x5e, 1, 1, 1, false, 0x01c6, 0x02c6 },
	{ "Haswell", 0x3c, 32, 128, 1, true, 0x01cd, 0x01c6 },
	{ "Broadwell", 0x3d, 1, 128, 64, false, 0x01b7, 0x01c6 },
	{ "Nehalem", 0x1a, 32, 32, 1, true, 0x100b, 0x01bb },
};

/* All of these are of family 6. */
static const struct model *find_model(void)
{
	unsigned int eax = 0, ebx, ecx, edx, number;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	if ((eax >> 8 & 0xf) != 6)
		return NULL;
	number = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (models[i].number == number)
			return &models[i];
	return NULL;
}

static struct perf_event_attr sampled(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = raw(config);

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_PERIOD;
	return attr;
}

static int try_open(const struct perf_event_attr *attr)
{
	int fd = door_open_event(attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void check_period(const char *what, uint64_t config, uint64_t min)
{
	struct perf_event_attr attr = sampled(config, min);
	uint64_t period = min - 1;
	int fd = open_self(&attr);

	ok(fd >= 0, "%s: period %llu opens", what, (unsigned long long)min);
	gives(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL,
	      "PERIOD refuses a period below the minimum");
	period = min;
	gives(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0, "PERIOD accepts the smallest period");
	close(fd);
	attr.sample_period = min - 1;
	gives(try_open(&attr), min > 1 ? EINVAL : 0,
	      "an open below the smallest period is refused, except 0");
	attr.sample_period = 1;
	attr.freq = 1;
	gives(try_open(&attr), 0, "the smallest period does not apply to a frequency");
}

/* The initial load of an event on CPU 0 that counts nothing, or 0. */
static uint64_t load_of(uint64_t period)
{
	struct perf_event_attr attr = sampled(RETIRED, period);
	uint64_t selector, value, load = 0;
	int fd;

	attr.exclude_user = 1;
	attr.exclude_kernel = 1;
	attr.disabled = 0;
	fd = open_event(&attr, -1, 0);
	for (int i = 0; i < COUNTERS; i++)
		if (msr_read(0, MSR_SELECTOR0 + i, &selector) && (selector & 0xffff) == RETIRED &&
		    msr_read(0, MSR_COUNTER0 + i, &value))
			load = -value & COUNTER_MASK;
	close(fd);
	return load;
}

static void check_loads(const struct model *model)
{
	uint64_t step = model->retired_step;

	if (!load_of(SOME_PERIOD)) {
		skip(2, "no msr driver");
		return;
	}
	is(load_of(SOME_PERIOD), (SOME_PERIOD + step - 1) / step * step,
	   "a counter of INST_RETIRED is loaded with a multiple of %llu",
	   (unsigned long long)step);
	is(load_of(model->retired_min > 2 ? model->retired_min : 2),
	   model->retired_min > 2 ? model->retired_min : 2,
	   "INST_RETIRED is loaded with the smallest period");
}

static void add_period(const struct record *rec, void *sum)
{
	if (rec->header.type == PERF_RECORD_SAMPLE)
		*(uint64_t *)sum += rec->field[0];
}

/* The samples add up to the count, whatever the load of the counter. */
static void check_sum(const struct model *model)
{
	struct perf_event_attr attr = sampled(RETIRED, SOME_PERIOD);
	uint64_t sum = 0, count;
	struct tally tally;
	struct ring ring;
	int fd;

	if (!machine_is_exact()) {
		skip(3, "PMIs come late by an unknown number of events");
		return;
	}
	fd = open_self(&attr);
	map_ring(&ring, fd, 64);
	work_counted(fd, ROUNDS);
	count = read_value(fd);
	tally = drain(&ring, add_period, &sum);
	is(tally.lost, 0, "period %d: no sample is lost", SOME_PERIOD);
	is(sum, tally.samples * SOME_PERIOD, "each sample covers one period");
	ok(sum <= count && count - sum < SOME_PERIOD + model->retired_step,
	   "the samples cover all but the last period: %llu of %llu",
	   (unsigned long long)sum, (unsigned long long)count);
	ring_unmap(&ring);
	close(fd);
}

static void check_events(const struct model *model)
{
	struct perf_event_attr attr = raw(model->refused);

	gives(try_open(&attr), EINVAL, "event %04llx needs a further register: EINVAL",
	      (unsigned long long)model->refused);
	attr = raw(model->allowed);
	gives(try_open(&attr), 0, "event %04llx needs no further register and opens",
	      (unsigned long long)model->allowed);
	attr = raw(0x0400);
	gives(try_open(&attr), EINVAL, "event 0400 does not exist: EINVAL");
}

static void check_notice(const struct model *model)
{
	char line[1024], *found = NULL;
	ssize_t len;
	int log;

	if (!module_path()) {
		skip(1, "PMURING_KO does not name the module's file");
		return;
	}
	module_unload();
	log = kernel_log_open();
	module_load();
	while (!found && (len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		if (strstr(line, "pmuring: "))
			found = strstr(line, "errat");
	}
	close(log);
	is(!!found, model->notice, "the module logs the errata of %s%s", model->name,
	   model->notice ? "" : ": none");
}

int main(void)
{
	const struct model *model = find_model();

	if (!model || !pmu_is_there())
		return skip_all("no PMU, or a CPU model without expectations");
	plan(19);
	check_notice(model);
	check_period("instructions", 0x00c0, model->period_min);
	check_period("INST_RETIRED", RETIRED, model->retired_min);
	check_loads(model);
	check_sum(model);
	check_events(model);
	return done();
}
