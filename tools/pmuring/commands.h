/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subcommands. Each takes its own argv and returns the exit status.
 */
#ifndef PMURING_TOOL_COMMANDS_H
#define PMURING_TOOL_COMMANDS_H

int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* exit status when the tool itself fails, apart from the command's */
#define EXIT_TOOL	255

#endif
