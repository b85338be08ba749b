/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that exist before sampling begins: no record of the kernel names
 * them, or not by the name that they have then.
 */
#ifndef PMURING_TOOL_SCAN_H
#define PMURING_TOOL_SCAN_H

#include <stdint.h>
#include <sys/types.h>

#include "records.h"

/**
 * struct newborn - a task that began while the scan was under way
 * @pid: its process
 * @tid: the task
 * @time: of its FORK record
 */
struct newborn {
	pid_t pid;
	pid_t tid;
	uint64_t time;
};

void scan_thread_groups(struct record_sink *sink, const pid_t *tids, size_t nr);
void scan_all(struct record_sink *sink);
void scan_newborn(struct record_sink *sink, const struct newborn *newborn);

#endif
