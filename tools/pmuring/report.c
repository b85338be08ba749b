// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring report: reads a perf.data file and prints where the samples were.
 * Reading is perfdata_read.c, names are resolve.c, the table is hist.c.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "hist.h"
#include "machine.h"
#include "perfdata_read.h"
#include "resolve.h"
#include "util.h"

struct report_options {
	const char *input;
	const char *kallsyms;
	struct sort_order order;
	struct hist_style style;
};

/**
 * struct report - a report in the making
 * @hists: one per event
 * @last_counts: of each ID of each event, as the last sample that read it says
 * @lost: as LOST records tell, which the ring's writer made on the way
 * @lost_samples: as LOST_SAMPLES records tell, made from what read() said in
 *	the end: all of the former, and those behind the last record
 */
struct report {
	const struct report_options *opts;
	struct perfdata_in in;
	struct machine machine;
	struct resolver resolver;
	struct hist *hists;
	uint64_t **last_counts;
	uint64_t lost;
	uint64_t lost_samples;
	uint64_t throttled;
};

#define KEY_PERCENT	1000
#define KEY_KALLSYMS	1001
#define KEY_STDIO	1002
#define KEY_NO_CHILDREN	1003

static const struct argp_option report_options[] = {
	{ "input", 'i', "FILE", 0, "Read FILE (default: perf.data)", 0 },
	{ "sort", 's', "KEYS", 0, "Sort by these keys, in this order: comm, dso, symbol (default: all three)", 0 },
	{ "show-nr-samples", 'n', NULL, 0, "Print the number of samples of each line", 0 },
	{ "percent-limit", KEY_PERCENT, "PERCENT", 0, "Omit lines with a smaller share (default: 0.05)", 0 },
	{ "call-graph", 'g', "none", OPTION_ARG_OPTIONAL, "Print the call chains below each line, the default if the file has any; none omits them", 0 },
	{ "no-children", KEY_NO_CHILDREN, NULL, 0, "Count a sample for the function it hit and not for its callers, which is always done", 0 },
	{ "kallsyms", KEY_KALLSYMS, "FILE", 0, "Read the kernel's symbols from FILE, a copy of its /proc/kallsyms (default: the input's name with .kallsyms if that exists, else the running kernel's)", 0 },
	{ "stdio", KEY_STDIO, NULL, 0, "Print to standard output, the only interface", 0 },
	{ 0 }
};

static error_t parse_report(int key, char *arg, struct argp_state *state)
{
	struct report_options *opts = state->input;
	char *end;

	switch (key) {
	case 'i':
		opts->input = arg;
		return 0;
	case 's':
		if (sort_order_parse(&opts->order, arg))
			exit(EXIT_TOOL);
		return 0;
	case 'n':
		opts->style.samples = true;
		return 0;
	case KEY_PERCENT:
		opts->style.percent_limit = strtod(arg, &end);
		if (end == arg || *end || !(opts->style.percent_limit >= 0))
			argp_error(state, "--percent-limit %s: give a number", arg);
		return 0;
	case 'g':
		opts->style.callers = !arg || strcmp(arg, "none");
		return 0;
	case KEY_KALLSYMS:
		opts->kallsyms = arg;
		return 0;
	case KEY_STDIO:
	case KEY_NO_CHILDREN:
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp report_argp = {
	.options = report_options,
	.parser = parse_report,
	.doc = "Print where the samples of a perf.data file were taken: the share of each function, command and object.\vA function without a symbol is called sub_ADDRESS, after the address in its file where it starts.",
};

/* from the function that was hit outwards */
static void add_chain(struct report *report, const struct record *rec,
		      const struct sample_rest *rest, struct hist_entry *entry, uint64_t period)
{
	unsigned int mode = sample_mode(rec->header);
	struct caller *caller = &entry->callers;
	struct location where;
	bool exact = true;

	for (size_t i = 0; i < rest->nr_chain; i++) {
		uint64_t ip = rest->chain[i];

		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = ip == (uint64_t)PERF_CONTEXT_KERNEL ? PERF_RECORD_MISC_KERNEL :
			       ip == (uint64_t)PERF_CONTEXT_USER ? PERF_RECORD_MISC_USER :
								   PERF_RECORD_MISC_CPUMODE_UNKNOWN;
			exact = true;
			continue;
		}
		/* where it returns to may be the next function already */
		resolve(&report->resolver, mode, rec->sample.pid, ip - !exact, &where);
		caller = callers_add(caller, where.symbol, period);
		exact = false;
	}
}

static void account(struct report *report, const struct record *rec,
		    const struct sample_rest *rest, size_t event, uint64_t period)
{
	struct hist_entry *entry;
	struct location where;

	resolve(&report->resolver, sample_mode(rec->header), rec->sample.pid, rec->sample.ip,
		&where);
	entry = hist_add(&report->hists[event], &report->opts->order,
			 machine_comm(&report->machine, &rec->sample), &where, period);
	add_chain(report, rec, rest, entry, period);
}

/* what each event of the group counted since the last sample that read it */
static void account_group(struct report *report, const struct record *rec,
			  const struct sample_rest *rest)
{
	for (size_t i = 0; i < rest->nr_counts; i++) {
		const uint64_t *count = rest->counts + i * rest->count_step;
		size_t event, index;
		uint64_t *last;

		if (!perfdata_find_id(&report->in, count[1], &event, &index))
			continue;
		last = &report->last_counts[event][index];
		if (count[0] != *last)
			account(report, rec, rest, event, count[0] - *last);
		*last = count[0];
	}
}

static void see_sample(struct report *report, const struct record *rec)
{
	const struct perf_event_attr *attr = &report->in.events[rec->event].attr;
	struct sample_rest rest;
	uint64_t period = 1;

	sample_rest_parse(rec->header, attr, &rest);
	if (rest.nr_counts) {
		account_group(report, rec, &rest);
		return;
	}
	if (rec->sample.present & PERF_SAMPLE_PERIOD)
		period = rec->sample.period;
	else if (!attr->freq)
		period = attr->sample_period;
	account(report, rec, &rest, rec->event, period);
}

static int see_record(void *ctx, const struct record *rec)
{
	struct report *report = ctx;

	switch (rec->header->type) {
	case PERF_RECORD_SAMPLE:
		see_sample(report, rec);
		break;
	case PERF_RECORD_LOST:
		if (rec->header->size >= sizeof(struct record_lost))
			report->lost += ((const struct record_lost *)rec->header)->lost;
		break;
	case PERF_RECORD_LOST_SAMPLES:
		if (rec->header->size >= sizeof(struct record_lost_samples))
			report->lost_samples +=
				((const struct record_lost_samples *)rec->header)->lost;
		break;
	case PERF_RECORD_THROTTLE:
		report->throttled++;
		break;
	default:
		machine_see(&report->machine, rec);
		break;
	}
	return 0;
}

static void print_totals(const struct report *report)
{
	uint64_t samples = 0, unnamed = 0;
	uint64_t lost = report->lost > report->lost_samples ? report->lost :
							      report->lost_samples;

	for (size_t i = 0; i < report->in.nr_events; i++) {
		samples += report->hists[i].samples;
		unnamed += report->hists[i].unnamed;
	}
	printf("# Totals: %lu samples, %lu lost, %lu throttled", samples, lost,
	       report->throttled);
	if (samples)
		printf("; %.1f%% of the samples have a function's name",
		       100.0 * (samples - unnamed) / samples);
	putchar('\n');
}

static void print_report(const struct report *report)
{
	for (size_t i = 0; i < report->in.nr_events; i++) {
		const struct hist *hist = &report->hists[i];

		/* perf's dummy event carries no samples */
		if (!hist->samples && report->in.nr_events > 1)
			continue;
		printf("# Samples: %lu of event '%s'\n# Event count (approx.): %lu\n#\n",
		       hist->samples, report->in.events[i].name, hist->period);
		if (hist->samples)
			hist_print(hist, &report->opts->order, &report->opts->style);
		printf("#\n");
	}
	print_totals(report);
}

static void report_begin(struct report *report)
{
	report->hists = xalloc(report->in.nr_events * sizeof(*report->hists));
	report->last_counts = xalloc(report->in.nr_events * sizeof(*report->last_counts));
	for (size_t i = 0; i < report->in.nr_events; i++)
		report->last_counts[i] = xalloc(report->in.events[i].nr_ids * sizeof(uint64_t));
	report->resolver.in = &report->in;
	report->resolver.machine = &report->machine;
	report->resolver.kallsyms_option = report->opts->kallsyms;
}

static void report_end(struct report *report)
{
	for (size_t i = 0; report->hists && i < report->in.nr_events; i++) {
		hist_free(&report->hists[i]);
		free(report->last_counts[i]);
	}
	free(report->hists);
	free(report->last_counts);
	resolver_free(&report->resolver);
	machine_free(&report->machine);
	perfdata_close(&report->in);
}

/** cmd_report - pmuring report */
int cmd_report(int argc, char **argv)
{
	struct report_options opts = {
		.input = "perf.data",
		.order = { { SORT_COMM, SORT_DSO, SORT_SYMBOL }, SORT_KEYS },
		.style = { .callers = true, .percent_limit = 0.05 },
	};
	struct report report = { .opts = &opts };
	int ret;

	argv[0] = "pmuring report";
	if (argp_parse(&report_argp, argc, argv, 0, NULL, &opts))
		return EXIT_TOOL;
	ret = perfdata_open(&report.in, opts.input);
	if (!ret) {
		report_begin(&report);
		perfdata_for_each(&report.in, see_record, &report);
		print_report(&report);
	}
	report_end(&report);
	if (fflush(stdout) || ferror(stdout))
		ret = fail("cannot write the report");
	return ret ? EXIT_TOOL : 0;
}
