// SPDX-License-Identifier: GPL-2.0
/*
 * The command lines of record and stat, as far as they are alike. Called by
 * record_options.c and stat_options.c before anything is open.
 */
#include <stdlib.h>

#include "commands.h"
#include "options.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;
	int ret = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = line->target;
		break;
	case 'e':
		ret = events_add(line->events, arg);
		break;
	case 'o':
		*line->output = arg;
		break;
	default:
		ret = line->parse(key, arg, line->data);
	}
	if (ret < 0)
		exit(EXIT_TOOL);
	return ret;
}

/**
 * options_parse - understand a command line
 * @line: how, and where to
 * @argc: of the subcommand
 * @argv: of the subcommand
 *
 * Return: 0, or -1 after a message to the user; an option that is wrong ends the
 * program
 */
int options_parse(struct command_line *line, int argc, char **argv)
{
	const struct argp argp = {
		.options = line->options,
		.parser = parse,
		.args_doc = "[-- COMMAND [ARG...]]",
		.doc = line->doc,
		.children = target_children,
	};

	argv[0] = line->name;
	return argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, line) ||
	       target_check(line->target) ? -1 : 0;
}
