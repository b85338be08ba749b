/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What /proc tells about code: mappings of a process, the kernel, its modules.
 */
#ifndef PMURING_TOOL_PROCFS_H
#define PMURING_TOOL_PROCFS_H

#include <stdbool.h>
#include <sys/types.h>

#include "records.h"

bool maps_line_parse(char *line, struct mapping *map);
bool modules_line_parse(const char *line, struct mapping *map, char name[64]);
bool procfs_comm(pid_t pid, pid_t tid, char comm[16]);
int procfs_kernel(struct record_sink *sink);

#endif
