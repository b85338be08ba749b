// SPDX-License-Identifier: GPL-2.0
/*
 * Command lines of record and stat: the resulting attributes, and refused options. Run
 * on the host, without the module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "record_options.h"
#include "session.h"
#include "stat.h"
#include "tap.h"
#include "util.h"

#define WORDS	12

/* splits @line at blanks; the pointers are good until the next call */
static int words(const char *line, char *argv[WORDS])
{
	static char copy[256];
	char *save, *word;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word && argc < WORDS - 1;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static struct record_options record_of(const char *line)
{
	struct record_options opts;
	char *argv[WORDS];
	int argc = words(line, argv);

	if (record_options_parse(&opts, argc, argv))
		bail_out("'%s' is refused", line);
	return opts;
}

static const struct perf_event_attr *attr_of(const struct record_options *opts, size_t i)
{
	if (i >= opts->events.nr)
		bail_out("there are %zu events only", opts->events.nr);
	return &opts->events.events[i].attr;
}

static void test_rates(void)
{
	struct record_options opts = record_of("record true");
	const struct perf_event_attr *attr = attr_of(&opts, 0);

	ok(attr->freq && attr->sample_freq == 4000, "record samples at 4000 Hz by default");
	ok(attr->sample_type & PERF_SAMPLE_PERIOD, "samples by frequency carry the period");
	ok(!strcmp(opts.events.events[0].name, "cycles") && opts.events.events[0].or_clock,
	   "the default event is cycles, with the clock as fallback");
	events_free(&opts.events);
	opts = record_of("record -F 123 -e branches true");
	attr = attr_of(&opts, 0);
	ok(attr->freq && attr->sample_freq == 123, "-F sets the frequency");
	ok(!opts.events.events[0].or_clock, "an explicit event has no fallback");
	events_free(&opts.events);
	opts = record_of("record -F 123 -c 77 -e branches true");
	attr = attr_of(&opts, 0);
	ok(!attr->freq && attr->sample_period == 77 && !(attr->sample_type & PERF_SAMPLE_PERIOD),
	   "-c wins, as in perf");
	events_free(&opts.events);
	opts = record_of("record -g -P -c 77 true");
	ok((attr_of(&opts, 0)->sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD)) ==
	   (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD), "-g and -P");
	events_free(&opts.events);
}

static void test_targets(void)
{
	struct record_options opts = record_of("record true");
	const struct perf_event_attr *attr = attr_of(&opts, 0);

	ok(attr->inherit && attr->disabled && attr->enable_on_exec,
	   "events of a command start at its exec");
	ok(attr->mmap && attr->mmap2 && attr->comm && attr->comm_exec && attr->task,
	   "the event of a command has the sideband records");
	is(opts.events.nr, 1, "one event has both samples and sideband records");
	events_free(&opts.events);
	opts = record_of("record ls -a -e");
	ok(!opts.target.all_cpus && !strcmp(opts.target.argv[1], "-a"),
	   "options after the command belong to the command");
	events_free(&opts.events);
	opts = record_of("record -i true");
	ok(!attr_of(&opts, 0)->inherit, "-i disables inherit");
	events_free(&opts.events);
	opts = record_of("record -p 1 -- true");
	ok(attr_of(&opts, 0)->inherit && !attr_of(&opts, 0)->enable_on_exec &&
	   !attr_of(&opts, 0)->mmap, "-p: from ENABLE on");
	attr = attr_of(&opts, 1);
	ok(attr->config == PERF_COUNT_SW_DUMMY && attr->mmap && attr->inherit &&
	   !attr->disabled && !attr->freq && !attr->sample_period &&
	   opts.events.events[1].tracker, "the sideband event starts at once");
	events_free(&opts.events);
	opts = record_of("record -a");
	ok(!attr_of(&opts, 0)->inherit && attr_of(&opts, 0)->sample_type & PERF_SAMPLE_CPU, "-a");
	events_free(&opts.events);
}

static void test_groups(void)
{
	struct record_options opts = record_of("record -c 5 -e {cycles,branches}:S -e cs true");

	ok(attr_of(&opts, 0)->sample_period == 5 && !attr_of(&opts, 1)->sample_period &&
	   attr_of(&opts, 2)->sample_period == 5, "{a,b}:S: the leader samples");
	ok(attr_of(&opts, 1)->read_format & PERF_FORMAT_GROUP &&
	   attr_of(&opts, 0)->sample_type & PERF_SAMPLE_READ &&
	   !(attr_of(&opts, 2)->sample_type & PERF_SAMPLE_READ),
	   "the sampling leader reads the group");
	ok(!attr_of(&opts, 0)->inherit && !attr_of(&opts, 1)->inherit && attr_of(&opts, 2)->inherit,
	   "a group that is read is not inherited");
	ok(attr_of(&opts, 0)->disabled && !attr_of(&opts, 1)->disabled &&
	   attr_of(&opts, 0)->enable_on_exec && !attr_of(&opts, 1)->enable_on_exec,
	   "only the leader is enabled on exec");
	events_free(&opts.events);
}

static void test_stat(void)
{
	struct stat_options opts;
	char *argv[WORDS];
	int argc = words("stat true", argv);

	ok(!stat_options_parse(&opts, argc, argv) && opts.events.nr == 8,
	   "stat has perf's default events");
	ok(!strcmp(opts.events.events[0].name, "task-clock") && opts.events.events[0].optional &&
	   opts.events.events[0].attr.inherit, "the first default event of stat is task-clock");
	events_free(&opts.events);
	argc = words("stat -a -I 100", argv);
	ok(!stat_options_parse(&opts, argc, argv) && opts.interval == 100 &&
	   !strcmp(opts.events.events[0].name, "cpu-clock"), "stat -a: cpu-clock, -I");
	events_free(&opts.events);
}

/* exits in the parser or returns an error, with a message on stderr */
static bool is_refused(const char *line)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct record_options record;
		struct stat_options stat;
		char *argv[WORDS];
		int argc = words(line, argv), ret;

		if (argv[0][0] == 's')
			ret = stat_options_parse(&stat, argc, argv);
		else
			ret = record_options_parse(&record, argc, argv);
		_exit(ret ? EXIT_TOOL : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TOOL;
}

static void test_refused(void)
{
	static const char *const lines[] = {
		"record -F 0 true", "record -F x true", "record -F -1 true", "record -c 0 true",
		"record -c 9223372036854775808 true", "record -m 3 true", "record",
		"record --call-graph dwarf true", "record -p 1 -t 1", "record -a -p 1",
		"stat -r 0 true", "stat -r 2 -a", "stat -r 2 -I 100 true", "stat -I 1 true", "stat",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		ok(is_refused(lines[i]), "refused: '%s'", lines[i]);
}

int main(void)
{
	plan(7 + 8 + 4 + 3 + 15);
	test_rates();
	test_targets();
	test_groups();
	test_stat();
	test_refused();
	return done();
}
