/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of stat share: its options, the counts of a run, and how they
 * are printed.
 */
#ifndef PMURING_TOOL_STAT_H
#define PMURING_TOOL_STAT_H

#include <stdio.h>
#include <sys/resource.h>

#include "evlist.h"
#include "target.h"

/**
 * struct stat_options - the command line
 * @target: what to watch
 * @events: what to count
 * @separator: -x, or NULL
 * @output: -o, or NULL
 * @repeat: -r
 * @interval: -I in ms, or 0
 */
struct stat_options {
	struct target target;
	struct event_list events;
	const char *separator;
	const char *output;
	uint64_t repeat;
	uint64_t interval;
};

/**
 * struct total - an event over all its counters
 * @value: the count, scaled if the event was not always on a counter
 * @enabled: ns, added up
 * @running: ns, added up
 * @spread: standard error of the mean of several runs, in percent of it
 */
struct total {
	double value;
	uint64_t enabled;
	uint64_t running;
	double spread;
};

/**
 * struct stat_result - what is printed at once
 * @totals: of each event
 * @elapsed: how long it took, as a count of seconds
 * @stamp: when this was, in seconds, of an interval
 * @usage: of the command, or NULL
 */
struct stat_result {
	struct total *totals;
	struct total elapsed;
	double stamp;
	const struct rusage *usage;
};

/* stat_options.c */
int stat_options_parse(struct stat_options *opts, int argc, char **argv);

/* stat_count.c */
int stat_read(const struct evlist *evlist, struct reading *last, struct total *totals);
void stat_add(struct total *sum, const struct total *run);
void stat_average(struct total *sum, uint64_t runs);

/* stat_print.c */
void stat_print_head(FILE *to, const struct stat_options *opts);
void stat_print(FILE *to, const struct stat_options *opts, const struct stat_result *result);

/* stat_metric.c */
struct stat_metric {
	double value;
	int decimals;
	char unit[32];
};

bool stat_metric(const struct stat_options *opts, const struct stat_result *result, size_t event,
		 struct stat_metric *metric);
bool stat_is_clock(const struct event *event);

#endif
