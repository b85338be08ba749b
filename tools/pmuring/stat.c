// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring stat: counts events and prints the counts, as perf stat does. Opening
 * is evlist.c, the command is workload.c.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "evlist.h"
#include "signals.h"
#include "target.h"
#include "util.h"
#include "workload.h"

#define LOOK_MS		50
#define DEFAULT_EVENTS	"cycles,instructions,branches,branch-misses"

struct stat_options {
	struct target target;
	struct event_list events;
	const char *separator;
	const char *output;
};

/**
 * struct total - an event over all its counters
 * @value: the count, scaled if the event was not always on a counter
 * @enabled: ns, added up
 * @running: ns, added up
 */
struct total {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

static const struct argp_option stat_options[] = {
	{ "event", 'e', "EVENTS", 0, "Count these events, separated by commas; names as in record (default: " DEFAULT_EVENTS ")", 0 },
	{ "field-separator", 'x', "SEP", 0, "Print fields separated by SEP: value, unit, event, ns on a counter, percent of the time on a counter", 0 },
	{ "output", 'o', "FILE", 0, "Print to FILE (default: the standard error output)", 0 },
	{ 0 }
};

static error_t parse_stat(int key, char *arg, struct argp_state *state)
{
	struct stat_options *opts = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &opts->target;
		return 0;
	case 'e':
		if (events_add(&opts->events, arg))
			exit(EXIT_TOOL);
		return 0;
	case 'x':
		opts->separator = arg;
		return 0;
	case 'o':
		opts->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		opts->target.argv = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child stat_children[] = {
	{ &target_argp, 0, "Whom to watch:", 1 },
	{ 0 }
};

static const struct argp stat_argp = {
	.options = stat_options,
	.parser = parse_stat,
	.args_doc = "[-- COMMAND [ARG...]]",
	.doc = "Counts events of a command, tasks or CPUs.\vChildren and new threads of the watched tasks are not counted yet: use -a to see them. Exits with the command's status, or 255 when counting itself fails.",
	.children = stat_children,
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool tasks_left(const struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++) {
		pid_t pid = evlist->counters[i].slot.pid;

		if (pid <= 0 || !kill(pid, 0) || errno == EPERM)
			return true;
	}
	return false;
}

static void wait_for_end(const struct evlist *evlist, struct workload *workload, int signal_fd)
{
	struct pollfd fd = { .fd = signal_fd, .events = POLLIN };

	while (!workload->ended && (workload->pid || tasks_left(evlist))) {
		poll(&fd, 1, LOOK_MS);
		if (signals_stop_asked(signal_fd))
			return;
		workload_look(workload);
	}
}

static int sum(const struct evlist *evlist, size_t event, struct total *total)
{
	struct reading reading;

	memset(total, 0, sizeof(*total));
	for (size_t i = 0; i < evlist->nr; i++) {
		if (evlist->counters[i].event != event)
			continue;
		if (counter_read(&evlist->counters[i], &reading))
			return fail("cannot read event '%s': %s",
				    evlist->events->events[event].name, strerror(errno));
		if (reading.running && reading.running < reading.enabled)
			reading.value = (double)reading.value * reading.enabled /
					reading.running;
		total->value += reading.value;
		total->enabled += reading.enabled;
		total->running += reading.running;
	}
	return 0;
}

/* 1234567 as 1,234,567 in @text of 32 bytes */
static const char *with_commas(uint64_t value, char *text)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lu", value);
	char *to = text;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

/* why there is no number, in perf's words; NULL if there is one */
static const char *no_value(const struct event *event, const struct total *total)
{
	if (event->missing)
		return "<not supported>";
	return total->running ? NULL : "<not counted>";
}

static double percent_running(const struct total *total)
{
	return total->enabled ? 100.0 * total->running / total->enabled : 0;
}

static void print_fields(FILE *to, const struct stat_options *opts,
			 const struct event *event, const struct total *total)
{
	const char *sep = opts->separator, *none = no_value(event, total);
	char value[32];

	snprintf(value, sizeof(value), "%lu", total->value);
	fprintf(to, "%s%s%s%s%s%lu%s%.2f\n", none ? none : value, sep, sep, event->name, sep,
		total->running, sep, percent_running(total));
}

static bool is_hardware(const struct event *event, uint64_t config)
{
	return event->attr.type == PERF_TYPE_HARDWARE && event->attr.config == config;
}

/* the event that @event is usually seen relative to */
static const struct total *base_of(const struct stat_options *opts, size_t event,
				   const struct total *totals, const char **text)
{
	const struct event *events = opts->events.events;
	uint64_t base;

	if (is_hardware(&events[event], PERF_COUNT_HW_INSTRUCTIONS)) {
		base = PERF_COUNT_HW_CPU_CYCLES;
		*text = "insn per cycle";
	} else if (is_hardware(&events[event], PERF_COUNT_HW_BRANCH_MISSES)) {
		base = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		*text = "% of all branches";
	} else if (is_hardware(&events[event], PERF_COUNT_HW_CACHE_MISSES)) {
		base = PERF_COUNT_HW_CACHE_REFERENCES;
		*text = "% of all cache refs";
	} else {
		return NULL;
	}
	for (size_t i = 0; i < opts->events.nr; i++)
		if (is_hardware(&events[i], base) && totals[i].value &&
		    events[i].attr.exclude_user == events[event].attr.exclude_user &&
		    events[i].attr.exclude_kernel == events[event].attr.exclude_kernel)
			return &totals[i];
	return NULL;
}

static void print_line(FILE *to, const struct stat_options *opts, size_t i,
		       const struct total *totals)
{
	const struct event *event = &opts->events.events[i];
	const char *none = no_value(event, &totals[i]), *text = "";
	const struct total *base = base_of(opts, i, totals, &text);
	char value[32];

	fprintf(to, "%20s      %-24s", none ? none : with_commas(totals[i].value, value),
		event->name);
	if (!none && base)
		fprintf(to, " # %8.2f %s",
			(*text == '%' ? 100.0 : 1.0) * totals[i].value / base->value, text);
	if (!none && totals[i].running < totals[i].enabled)
		fprintf(to, "  (%.2f%%)", percent_running(&totals[i]));
	fputc('\n', to);
}

static void print_whom(FILE *to, const struct target *target)
{
	if (target->argv) {
		fprintf(to, "'%s", target->argv[0]);
		for (char **arg = target->argv + 1; *arg; arg++)
			fprintf(to, " %s", *arg);
		fprintf(to, "'%s", target_is_cpus(target) ? " (whole CPUs)" : "");
	} else if (target_is_cpus(target)) {
		fprintf(to, "CPUs %s", target->cpus ? target->cpus : "(all)");
	} else {
		fprintf(to, "%s %s", target->pids ? "process" : "thread",
			target->pids ? target->pids : target->tids);
	}
}

static void print_all(FILE *to, const struct stat_options *opts, const struct total *totals,
		      double elapsed)
{
	if (opts->separator) {
		for (size_t i = 0; i < opts->events.nr; i++)
			print_fields(to, opts, &opts->events.events[i], &totals[i]);
		return;
	}
	fprintf(to, "\n Performance counter stats for ");
	print_whom(to, &opts->target);
	fprintf(to, ":\n\n");
	for (size_t i = 0; i < opts->events.nr; i++)
		print_line(to, opts, i, totals);
	fprintf(to, "\n%20.9f      seconds time elapsed\n\n", elapsed);
}

static void tell_uncounted(const struct stat_options *opts, const struct total *totals)
{
	for (size_t i = 0; i < opts->events.nr; i++) {
		if (opts->events.events[i].missing || !totals[i].enabled || totals[i].running)
			continue;
		note("'%s' never got a counter: events do not take turns yet, count fewer at a time",
		     opts->events.events[i].name);
		return;
	}
}

static int print_result(const struct stat_options *opts, const struct evlist *evlist,
			double elapsed)
{
	FILE *to = opts->output ? fopen(opts->output, "we") : stderr;
	struct total *totals = xalloc(opts->events.nr * sizeof(*totals));
	int ret = 0;

	if (!to)
		ret = fail("cannot write %s: %s", opts->output, strerror(errno));
	for (size_t i = 0; !ret && i < opts->events.nr; i++)
		ret = sum(evlist, i, &totals[i]);
	if (!ret) {
		print_all(to, opts, totals, elapsed);
		tell_uncounted(opts, totals);
	}
	if (opts->output && to && fclose(to))
		ret = fail("cannot write %s: %s", opts->output, strerror(errno));
	free(totals);
	return ret;
}

static int count(const struct stat_options *opts, struct evlist *evlist,
		 struct workload *workload, int signal_fd)
{
	double start;

	if (evlist_enable(evlist))
		return -1;
	start = now();
	if (workload->pid && workload_go(workload))
		return -1;
	wait_for_end(evlist, workload, signal_fd);
	evlist_disable(evlist);
	if (print_result(opts, evlist, now() - start))
		return -1;
	if (workload->has_children && !target_is_cpus(&opts->target))
		note("the command started children or threads, which are not counted: stat -a counts them");
	return 0;
}

static int run_stat(struct stat_options *opts)
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
		ret = count(opts, &evlist, &workload, signal_fd);
	workload_stop(&workload);
	evlist_close(&evlist);
	free(slots.slots);
	close(signal_fd);
	return ret ? EXIT_TOOL : workload_exit_code(&workload);
}

/** cmd_stat - pmuring stat */
int cmd_stat(int argc, char **argv)
{
	struct stat_options opts = { 0 };
	int ret;

	argv[0] = "pmuring stat";
	if (argp_parse(&stat_argp, argc, argv, ARGP_IN_ORDER, NULL, &opts))
		return EXIT_TOOL;
	if (target_check(&opts.target))
		return EXIT_TOOL;
	if (!opts.events.nr && events_add(&opts.events, DEFAULT_EVENTS))
		return EXIT_TOOL;
	for (size_t i = 0; i < opts.events.nr; i++) {
		opts.events.events[i].attr.read_format = READING_FORMAT;
		opts.events.events[i].attr.disabled = 1;
		opts.events.events[i].optional = true;
	}
	ret = run_stat(&opts);
	events_free(&opts.events);
	return ret;
}
