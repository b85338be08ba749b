// SPDX-License-Identifier: GPL-2.0
/*
 * The command line of record, and the attributes that it makes of the events.
 * Called by record.c before anything is open.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "door.h"
#include "options.h"
#include "record_options.h"
#include "session.h"
#include "util.h"

/* perf's */
#define DEFAULT_FREQ	4000
#define DEFAULT_PAGES	128
#define FREQ_MAX	UINT64_MAX

#define KEY_CALL_GRAPH	1000

static const char record_doc[] =
	"Sample a command, tasks or CPUs and write a perf.data file for pmuring report, perf report and perf script.\vWith -a, -C, -p or -t, recording lasts as long as the command runs. Exits with the status of the command, or with 255 if recording fails.";

static const struct argp_option record_options[] = {
	{ "event", 'e', "EVENTS", 0, "Sample these events, separated by commas: cycles, instructions, cpu-clock, page-faults …, rXXXX, cpu/event=0x..,umask=0x../, or a name that libpfm4 knows. {a,b} is a group. Append :u or :k to sample user or kernel mode only; {a,b}:S samples the first event and reads the whole group at each sample (default: cycles, or cpu-clock without a PMU)", 0 },
	{ "freq", 'F', "FREQ", 0, "Sample about FREQ times a second; max is the highest rate allowed (default: 4000)", 0 },
	{ "count", 'c', "PERIOD", 0, "Sample every PERIOD events", 0 },
	{ NULL, 'g', NULL, 0, "Record the call chain of each sample by frame pointers", 0 },
	{ "call-graph", KEY_CALL_GRAPH, "fp", 0, "Same as -g; fp is the only method", 0 },
	{ "period", 'P', NULL, 0, "Record the period of each sample; -F implies it", 0 },
	{ "mmap-pages", 'm', "PAGES", 0, "Size of each ring in pages, a power of two (default: 128)", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE (default: perf.data)", 0 },
	{ "kallsyms", 'k', NULL, 0, "Save this kernel's symbols as FILE.kallsyms, for a report on another machine", 0 },
	{ "quiet", 'q', NULL, 0, "Print only warnings and errors", 0 },
	{ "verbose", 'v', NULL, 0, "Print each step", 0 },
	{ 0 }
};

static int parse_pages(const char *arg, uint64_t *pages)
{
	if (!parse_u64(arg, pages) || !*pages || *pages & (*pages - 1) || *pages > 1 << 20)
		return fail("-m %s: give a power of two", arg);
	return 0;
}

static int parse_period(const char *arg, uint64_t *period)
{
	if (!parse_u64(arg, period) || !*period || *period >> 63)
		return fail("-c %s: give a number from 1 to 2^63 - 1", arg);
	return 0;
}

static int parse_freq(const char *arg, uint64_t *freq)
{
	if (!strcmp(arg, "max")) {
		*freq = FREQ_MAX;
		return 0;
	}
	if (!parse_u64(arg, freq) || !*freq || *freq == FREQ_MAX)
		return fail("-F %s: give samples per second, or max", arg);
	return 0;
}

static int parse_call_graph(const char *arg, bool *call_chains)
{
	if (strcmp(arg, "fp"))
		return fail("--call-graph %s: the only method is fp, by frame pointers",
			    arg);
	*call_chains = true;
	return 0;
}

static int parse_record(int key, char *arg, void *data)
{
	struct record_options *opts = data;

	switch (key) {
	case 'F':
		return parse_freq(arg, &opts->freq);
	case 'c':
		return parse_period(arg, &opts->period);
	case 'g':
		opts->call_chains = true;
		return 0;
	case KEY_CALL_GRAPH:
		return parse_call_graph(arg, &opts->call_chains);
	case 'P':
		opts->with_period = true;
		return 0;
	case 'm':
		return parse_pages(arg, &opts->pages);
	case 'k':
		opts->kallsyms = true;
		return 0;
	case 'q':
		verbosity = -1;
		return 0;
	case 'v':
		verbosity++;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* as perf: more than is allowed becomes as much as is allowed */
static void limit_freq(struct record_options *opts)
{
	struct pmuring_info info;

	if (opts->period || door_info(&info) || opts->freq <= info.max_sample_rate)
		return;
	if (opts->freq != FREQ_MAX)
		warn("sampling at %u Hz instead of %lu: the parameter max_sample_rate of the module is the limit",
		     info.max_sample_rate, opts->freq);
	opts->freq = info.max_sample_rate;
}

static void set_rate(const struct record_options *opts, struct perf_event_attr *attr)
{
	attr->freq = !opts->period;
	if (opts->period)
		attr->sample_period = opts->period;
	else
		attr->sample_freq = opts->freq;
}

static void set_fields(const struct record_options *opts, struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
			    PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	if (target_is_cpus(&opts->target))
		attr->sample_type |= PERF_SAMPLE_CPU;
	if (opts->with_period || !opts->period)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (opts->call_chains) {
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		/* those of the kernel need the right to see it, even if there are none */
		attr->exclude_callchain_kernel = attr->exclude_kernel;
	}
	if (attr->read_format & PERF_FORMAT_GROUP)
		attr->sample_type |= PERF_SAMPLE_READ;
	attr->sample_id_all = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = opts->pages * sysconf(_SC_PAGESIZE) / 2;
}

static void set_sideband(struct perf_event_attr *attr)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

/*
 * What runs already goes on while its past is looked up in /proc, so its sideband
 * begins before that, with an event of its own.
 */
static void add_tracker(struct record_options *opts)
{
	struct perf_event_attr *attr = &events_add_tracker(&opts->events)->attr;

	attr->read_format = READING_FORMAT;
	attr->inherit = target_inherits(&opts->target);
	set_fields(opts, attr);
	set_sideband(attr);
}

static void set_attrs(struct record_options *opts)
{
	session_prepare(&opts->target, &opts->events);
	for (size_t i = 0; i < opts->events.nr; i++) {
		struct perf_event_attr *attr = &opts->events.events[i].attr;

		set_fields(opts, attr);
		/* of a group that is read, the leader alone samples */
		if (!(attr->read_format & PERF_FORMAT_GROUP) || opts->events.events[i].leader == i)
			set_rate(opts, attr);
	}
	if (target_is_running(&opts->target))
		add_tracker(opts);
	else
		set_sideband(&opts->events.events[0].attr);
}

/**
 * record_options_parse - understand the command line
 * @opts: filled in
 * @argc: of the subcommand
 * @argv: of the subcommand
 *
 * Return: 0, or -1 after a message to the user
 */
int record_options_parse(struct record_options *opts, int argc, char **argv)
{
	struct command_line line = {
		.name = "pmuring record",
		.doc = record_doc,
		.options = record_options,
		.parse = parse_record,
		.data = opts,
		.target = &opts->target,
		.events = &opts->events,
		.output = &opts->output,
	};

	*opts = (struct record_options){
		.freq = DEFAULT_FREQ,
		.pages = DEFAULT_PAGES,
		.output = "perf.data",
		.command_line = argv,
	};
	if (options_parse(&line, argc, argv))
		return -1;
	if (!opts->events.nr) {
		if (events_add(&opts->events, "cycles"))
			return -1;
		opts->events.events[0].or_clock = true;
	}
	limit_freq(opts);
	set_attrs(opts);
	return 0;
}
