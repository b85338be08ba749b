// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring, the tool: finds the subcommand and hands over to it.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "util.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", cmd_record, "sample a command, tasks or CPUs into a perf.data file" },
	{ "report", cmd_report, "print where samples were taken" },
	{ "stat", cmd_stat, "count events" },
	{ "doctor", cmd_doctor, "check whether sampling works here, and print what to do if not" },
};

static void usage(FILE *to)
{
	fputs("Usage: pmuring COMMAND [OPTION...]\n\n"
	      "Count and sample events with the pmuring kernel module. Commands:\n\n", to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-10s%s\n", commands[i].name, commands[i].help);
	fputs("\n'pmuring COMMAND --help' lists the options. perf report and\n"
	      "perf script read the files of pmuring record too.\n", to);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return EXIT_TOOL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	fail("no such command: '%s'; see pmuring --help", argv[1]);
	return EXIT_TOOL;
}
