// SPDX-License-Identifier: GPL-2.0
/*
 * The command line of stat. Called by stat.c before anything is open.
 */
#include "options.h"
#include "session.h"
#include "stat.h"
#include "util.h"

/* perf's; whole CPUs have no task whose clock could be read */
#define DEFAULT_EVENTS	"context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses"
#define INTERVAL_MIN	10

static const char stat_doc[] =
	"Count events of a command, tasks or CPUs.\vThe count of an event that shared its counter with others is scaled, and followed by the percentage of the time that it was on a counter. Exits with the status of the command, or with 255 if counting fails.";

static const struct argp_option stat_options[] = {
	{ "event", 'e', "EVENTS", 0, "Count these events, separated by commas; see pmuring record for names and {groups} (default: task-clock," DEFAULT_EVENTS ")", 0 },
	{ "repeat", 'r', "N", 0, "Run the command N times and print the mean and its spread", 0 },
	{ "interval-print", 'I', "MS", 0, "Print the counts every MS milliseconds", 0 },
	{ "field-separator", 'x', "SEP", 0, "Print fields separated by SEP: value, unit, event, ns on a counter, percent of the time on a counter, metric, unit of the metric", 0 },
	{ "output", 'o', "FILE", 0, "Print to FILE (default: standard error)", 0 },
	{ 0 }
};

static int parse_repeat(const char *arg, uint64_t *repeat)
{
	if (!parse_u64(arg, repeat) || !*repeat || *repeat > 1000000)
		return fail("-r %s: give a number of runs", arg);
	return 0;
}

static int parse_interval(const char *arg, uint64_t *interval)
{
	if (!parse_u64(arg, interval) || *interval < INTERVAL_MIN || *interval > 86400000)
		return fail("-I %s: give milliseconds, %d or more", arg, INTERVAL_MIN);
	return 0;
}

static int parse_stat(int key, char *arg, void *data)
{
	struct stat_options *opts = data;

	switch (key) {
	case 'r':
		return parse_repeat(arg, &opts->repeat);
	case 'I':
		return parse_interval(arg, &opts->interval);
	case 'x':
		opts->separator = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int add_default_events(struct stat_options *opts)
{
	const char *clock = target_is_cpus(&opts->target) ? "cpu-clock" : "task-clock";

	return events_add(&opts->events, clock) || events_add(&opts->events, DEFAULT_EVENTS);
}

/* -r repeats what begins and ends by itself */
static int check_repeat(const struct stat_options *opts)
{
	if (opts->repeat > 1 && opts->interval)
		return fail("-r and -I are mutually exclusive");
	if (opts->repeat > 1 && !opts->target.argv)
		return fail("-r needs a command to repeat");
	return 0;
}

/**
 * stat_options_parse - understand the command line
 * @opts: filled in
 * @argc: of the subcommand
 * @argv: of the subcommand
 *
 * Return: 0, or -1 after a message to the user
 */
int stat_options_parse(struct stat_options *opts, int argc, char **argv)
{
	struct command_line line = {
		.name = "pmuring stat",
		.doc = stat_doc,
		.options = stat_options,
		.parse = parse_stat,
		.data = opts,
		.target = &opts->target,
		.events = &opts->events,
		.output = &opts->output,
	};

	*opts = (struct stat_options){ .repeat = 1 };
	if (options_parse(&line, argc, argv) || check_repeat(opts))
		return -1;
	if (!opts->events.nr && add_default_events(opts))
		return -1;
	session_prepare(&opts->target, &opts->events);
	for (size_t i = 0; i < opts->events.nr; i++)
		opts->events.events[i].optional = true;
	return 0;
}
