// SPDX-License-Identifier: GPL-2.0
/*
 * The rate limit: an event below max_sample_rate loses nothing, and an event above it
 * gets the limit in each tick.
 */
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define SECOND	1000000000ULL

/* what the records of one event say */
struct story {
	uint64_t samples;
	uint64_t throttles;
	uint64_t unthrottles;
	uint64_t periods;
	uint64_t last_time;
	uint64_t longest_gap;
};

static uint64_t tick_ns(void)
{
	struct timespec tick;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	return tick.tv_nsec;
}

static void note(const struct record *rec, void *data)
{
	struct story *story = data;

	story->throttles += rec->header.type == PERF_RECORD_THROTTLE;
	story->unthrottles += rec->header.type == PERF_RECORD_UNTHROTTLE;
	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	if (story->samples++ && rec->field[0] - story->last_time > story->longest_gap)
		story->longest_gap = rec->field[0] - story->last_time;
	story->last_time = rec->field[0];
	story->periods += rec->field[1];
}

static void set_limit(uint64_t limit)
{
	if (!module_set_parameter("max_sample_rate", limit))
		bail_out("max_sample_rate");
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/**
 * struct outcome - results of one event
 * @story: its records
 * @value: its count
 * @running: ns for which it counted
 * @passed: ns from before to after
 */
struct outcome {
	struct story story;
	uint64_t value;
	uint64_t running;
	uint64_t passed;
};

static void spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		work(100);
}

static void rest(uint64_t ns)
{
	sleep_ms(ns / 1000000);
}

static struct outcome sample(struct perf_event_attr *attr, pid_t pid, int cpu, uint64_t ns,
			     void (*pass)(uint64_t ns))
{
	struct outcome outcome = { 0 };
	struct count count;
	struct ring ring;
	int fd;

	attr->sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_event(attr, pid, cpu);
	map_ring(&ring, fd, 256);
	outcome.passed = now_ns();
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	pass(ns);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	outcome.passed = now_ns() - outcome.passed;
	count = read_count(fd);
	outcome.value = count.value;
	outcome.running = count.running;
	if (drain(&ring, note, &outcome.story).lost)
		bail_out("the ring is too small");
	ring_unmap(&ring);
	close(fd);
	return outcome;
}

/*
 * Sample a busy task and an idle CPU with the clock at the limit. A sample covers all
 * periods that ended while interrupts were off.
 */
static void at_the_limit(uint64_t limit, bool busy)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t ns = busy ? SECOND / 10 : 2 * SECOND, due;
	struct outcome out;

	set_limit(limit);
	attr.freq = 1;
	attr.sample_freq = limit;
	out = busy ? sample(&attr, 0, -1, ns, spin) : sample(&attr, -1, 0, ns, rest);
	due = out.value / (SECOND / limit);
	between(out.story.periods / (SECOND / limit), due - least(due, 1), due,
		"limit %llu, requested on %s: all of %llu samples", (unsigned long long)limit,
		busy ? "a busy task" : "an idle CPU", (unsigned long long)due);
	is(out.story.throttles, 0, "an event at the limit is never throttled");
}

/*
 * What the limit allows in the time, or what was asked for; ticks in which others ran
 * fill the budget as well. A tick's samples may be outstanding at the end; the first
 * sample finds two ticks' samples, and one more boundary may lie in the time than whole
 * ticks.
 */
static void get_the_limit(const struct outcome *out, uint64_t limit, uint64_t asked, const char *what)
{
	uint64_t tick = tick_ns();
	uint64_t due = least(limit * out->running / SECOND, asked);
	uint64_t most = least(limit * out->passed / SECOND, asked);
	uint64_t per_tick = limit * tick / SECOND + 1;

	between(out->story.samples, due - least(due, per_tick + 1), most + 3 * per_tick + 1,
		"limit %llu, %s: %llu asked for, %llu due", (unsigned long long)limit, what,
		(unsigned long long)asked, (unsigned long long)due);
}

static void clock_beyond(uint64_t limit, unsigned int percent)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t wait = limit < SECOND / tick_ns() ? SECOND / limit : tick_ns();
	struct outcome out;

	set_limit(limit);
	attr.sample_period = SECOND * 100 / percent / limit;
	out = sample(&attr, -1, 0, 2 * SECOND, rest);
	get_the_limit(&out, limit, out.value / attr.sample_period, "clock");
	if (out.story.samples > 2)
		between(out.story.longest_gap, 1, wait + 2 * tick_ns(),
			"a throttled event samples in each tick");
	else
		skip(1, "too few samples");
	between(out.story.throttles - out.story.unthrottles, 0, 1,
		"THROTTLE and UNTHROTTLE come in pairs");
}

static void instructions(uint64_t limit, unsigned int percent)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 0, 0);
	struct outcome out;

	set_limit(limit);
	attr.sample_period = SECOND * 100 / percent / limit;
	out = sample(&attr, 0, -1, SECOND / 10, spin);
	get_the_limit(&out, limit, out.value / attr.sample_period, "instructions");
}

int main(void)
{
	static const uint64_t limits[] = { 1, 100, 250, 251, 1000, 4000, 10000 };
	static const unsigned int percents[] = { 102, 110, 150, 300, 2000 };
	static const unsigned int hardware[] = { 80, 110, 150, 300, 2000 };
	long before = module_parameter("max_sample_rate");
	bool pmu = pmu_is_there();

	plan(2 * 2 + 2 * ARRAY_SIZE(limits) + 3 * ARRAY_SIZE(limits) * ARRAY_SIZE(percents) +
	     ARRAY_SIZE(hardware));
	cpu_pin(0);
	at_the_limit(4000, true);
	at_the_limit(10000, true);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		at_the_limit(limits[i], false);
		for (size_t j = 0; j < ARRAY_SIZE(percents); j++)
			clock_beyond(limits[i], percents[j]);
	}
	if (!pmu)
		skip(ARRAY_SIZE(hardware), "no PMU");
	for (size_t i = 0; pmu && i < ARRAY_SIZE(hardware); i++)
		instructions(4000, hardware[i]);
	module_set_parameter("max_sample_rate", before);
	return done();
}
