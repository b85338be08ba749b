/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command that record and stat start: held before its exec, so that events
 * that begin with the exec can be opened on it and miss nothing.
 */
#ifndef PMURING_TOOL_WORKLOAD_H
#define PMURING_TOOL_WORKLOAD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/**
 * struct workload - a command
 * @pid: its process, 0 when there is none
 * @name: what it was called by
 * @go_fd: written to, it lets the process go on to its exec; -1 when that was done
 * @error_fd: where the process says why it could not; its exec closes the other end
 * @ended: it has ended; @status and @usage are valid
 * @status: as waitpid() gives it
 * @usage: what it and those of its children that it waited for used
 */
struct workload {
	pid_t pid;
	const char *name;
	int go_fd;
	int error_fd;
	bool ended;
	int status;
	struct rusage usage;
};

int workload_prepare(struct workload *workload, char **argv);
int workload_go(struct workload *workload);
void workload_look(struct workload *workload);
void workload_stop(struct workload *workload);
int workload_exit_code(const struct workload *workload);

#endif
