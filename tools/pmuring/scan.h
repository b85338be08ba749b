/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that exist before a recording begins, for which no record of
 * the kernel comes any more.
 */
#ifndef PMURING_TOOL_SCAN_H
#define PMURING_TOOL_SCAN_H

#include <sys/types.h>

#include "records.h"

void scan_thread_group(struct record_sink *sink, pid_t tid);
void scan_all(struct record_sink *sink);

#endif
