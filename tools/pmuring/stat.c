// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring stat: the order of things. The command line is stat_options.c's, what
 * is open session.c's, reading stat_count.c's, printing stat_print.c's.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "session.h"
#include "signals.h"
#include "stat.h"
#include "util.h"

#define LOOK_MS		50
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

/* Return: 1 if the run has ended, 0 if it is @until, -1 if a signal asks to stop */
static int wait_until(struct session *session, double until)
{
	struct pollfd fd = { .fd = session->signal_fd, .events = POLLIN };
	struct workload *workload = &session->workload;
	double left = until - now();

	while (left > 0) {
		poll(&fd, 1, left * 1000 < LOOK_MS ? (int)(left * 1000) + 1 : LOOK_MS);
		if (signals_stop_asked(session->signal_fd))
			return -1;
		workload_look(workload);
		if (workload->ended || (!workload->pid && !tasks_left(&session->evlist)))
			return 1;
		left = until - now();
	}
	return 0;
}

/* prints each interval but the last */
static int wait_for_end(FILE *to, const struct stat_options *opts, struct session *session,
			struct reading *last, struct stat_result *result, double start)
{
	double step = opts->interval ? opts->interval / 1e3 : 1e9;
	double before = start;
	int end;

	while (!(end = wait_until(session, before + step))) {
		if (stat_read(&session->evlist, last, result->totals))
			return end;
		result->stamp = now() - start;
		result->elapsed.value = now() - before;
		stat_print(to, opts, result);
		before += step;
	}
	result->stamp = now() - start;
	result->elapsed.value = now() - before;
	return end;
}

static void tell_uncounted(const struct stat_options *opts, const struct total *totals)
{
	for (size_t i = 0; i < opts->events.nr; i++) {
		if (opts->events.events[i].missing || !totals[i].enabled || totals[i].running)
			continue;
		note("'%s' never got a counter: its group is larger than the PMU, or the run too short for taking turns",
		     opts->events.events[i].name);
		return;
	}
}

/* Return: 1 after a run, 0 after one that a signal cut short, -1 on error */
static int count(FILE *to, const struct stat_options *opts, struct session *session,
		 struct stat_result *result)
{
	struct reading *last = xalloc(session->evlist.nr * sizeof(*last));
	double start = now();
	int ret = -1, end;

	if (!session_enable(session) && !session_go(session)) {
		end = wait_for_end(to, opts, session, last, result, start);
		evlist_disable(&session->evlist);
		if (!stat_read(&session->evlist, last, result->totals))
			ret = end > 0;
	}
	free(last);
	return ret;
}

static int run_once(FILE *to, struct stat_options *opts, struct stat_result *result,
		    struct rusage *usage, int *status)
{
	struct session session;
	int ret = session_open(&session, &opts->target, &opts->events, false, 0);

	if (!ret)
		ret = count(to, opts, &session, result);
	if (ret >= 0)
		session_tell(&session);
	*status = session_close(&session, ret < 0);
	*usage = session.workload.usage;
	return ret;
}

/**
 * struct average - of the runs so far
 * @totals: of each event
 * @elapsed: of the time
 * @runs: how many
 */
struct average {
	struct total *totals;
	struct total elapsed;
	uint64_t runs;
};

static void add_run(struct average *average, const struct stat_result *result, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		stat_add(&average->totals[i], &result->totals[i]);
	stat_add(&average->elapsed, &result->elapsed);
	average->runs++;
}

static void print_average(FILE *to, const struct stat_options *opts, struct average *average,
			  struct stat_result *result)
{
	for (size_t i = 0; i < opts->events.nr; i++)
		stat_average(&average->totals[i], average->runs);
	stat_average(&average->elapsed, average->runs);
	result->totals = average->totals;
	result->elapsed = average->elapsed;
	if (!opts->interval)
		stat_print_head(to, opts);
	stat_print(to, opts, result);
	tell_uncounted(opts, result->totals);
}

/* Return: what to exit with */
static int run_all(FILE *to, struct stat_options *opts)
{
	struct total *totals = xalloc(opts->events.nr * sizeof(*totals));
	struct average average = { .totals = xalloc(opts->events.nr * sizeof(*totals)) };
	struct stat_result result = { .totals = totals };
	struct rusage usage;
	int status, ret;

	if (opts->interval)
		stat_print_head(to, opts);
	do {
		ret = run_once(to, opts, &result, &usage, &status);
		if (ret >= 0)
			add_run(&average, &result, opts->events.nr);
	} while (ret > 0 && average.runs < opts->repeat);
	if (opts->target.argv && opts->repeat == 1)
		result.usage = &usage;
	if (ret >= 0)
		print_average(to, opts, &average, &result);
	free(totals);
	free(average.totals);
	return status;
}

static int run_stat(struct stat_options *opts)
{
	FILE *to = opts->output ? fopen(opts->output, "we") : stderr;
	int status;

	if (!to) {
		fail("cannot write %s: %s", opts->output, strerror(errno));
		return EXIT_TOOL;
	}
	status = run_all(to, opts);
	if (opts->output && fclose(to)) {
		fail("cannot write %s: %s", opts->output, strerror(errno));
		status = EXIT_TOOL;
	}
	return status;
}

/** cmd_stat - pmuring stat */
int cmd_stat(int argc, char **argv)
{
	struct stat_options opts;
	int ret = EXIT_TOOL;

	if (!stat_options_parse(&opts, argc, argv))
		ret = run_stat(&opts);
	events_free(&opts.events);
	return ret;
}
