// SPDX-License-Identifier: GPL-2.0
/*
 * The two software clocks: samples by their timers, and counts beside the clock of
 * the machine.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static void clock_samples(uint64_t config)
{
	struct perf_event_attr attr = software(config);
	struct tally tally;
	struct ring ring;
	unsigned int n;
	int fd;

	attr.exclude_kernel = 1;
	/* a millisecond */
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	enable(fd);
	work(50000000 / WORK_ROUND);
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	n = tally.number[PERF_RECORD_SAMPLE];
	say("samples=%s size=%u misc=%u", n < 40 ? "few" : n > 60 ? "many" : "about-50",
	    tally.size[PERF_RECORD_SAMPLE], tally.misc[PERF_RECORD_SAMPLE]);
}

static void cpu_clock_samples(void)
{
	clock_samples(PERF_COUNT_SW_CPU_CLOCK);
}

static void task_clock_samples(void)
{
	clock_samples(PERF_COUNT_SW_TASK_CLOCK);
}

/* Counts of time, compared with the machine's clock. */
static void clocks_of(pid_t pid, int cpu)
{
	static const uint64_t configs[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK };
	struct perf_event_attr attr;
	struct count count;
	int fd;

	pin_to(0);
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		attr = software(configs[i]);
		attr.read_format = FORMAT_TIMES;
		fd = must_open(&attr, pid, cpu, -1);
		enable(fd);
		work(1000000);
		usleep(50000);
		disable(fd);
		read_count(fd, &count);
		say("value=%s", count.value < 16000000 ? "less" : count.value < 40000000 ? "busy" :
		    "all");
		say("enabled=%s", count.enabled < 40000000 ? "busy" : "all");
	}
}

static void clocks_of_self(void)
{
	clocks_of(0, -1);
}

static void clocks_of_cpu(void)
{
	clocks_of(-1, 0);
}

static void clocks_elsewhere(void)
{
	clocks_of(0, 1);
}

/* Enable and disable: the time stays exact. */
static void reads_grow(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_TASK_CLOCK);
	uint64_t before, after;
	int fd;

	attr.disabled = 0;
	fd = open_self(&attr);
	before = read_value(fd);
	work(SOME_WORK);
	after = read_value(fd);
	say("grows=%d", after > before);
	disable(fd);
	before = read_value(fd);
	work(SOME_WORK);
	say("off-grows=%d", read_value(fd) > before);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	say("reset=%llu", (unsigned long long)read_value(fd));
}

static const struct simple_case simple[] = {
	{ "cpu-clock-samples", cpu_clock_samples },
	{ "task-clock-samples", task_clock_samples },
	{ "self", clocks_of_self },
	{ "cpu", clocks_of_cpu },
	{ "elsewhere", clocks_elsewhere },
	{ "reads-grow", reads_grow },
};

/**
 * theme_clocks - cpu-clock and task-clock
 */
void theme_clocks(void)
{
	run_simple("clocks", simple, ARRAY_SIZE(simple));
}
