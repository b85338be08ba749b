// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring record: the order of things. The command line is record_options.c,
 * what is open session.c, draining recorder.c, the file perfdata_write.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "hits.h"
#include "procfs.h"
#include "record_options.h"
#include "recorder.h"
#include "scan.h"
#include "session.h"
#include "signals.h"
#include "util.h"

/* full rings wake us earlier */
#define PASS_MS		500

/* the processes that the events are on */
static void scan_targets(struct recorder *rec)
{
	const struct evlist *evlist = rec->evlist;
	pid_t *tids = xalloc(evlist->nr * sizeof(*tids));
	size_t nr = 0;

	for (size_t i = 0; i < evlist->nr; i++)
		if (!nr || tids[nr - 1] != evlist->counters[i].slot.pid)
			tids[nr++] = evlist->counters[i].slot.pid;
	scan_thread_groups(&rec->sink, tids, nr);
	free(tids);
}

/*
 * What was there before the first sample. The kernel's records arrive already, so
 * whatever begins from here on has a name by them. A command needs no scan: it
 * brings its own records.
 */
static int scan(struct recorder *rec, const struct target *target)
{
	if (!target_is_running(target))
		return 0;
	if (target_is_cpus(target))
		scan_all(&rec->sink);
	else
		scan_targets(rec);
	return recorder_flush(rec) || recorder_newborn(rec) ? -1 : 0;
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

static int run(struct recorder *rec, struct session *session)
{
	size_t nr = rec->evlist->nr;
	struct pollfd *fds = xalloc((nr + 1) * sizeof(*fds));
	bool done = false;
	int ret = 0;

	for (size_t i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = rec->evlist->counters[i].fd, .events = POLLIN };
	fds[nr] = (struct pollfd){ .fd = session->signal_fd, .events = POLLIN };
	while (!done && !ret) {
		if (poll(fds, nr + 1, PASS_MS) < 0 && errno != EINTR)
			ret = fail("cannot wait for events: %s", strerror(errno));
		done = signals_stop_asked(session->signal_fd);
		workload_look(&session->workload);
		done = done || session->workload.ended;
		if (!still_alive(fds, nr) && !session->target->argv)
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
		warn("cannot save the kernel's symbols as %s: %s", path, strerror(errno));
	if (file)
		fclose(file);
	free(text);
	free(path);
}

static void tell(const struct recorder *rec, const struct record_options *opts, uint64_t unnamed)
{
	note("wrote %s: %lu samples, %lu lost, %lu throttled (%.1f MiB)", opts->output,
	     rec->samples, rec->lost, rec->throttled,
	     (rec->out->data_offset + rec->out->data_size) / 1048576.0);
	if (!rec->samples)
		note("no samples: the events occurred less than once per period; try %s",
		     opts->period ? "a smaller -c" : "a larger -F, or -c");
	if (unnamed)
		note("%lu samples are of threads without a name in the records", unnamed);
}

static int finish(struct recorder *rec, const struct record_options *opts)
{
	struct perfdata_facts facts = { .evlist = rec->evlist, .argv = opts->command_line };
	struct hits hits = { 0 };
	int ret;

	evlist_disable(rec->evlist);
	if (recorder_pass(rec) || recorder_losses(rec))
		return -1;
	if (rec->samples && (perfdata_sync(rec->out) || hits_collect(&hits, opts->output)))
		return -1;
	facts.first_time = rec->first_time;
	facts.last_time = rec->last_time;
	facts.build_ids = hits.build_ids;
	ret = perfdata_finish(rec->out, &facts);
	if (!ret && opts->kallsyms)
		keep_kallsyms(opts->output);
	if (!ret)
		tell(rec, opts, hits.unnamed);
	buf_free(&hits.build_ids);
	return ret;
}

/*
 * Each sample needs a name, so sampling starts after the scan. Reading the kernel's
 * symbols takes long. Tasks do not wait for it: it follows their start. CPUs run anyway, so
 * there sampling starts after it.
 */
static int start(struct recorder *rec, const struct target *target, struct session *session)
{
	bool tasks = target_is_running(target) && !target_is_cpus(target);

	if (!tasks)
		procfs_kernel(&rec->sink);
	if (scan(rec, target) || session_enable(session))
		return -1;
	if (tasks)
		procfs_kernel(&rec->sink);
	return recorder_flush(rec) || session_go(session) ? -1 : 0;
}

static int record(const struct record_options *opts, struct session *session)
{
	struct perfdata_out out;
	struct recorder rec;
	int ret;

	if (perfdata_begin(&out, opts->output, &session->evlist))
		return -1;
	recorder_init(&rec, &session->evlist, &out);
	ret = start(&rec, &opts->target, session);
	if (!ret)
		ret = run(&rec, session);
	if (!ret)
		ret = finish(&rec, opts);
	if (!ret)
		session_tell(session);
	recorder_free(&rec);
	return ret;
}

/** cmd_record - pmuring record */
int cmd_record(int argc, char **argv)
{
	struct record_options opts;
	struct session session;
	int ret = EXIT_TOOL;

	if (!record_options_parse(&opts, argc, argv)) {
		ret = session_open(&session, &opts.target, &opts.events,
				   target_inherits(&opts.target), opts.pages);
		if (!ret)
			ret = record(&opts, &session);
		ret = session_close(&session, ret);
	}
	events_free(&opts.events);
	return ret;
}
