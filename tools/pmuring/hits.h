/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that the samples of a recording are in.
 */
#ifndef PMURING_TOOL_HITS_H
#define PMURING_TOOL_HITS_H

#include <stdint.h>

#include "util.h"

/**
 * struct hits - what the samples came to
 * @build_ids: struct record_build_id of each file with samples, one after the other
 * @unnamed: samples of threads that have no name in the file
 */
struct hits {
	struct buf build_ids;
	uint64_t unnamed;
};

int hits_collect(struct hits *hits, const char *path);

#endif
