/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The names that CPU vendors gave to their events. Apart from events.h because
 * libpfm4 brings its own copy of <linux/perf_event.h>: no file can see both.
 */
#ifndef PMURING_TOOL_EVENTS_PFM_H
#define PMURING_TOOL_EVENTS_PFM_H

#include <stdint.h>

/**
 * struct pfm_code - what perf_event_attr wants to know about an event
 * @type: PERF_TYPE_*
 * @config: config, config1, config2
 */
struct pfm_code {
	uint32_t type;
	uint64_t config[3];
};

int events_pfm_encode(const char *name, struct pfm_code *code, const char **why);

#endif
