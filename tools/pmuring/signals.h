/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The signals that end a run, delivered as data instead of interrupts.
 */
#ifndef PMURING_TOOL_SIGNALS_H
#define PMURING_TOOL_SIGNALS_H

#include <stdbool.h>

int signals_open(void);
bool signals_stop_asked(int fd);

#endif
