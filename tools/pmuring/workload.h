/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command that record and stat start: held after its exec and before its
 * first instruction, so that events can be opened on it and miss nothing.
 */
#ifndef PMURING_TOOL_WORKLOAD_H
#define PMURING_TOOL_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct workload - a command
 * @pid: its process, 0 when there is none
 * @ended: it has ended and @status is valid
 * @status: as waitpid() gives it
 * @has_children: it was seen to have children or more threads than one, which
 *	are not watched
 */
struct workload {
	pid_t pid;
	bool ended;
	int status;
	bool has_children;
};

int workload_prepare(struct workload *workload, char **argv);
int workload_go(struct workload *workload);
void workload_look(struct workload *workload);
void workload_stop(struct workload *workload);
int workload_exit_code(const struct workload *workload);

#endif
