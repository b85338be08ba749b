/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the command lines of record and of stat have in common: what to watch, the
 * command, -e and -o.
 */
#ifndef PMURING_TOOL_OPTIONS_H
#define PMURING_TOOL_OPTIONS_H

#include <argp.h>

#include "events.h"
#include "target.h"

/**
 * struct command_line - how a subcommand understands its own
 * @name: of the subcommand, for messages
 * @doc: of argp
 * @options: of argp, -e and -o included
 * @parse: what is done on the other options; returns 0, -1 after a message to the
 *	user, or ARGP_ERR_UNKNOWN
 * @data: for @parse
 * @target: filled in
 * @events: filled in by -e
 * @output: filled in by -o
 */
struct command_line {
	char *name;
	const char *doc;
	const struct argp_option *options;
	int (*parse)(int key, char *arg, void *data);
	void *data;
	struct target *target;
	struct event_list *events;
	const char **output;
};

int options_parse(struct command_line *line, int argc, char **argv);

#endif
