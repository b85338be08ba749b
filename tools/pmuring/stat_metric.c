// SPDX-License-Identifier: GPL-2.0
/*
 * What perf prints behind a count: its relation to another one, or to the time.
 * Called by stat_print.c.
 */
#include <stdio.h>
#include <string.h>

#include "stat.h"
#include "util.h"

static bool is_hardware(const struct event *event, uint64_t config)
{
	return event->attr.type == PERF_TYPE_HARDWARE && event->attr.config == config;
}

/** stat_is_clock - whether an event counts nanoseconds */
bool stat_is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE &&
	       (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* the events that are seen relative to another one */
static const struct {
	uint64_t config;
	uint64_t base;
	double factor;
	const char *unit;
} ratios[] = {
	{ PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1, " insn per cycle" },
	{ PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100,
	  "% of all branches" },
	{ PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100,
	  "% of all cache refs" },
};

static bool relate(const struct stat_options *opts, const struct stat_result *result,
		   size_t event, uint64_t base, struct stat_metric *metric)
{
	const struct event *events = opts->events.events;

	for (size_t i = 0; i < opts->events.nr; i++) {
		if (!is_hardware(&events[i], base) || !result->totals[i].value ||
		    events[i].attr.exclude_user != events[event].attr.exclude_user ||
		    events[i].attr.exclude_kernel != events[event].attr.exclude_kernel)
			continue;
		metric->value *= result->totals[event].value / result->totals[i].value;
		return true;
	}
	return false;
}

static bool ratio(const struct stat_options *opts, const struct stat_result *result, size_t event,
		  struct stat_metric *metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(ratios); i++) {
		if (!is_hardware(&opts->events.events[event], ratios[i].config))
			continue;
		*metric = (struct stat_metric){ .value = ratios[i].factor, .decimals = 2 };
		snprintf(metric->unit, sizeof(metric->unit), "%s", ratios[i].unit);
		return relate(opts, result, event, ratios[i].base, metric);
	}
	return false;
}

static bool per_second(double nanoseconds, double count, struct stat_metric *metric)
{
	static const char prefixes[] = " KMG";
	size_t p = 0;

	for (metric->value = count / nanoseconds * 1e9; metric->value >= 1000 && p < 3; p++)
		metric->value /= 1000;
	snprintf(metric->unit, sizeof(metric->unit), p ? "%c/sec" : "/sec", prefixes[p]);
	return true;
}

/**
 * stat_metric - what is worth knowing about a count
 * @opts: what is counted
 * @result: what was counted
 * @event: the event
 * @metric: filled in
 *
 * Return: false if there is nothing
 */
bool stat_metric(const struct stat_options *opts, const struct stat_result *result, size_t event,
		 struct stat_metric *metric)
{
	const struct event *events = opts->events.events;
	double count = result->totals[event].value;

	*metric = (struct stat_metric){ .decimals = 3 };
	if (stat_is_clock(&events[event])) {
		metric->value = result->elapsed.value ? count / 1e9 / result->elapsed.value : 0;
		strcpy(metric->unit, "CPUs utilized");
		return true;
	}
	if (ratio(opts, result, event, metric))
		return true;
	metric->decimals = 3;
	for (size_t i = 0; i < opts->events.nr; i++) {
		double clock = result->totals[i].value;

		if (!stat_is_clock(&events[i]) || !clock)
			continue;
		if (!is_hardware(&events[event], PERF_COUNT_HW_CPU_CYCLES))
			return per_second(clock, count, metric);
		metric->value = count / clock;
		strcpy(metric->unit, "GHz");
		return true;
	}
	return false;
}
