/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of record.
 */
#ifndef PMURING_TOOL_RECORD_OPTIONS_H
#define PMURING_TOOL_RECORD_OPTIONS_H

#include "events.h"
#include "target.h"

/**
 * struct record_options - what it says
 * @target: what to watch
 * @events: what to sample, with complete attributes
 * @period: -c, or 0
 * @freq: -F; not used with @period
 * @pages: of each ring
 * @output: the file
 * @with_period: -P
 * @call_chains: -g
 * @kallsyms: -k
 * @command_line: all of it, NULL-terminated
 */
struct record_options {
	struct target target;
	struct event_list events;
	uint64_t period;
	uint64_t freq;
	uint64_t pages;
	const char *output;
	bool with_period;
	bool call_chains;
	bool kallsyms;
	char **command_line;
};

int record_options_parse(struct record_options *opts, int argc, char **argv);

#endif
