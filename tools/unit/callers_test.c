// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains and group counts: parsing of a sample, and the printed tree of many
 * chains. Run on the host.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callers.h"
#include "sample.h"
#include "tap.h"
#include "util.h"

struct long_sample {
	struct perf_event_header header;
	uint64_t words[12];
};

static void test_sample(void)
{
	struct long_sample rec = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(rec) },
		/* IP, TID; nr, enabled, running, (value, id) twice; nr, chain of two */
		.words = { 1, 2, 2, 30, 31, 41, 51, 42, 52, 2, 61, 62 },
	};
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_READ |
			       PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
			       PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct sample_rest rest;

	ok(sample_rest_parse(&rec.header, &attr, &rest),
	   "a sample with READ and CALLCHAIN is parsed");
	ok(rest.nr_counts == 2 && rest.count_step == 2 && rest.counts[0] == 41 &&
	   rest.counts[2] == 42 && rest.counts[3] == 52, "the counts of its group");
	ok(rest.nr_chain == 2 && rest.chain[0] == 61 && rest.chain[1] == 62,
	   "the sample's call chain is parsed");
	rec.words[9] = 3;
	ok(!sample_rest_parse(&rec.header, &attr, &rest),
	   "a chain beyond the end of the sample is refused");
	rec.words[2] = 1ULL << 61;
	ok(!sample_rest_parse(&rec.header, &attr, &rest),
	   "a group beyond the end of the sample is refused");
	rec.header.size = sizeof(rec.header) + 8;
	ok(!sample_rest_parse(&rec.header, &attr, &rest), "a sample that is too short is refused");
}

static void test_single_read(void)
{
	struct long_sample rec = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(rec) },
		/* IP; value, id, lost; chain of one */
		.words = { 1, 41, 51, 0, 1, 61 },
	};
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
	};
	struct sample_rest rest;

	ok(sample_rest_parse(&rec.header, &attr, &rest) && !rest.nr_counts &&
	   rest.nr_chain == 1 && rest.chain[0] == 61, "the chain behind a single READ");
}

static void add(struct caller *root, uint64_t period, ...)
{
	struct caller *caller = root;
	const char *symbol;
	va_list args;

	va_start(args, period);
	while ((symbol = va_arg(args, const char *)))
		caller = callers_add(caller, symbol, period);
	va_end(args);
}

/* redirects stdout to a file */
static char *printed(struct caller *root)
{
	char path[] = "/tmp/callers_test.XXXXXX", *text;
	int fd = mkstemp(path), old;

	fflush(stdout);
	old = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	callers_print(root);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	close(fd);
	text = read_file(path, NULL);
	unlink(path);
	return text;
}

static void prints(struct caller *root, const char *want, const char *what)
{
	char *have = printed(root);

	if (!ok(!strcmp(have, want), "%s", what))
		diag("%s", have);
	free(have);
	callers_free(root);
}

static void test_tree(void)
{
	struct caller straight = { 0 }, branched = { 0 }, none = { 0 }, early = { 0 };

	add(&straight, 10, "leaf", "middle", "main", NULL);
	add(&straight, 20, "leaf", "middle", "main", NULL);
	prints(&straight,
	       "            |\n"
	       "            ---leaf\n"
	       "               middle\n"
	       "               main\n\n", "a single chain is printed");
	add(&branched, 100, "leaf", "b", "main", NULL);
	add(&branched, 299, "leaf", "a", "main", NULL);
	add(&branched, 1, "leaf", "rare", "main", NULL);
	prints(&branched,
	       "            |\n"
	       "            ---leaf\n"
	       "               |\n"
	       "               |--74.75%--a\n"
	       "               |          main\n"
	       "               |\n"
	       "                --25.00%--b\n"
	       "                          main\n\n", "two chains are printed and a rare one is left out");
	prints(&none, "", "no chain, no tree");
	add(&early, 1, "leaf", NULL);
	add(&early, 1, "leaf", "main", NULL);
	prints(&early,
	       "            |\n"
	       "            ---leaf\n"
	       "               |\n"
	       "                --50.00%--main\n\n", "a chain that ends earlier is printed");
}

int main(void)
{
	plan(6 + 1 + 4);
	test_sample();
	test_single_read();
	test_tree();
	return done();
}
