// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring record: the command line and the order of things. Opening is
 * evlist.c, the command is workload.c, draining is recorder.c, the file is
 * perfdata_write.c.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "evlist.h"
#include "procfs.h"
#include "recorder.h"
#include "signals.h"
#include "target.h"
#include "util.h"
#include "workload.h"

/* ~3000 samples per second of a busy 3 GHz CPU; odd, so that it does not march
 * in step with loops
 */
#define DEFAULT_PERIOD	1000003
#define DEFAULT_PAGES	128
/* how long a process may have lived and still be named, and what that costs */
#define PASS_MS		20

struct record_options {
	struct target target;
	struct event_list events;
	uint64_t period;
	uint64_t pages;
	const char *output;
	bool with_period;
	bool kallsyms;
	char **command_line;
};

static const struct argp_option record_options[] = {
	{ "event", 'e', "EVENTS", 0, "Sample these events, separated by commas: cycles, instructions, branches …, rXXXX, cpu/event=0x..,umask=0x../, or a name that libpfm4 knows; :u or :k behind it for user or kernel mode only (default: cycles)", 0 },
	{ "count", 'c', "PERIOD", 0, "Sample every PERIOD events (default: 1000003)", 0 },
	{ "period", 'P', NULL, 0, "Write the period into each sample", 0 },
	{ "mmap-pages", 'm', "PAGES", 0, "Pages of each ring, a power of two (default: 128)", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE (default: perf.data)", 0 },
	{ "kallsyms", 'k', NULL, 0, "Keep this kernel's symbols as FILE.kallsyms, to report on another machine", 0 },
	{ "quiet", 'q', NULL, 0, "Print warnings and errors only", 0 },
	{ "verbose", 'v', NULL, 0, "Print what is done", 0 },
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

static error_t parse_record(int key, char *arg, struct argp_state *state)
{
	struct record_options *opts = state->input;
	int ret = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opts->target;
		break;
	case 'e':
		ret = events_add(&opts->events, arg);
		break;
	case 'c':
		ret = parse_period(arg, &opts->period);
		break;
	case 'P':
		opts->with_period = true;
		break;
	case 'm':
		ret = parse_pages(arg, &opts->pages);
		break;
	case 'o':
		opts->output = arg;
		break;
	case 'k':
		opts->kallsyms = true;
		break;
	case 'q':
		verbosity = -1;
		break;
	case 'v':
		verbosity++;
		break;
	case ARGP_KEY_ARG:
		opts->target.argv = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (ret)
		exit(EXIT_TOOL);
	return 0;
}

static const struct argp_child record_children[] = {
	{ &target_argp, 0, "Whom to watch:", 1 },
	{ 0 }
};

static const struct argp record_argp = {
	.options = record_options,
	.parser = parse_record,
	.args_doc = "[-- COMMAND [ARG...]]",
	.doc = "Samples a command, tasks or CPUs and writes a perf.data file, which pmuring report, perf report and perf script read.\vChildren and new threads of the watched tasks are not followed yet: use -a to see them. Exits with the command's status, or 255 when recording itself fails.",
	.children = record_children,
};

static void prepare_attrs(struct record_options *opts)
{
	for (size_t i = 0; i < opts->events.nr; i++) {
		struct perf_event_attr *attr = &opts->events.events[i].attr;

		attr->sample_period = opts->period;
		attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
				    PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		if (target_is_cpus(&opts->target))
			attr->sample_type |= PERF_SAMPLE_CPU;
		if (opts->with_period)
			attr->sample_type |= PERF_SAMPLE_PERIOD;
		attr->read_format = READING_FORMAT;
		attr->disabled = 1;
		attr->sample_id_all = 1;
		attr->watermark = 1;
		attr->wakeup_watermark = opts->pages * sysconf(_SC_PAGESIZE) / 2;
	}
}

/* what was there before the first sample */
static void scan_start(struct recorder *rec, const struct target *target,
		       const struct workload *workload)
{
	procfs_kernel(&rec->sink);
	if (target_is_cpus(target))
		tasks_scan_all(&rec->tasks);
	else if (workload->pid)
		tasks_scan(&rec->tasks, workload->pid, 0);
	/* -p and -t: on the first sample of each */
}

/* the pollfd of an event whose tasks or CPU have gone only says so for ever */
static size_t still_alive(struct pollfd *fds, size_t nr)
{
	size_t alive = 0;

	for (size_t i = 0; i < nr; i++) {
		if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			fds[i].fd = -1;
		alive += fds[i].fd >= 0;
	}
	return alive;
}

static int run(struct recorder *rec, const struct target *target,
	       struct workload *workload, int signal_fd)
{
	size_t nr = rec->evlist->nr;
	struct pollfd *fds = xalloc((nr + 1) * sizeof(*fds));
	bool done = false;
	int ret = 0;

	for (size_t i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = rec->evlist->counters[i].fd, .events = POLLIN };
	fds[nr] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	while (!done && !ret) {
		if (poll(fds, nr + 1, PASS_MS) < 0 && errno != EINTR)
			ret = fail("cannot wait for events: %s", strerror(errno));
		done = signals_stop_asked(signal_fd);
		workload_look(workload);
		done = done || workload->ended;
		if (!still_alive(fds, nr) && !target->argv)
			done = true;
		if (!ret)
			ret = recorder_pass(rec);
	}
	free(fds);
	return ret;
}

static void keep_kallsyms(const char *output)
{
	char *path = xasprintf("%s.kallsyms", output);
	size_t len = 0;
	char *text = read_file("/proc/kallsyms", &len);
	FILE *file = text ? fopen(path, "we") : NULL;

	if (!file || fwrite(text, 1, len, file) != len)
		warn("cannot keep the kernel's symbols as %s: %s", path, strerror(errno));
	if (file)
		fclose(file);
	free(text);
	free(path);
}

static void tell(const struct recorder *rec, const struct record_options *opts,
		 const struct workload *workload)
{
	note("wrote %s: %lu samples, %lu lost, %lu throttled (%.1f MiB)", opts->output,
	     rec->samples, rec->lost, rec->throttled,
	     (rec->out->data_offset + rec->out->data_size) / 1048576.0);
	if (!rec->samples)
		note("no samples: the events occurred less than once per period; try a smaller -c");
	if (workload->has_children && !target_is_cpus(&opts->target))
		note("the command started children or threads, which are not in this profile: record -a sees them");
	if (opts->target.pids)
		note("threads that the processes started meanwhile are not in this profile: record -a sees them");
	if (rec->tasks.unknown)
		note("%lu samples are of processes too short-lived to be named", rec->tasks.unknown);
}

static int finish(struct recorder *rec, const struct record_options *opts,
		  const struct workload *workload)
{
	struct perfdata_facts facts = { .evlist = rec->evlist, .argv = opts->command_line };
	int ret;

	evlist_disable(rec->evlist);
	if (recorder_pass(rec) || recorder_losses(rec))
		return -1;
	facts.first_time = rec->first_time;
	facts.last_time = rec->last_time;
	tasks_build_ids(&rec->tasks, &facts.build_ids);
	ret = perfdata_finish(rec->out, &facts);
	buf_free(&facts.build_ids);
	if (ret)
		return -1;
	if (opts->kallsyms)
		keep_kallsyms(opts->output);
	tell(rec, opts, workload);
	return 0;
}

static int record_into(struct record_options *opts, struct evlist *evlist,
		       struct workload *workload, int signal_fd)
{
	/* what runs already is not kept waiting; else our own start is no topic */
	bool running = opts->target.pids || opts->target.tids;
	struct perfdata_out out;
	struct recorder rec;
	int ret = 0;

	if (perfdata_begin(&out, opts->output, evlist))
		return -1;
	recorder_init(&rec, evlist, &out);
	if (running)
		ret = evlist_enable(evlist);
	scan_start(&rec, &opts->target, workload);
	if (!ret)
		ret = recorder_flush(&rec);
	if (!ret && !running)
		ret = evlist_enable(evlist);
	if (!ret && workload->pid)
		ret = workload_go(workload);
	if (!ret)
		ret = run(&rec, &opts->target, workload, signal_fd);
	if (!ret)
		ret = finish(&rec, opts, workload);
	recorder_free(&rec);
	return ret;
}

static int record(struct record_options *opts)
{
	struct workload workload = { 0 };
	struct target_slots slots = { 0 };
	struct evlist evlist = { 0 };
	int signal_fd = signals_open(), ret = 0;

	if (signal_fd < 0)
		return fail("cannot make a signalfd: %s", strerror(errno));
	if (opts->target.argv)
		ret = workload_prepare(&workload, opts->target.argv);
	if (!ret)
		ret = target_resolve(&opts->target, workload.pid, &slots);
	if (!ret)
		ret = evlist_open(&evlist, &opts->events, &slots);
	if (!ret)
		ret = evlist_map(&evlist, opts->pages);
	if (!ret)
		ret = record_into(opts, &evlist, &workload, signal_fd);
	workload_stop(&workload);
	evlist_close(&evlist);
	free(slots.slots);
	close(signal_fd);
	return ret ? EXIT_TOOL : workload_exit_code(&workload);
}

/** cmd_record - pmuring record */
int cmd_record(int argc, char **argv)
{
	struct record_options opts = {
		.period = DEFAULT_PERIOD,
		.pages = DEFAULT_PAGES,
		.output = "perf.data",
		.command_line = argv,
	};
	int ret;

	argv[0] = "pmuring record";
	if (argp_parse(&record_argp, argc, argv, ARGP_IN_ORDER, NULL, &opts))
		return EXIT_TOOL;
	if (target_check(&opts.target))
		return EXIT_TOOL;
	if (!opts.events.nr && events_add(&opts.events, "cycles"))
		return EXIT_TOOL;
	prepare_attrs(&opts);
	ret = record(&opts);
	events_free(&opts.events);
	return ret;
}
