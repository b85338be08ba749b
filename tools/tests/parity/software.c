// SPDX-License-Identifier: GPL-2.0
/*
 * Software events: counts and samples of known actions.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define FAULTS	100

static void touch_pages(void)
{
	char *pages = mmap(NULL, FAULTS * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < FAULTS; i++)
		((volatile char *)pages)[i * 4096] = 1;
	munmap(pages, FAULTS * 4096);
}

static void touch_pages_of(void *data)
{
	(void)data;
	touch_pages();
}

static void sleep_often(void)
{
	for (int i = 0; i < 10; i++)
		usleep(100);
}

static void migrate(void)
{
	for (int i = 0; i < 10; i++)
		pin_to(i % 2);
}

static void compute(void)
{
	work(SOME_WORK);
}

static const struct {
	const char *name;
	uint64_t config;
	void (*act)(void);
	/* events per action; 0: only test whether it counts */
	unsigned int deeds;
} cases[] = {
	{ "page-faults", PERF_COUNT_SW_PAGE_FAULTS, touch_pages, FAULTS },
	{ "minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, touch_pages, FAULTS },
	{ "major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, touch_pages, 0 },
	{ "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, sleep_often, 10 },
	{ "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, migrate, 9 },
	{ "cpu-clock", PERF_COUNT_SW_CPU_CLOCK, compute, 0 },
	{ "task-clock", PERF_COUNT_SW_TASK_CLOCK, compute, 0 },
	{ "alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, compute, 0 },
	{ "emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, compute, 0 },
	{ "dummy", PERF_COUNT_SW_DUMMY, compute, 0 },
};

static void say_deeds(uint64_t value, unsigned int deeds)
{
	if (!deeds)
		say("count=%s", value ? "some" : "none");
	else if (value >= deeds && value < deeds + 3)
		say("count=as-done");
	else
		say("count=%llu", (unsigned long long)value);
}

static void count_mode(size_t i, bool user, bool kernel)
{
	struct perf_event_attr attr = software(cases[i].config);
	int fd;

	attr.exclude_user = !user;
	attr.exclude_kernel = !kernel;
	fd = open_self(&attr);
	pin_to(1);
	/* run it once before, so that only the action itself is new */
	cases[i].act();
	enable(fd);
	cases[i].act();
	disable(fd);
	say_deeds(read_value(fd), cases[i].deeds);
}

static void count_all(const void *arg)
{
	count_mode(*(const size_t *)arg, true, true);
}

static void count_user(const void *arg)
{
	count_mode(*(const size_t *)arg, true, false);
}

static void count_kernel(const void *arg)
{
	count_mode(*(const size_t *)arg, false, true);
}

/* Samples of each event with a period of one. */
static void sample(const void *arg)
{
	size_t i = *(const size_t *)arg;
	struct perf_event_attr attr = software(cases[i].config);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD;
	if (!strcmp(cases[i].name, "cpu-clock") || !strcmp(cases[i].name, "task-clock"))
		attr.sample_period = 1000000000;
	fd = open_self(&attr);
	must_map(&ring, fd, 64);
	pin_to(1);
	cases[i].act();
	enable(fd);
	cases[i].act();
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say_deeds(tally.number[PERF_RECORD_SAMPLE], cases[i].deeds);
	say("size=%u", tally.size[PERF_RECORD_SAMPLE]);
}

static void check_address(const struct perf_event_header *rec, void *data)
{
	const uint64_t *words = (const uint64_t *)(rec + 1);
	const uint64_t *range = data;

	if (rec->type == PERF_RECORD_SAMPLE && words[0] >= range[0] && words[0] < range[1])
		((uint64_t *)data)[2]++;
}

/* The address of a fault. */
static void fault_address(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t range[3] = {};
	struct tally tally;
	struct ring ring;
	char *pages;
	int fd;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	pages = mmap(NULL, FAULTS * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range[0] = (uintptr_t)pages;
	range[1] = range[0] + FAULTS * 4096;
	enable(fd);
	for (size_t i = 0; i < FAULTS; i++)
		((volatile char *)pages)[i * 4096 + i] = 1;
	disable(fd);
	drain(&ring, &tally, check_address, range);
	say("in-range=%llu", (unsigned long long)range[2]);
}

/* A period longer than one, and its rest. */
static void period(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.sample_period = period;
	attr.sample_type = sample_type;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	touch_pages();
	enable(fd);
	touch_pages();
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say_samples(&tally);
}

static void period_7(void)
{
	period(7, PERF_SAMPLE_IP);
}

static void period_50(void)
{
	period(50, PERF_SAMPLE_IP);
}

static void period_1000(void)
{
	period(1000, PERF_SAMPLE_IP);
}

/* With PERF_SAMPLE_PERIOD each fault is sampled. */
static void period_7_told(void)
{
	period(7, PERF_SAMPLE_PERIOD);
}

static void faults_of_child(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = open_self(&attr);
	run_child(touch_pages_of, NULL);
	say("faults=%d", read_value(fd) >= FAULTS);
}

static void cpu_wide_switches(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd;

	pin_to(0);
	attr.disabled = 0;
	fd = must_open(&attr, -1, 0, -1);
	sleep_often();
	say("switches=%d", read_value(fd) >= 20);
}

static const struct simple_case simple[] = {
	{ "fault-address", fault_address },
	{ "period-7", period_7 },
	{ "period-50", period_50 },
	{ "period-1000", period_1000 },
	{ "period-7-told", period_7_told },
	{ "faults-of-child", faults_of_child },
	{ "cpu-wide-switches", cpu_wide_switches },
};

/**
 * theme_software - software events
 */
void theme_software(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run_case("software-all", cases[i].name, count_all, &i);
		run_case("software-user", cases[i].name, count_user, &i);
		run_case("software-kernel", cases[i].name, count_kernel, &i);
		run_case("software-sample", cases[i].name, sample, &i);
	}
	run_simple("software", simple, ARRAY_SIZE(simple));
}
