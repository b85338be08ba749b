// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of stat and its output, human-readable and as fields. Run on the host,
 * without the module.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"
#include "tap.h"
#include "util.h"

static bool is_near(double have, double want)
{
	return have > want * 0.999999 && have < want * 1.000001;
}

static void test_average(void)
{
	struct total sum = { 0 };

	/* mean 20, standard deviation 10, of the mean 10 / sqrt(3) = 5.7735 */
	for (int i = 1; i <= 3; i++)
		stat_add(&sum, &(struct total){ .value = 10 * i, .enabled = 6, .running = 3 });
	stat_average(&sum, 3);
	ok(is_near(sum.value, 20) && sum.enabled == 6 && sum.running == 3,
	   "the mean of three runs");
	ok(is_near(sum.spread, 28.867513), "the spread of three runs");
	sum = (struct total){ 0 };
	stat_add(&sum, &(struct total){ .value = 7 });
	stat_average(&sum, 1);
	ok(is_near(sum.value, 7) && sum.spread == 0, "one run has no spread");
}

static struct stat_options options(const char *events)
{
	struct stat_options opts = { .repeat = 1 };

	if (events_add(&opts.events, events))
		bail_out("no events");
	return opts;
}

/* the printed text; the caller frees it */
static char *print(const struct stat_options *opts, struct total *totals)
{
	struct stat_result result = {
		.totals = totals,
		.elapsed = { .value = 0.5 },
		.stamp = 1.5,
	};
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	stat_print(to, opts, &result);
	fclose(to);
	return text;
}

static void has(const char *text, const char *want)
{
	if (!ok(strstr(text, want), "'%.*s'", (int)strcspn(want, "\n"), want))
		diag("%s", text);
}

static void test_lines(void)
{
	struct stat_options opts = options("task-clock,cycles,instructions,page-faults,branch-misses,branches");
	struct total totals[] = {
		{ .value = 1e9, .enabled = 10, .running = 10 },
		{ .value = 2.5e9, .enabled = 10, .running = 10 },
		{ .value = 5e9, .enabled = 10, .running = 10 },
		{ .value = 4321, .enabled = 10, .running = 10 },
		{ .value = 1, .enabled = 10, .running = 5 },
		{ .value = 200, .enabled = 10, .running = 10 },
	};
	char *text = print(&opts, totals);

	has(text, "          1,000.00 msec task-clock               #    2.000 CPUs utilized");
	has(text, "     2,500,000,000      cycles                   #    2.500 GHz");
	has(text, "     5,000,000,000      instructions             #     2.00  insn per cycle");
	has(text, "             4,321      page-faults              #    4.321 K/sec");
	has(text, "                 1      branch-misses            #     0.50% of all branches   (50.00%)\n");
	has(text, "               200      branches                 #  200.000 /sec");
	has(text, "\n       0.500000000 seconds time elapsed\n");
	free(text);
	events_free(&opts.events);
}

static void test_fields(void)
{
	struct stat_options opts = options("cpu-clock,instructions:u,cycles,r3c");
	struct total totals[] = {
		{ .value = 1500000, .enabled = 7, .running = 7 },
		{ .value = 3000, .enabled = 8, .running = 4 },
		{ .value = 0 },
		{ .enabled = 9 },
	};
	char *text;

	opts.separator = ",";
	opts.events.events[2].missing = ENOENT;
	text = print(&opts, totals);
	has(text, "1.50,msec,cpu-clock,7,100.00,0.003,CPUs utilized\n");
	has(text, "3000,,instructions:u,4,50.00,");
	has(text, "<not supported>,,cycles,0,100.00,,\n");
	has(text, "<not counted>,,r3c,0,0.00,,\n");
	free(text);
	opts.interval = 100;
	text = print(&opts, totals);
	has(text, "     1.500000000,1.50,msec,cpu-clock,");
	free(text);
	events_free(&opts.events);
}

int main(void)
{
	plan(3 + 7 + 5);
	test_average();
	test_lines();
	test_fields();
	return done();
}
