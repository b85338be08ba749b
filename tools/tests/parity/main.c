// SPDX-License-Identifier: GPL-2.0
/*
 * parity [--door NODE] [--program FILE] [PREFIX...]
 *
 * Prints the answers of the kernel's perf to all cases, or to those with a name that
 * begins with a PREFIX. Under libpmuring-preload.so these are pmuring's answers;
 * so are they with --door, where the program opens events at NODE itself.
 * FILE is the program of known length that is run for exec. With --wait it only
 * says that it runs, and waits: a target for the cases of ptrace.c.
 *
 * Run as root on a machine that does nothing else.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "parity.h"

static void (*const themes[])(void) = {
	theme_attr, theme_bits, theme_target, theme_order, theme_pmu,
	theme_read, theme_ioctl, theme_ioctl_group, theme_ioctl_compat, theme_period, theme_output,
	theme_mmap, theme_page, theme_poll, theme_signal,
	theme_sample, theme_layout, theme_lost, theme_sideband, theme_contents,
	theme_group, theme_inherit, theme_inherit_group, theme_exec, theme_exit,
	theme_software, theme_clocks,
	theme_prctl, theme_permission, theme_ptrace, theme_mlock,
	theme_share, theme_hotplug,
};

static const struct option options[] = {
	{ "door", required_argument, NULL, 'd' },
	{ "program", required_argument, NULL, 'p' },
	{ "wait", no_argument, NULL, 'w' },
	{}
};

static void parse(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			use_door(optarg);
			break;
		case 'p':
			set_fixed_program(optarg);
			break;
		case 'w':
			wait_as_target();
		default:
			fprintf(stderr, "usage: parity [--door NODE] [--program FILE] [PREFIX...]\n");
			exit(2);
		}
	}
	choose_cases(argv + optind);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prepare_machine();
	for (size_t i = 0; i < ARRAY_SIZE(themes); i++)
		themes[i]();
	return 0;
}
