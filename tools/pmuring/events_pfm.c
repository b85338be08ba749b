// SPDX-License-Identifier: GPL-2.0
/*
 * The names that CPU vendors gave to their events, by libpfm4. Called by
 * events.c for a name that it does not know itself; the library is set up on
 * first use because it takes a while to look for all PMUs it knows.
 */
#include <perfmon/pfmlib_perf_event.h>

#include "events_pfm.h"

/**
 * events_pfm_encode - encode an event of this CPU
 * @name: as libpfm4 writes it, e.g. br_inst_retired:conditional
 * @code: filled in
 * @why: on failure, what libpfm4 says
 *
 * Return: 0, or -1
 */
int events_pfm_encode(const char *name, struct pfm_code *code, const char **why)
{
	struct perf_event_attr found = { .size = sizeof(found) };
	pfm_perf_encode_arg_t arg = { .attr = &found, .size = sizeof(arg) };
	int ret = pfm_initialize();

	if (ret == PFM_SUCCESS)
		ret = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3,
						PFM_OS_PERF_EVENT, &arg);
	if (ret != PFM_SUCCESS) {
		*why = pfm_strerror(ret);
		return -1;
	}
	code->type = found.type;
	code->config[0] = found.config;
	code->config[1] = found.config1;
	code->config[2] = found.config2;
	return 0;
}
