/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records that the tool adds to those of the kernel: the names and mappings
 * of what ran before the recording began, and what only a reader can know.
 */
#ifndef PMURING_TOOL_RECORDS_H
#define PMURING_TOOL_RECORDS_H

#include "perfdata.h"
#include "sample.h"
#include "util.h"

/**
 * struct mapping - a piece of an address space with code in it
 * @start: first address
 * @end: behind the last
 * @pgoff: offset in the file
 * @maj: device of the file
 * @min: device of the file
 * @ino: inode of the file
 * @prot: PROT_*
 * @flags: MAP_SHARED or MAP_PRIVATE
 * @name: path, or what the kernel shows instead
 */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t pgoff;
	uint32_t maj;
	uint32_t min;
	uint64_t ino;
	uint32_t prot;
	uint32_t flags;
	const char *name;
};

/**
 * struct record_sink - where such records go
 * @out: the bytes
 * @sample_type: decides on the sample_id at their end
 */
struct record_sink {
	struct buf out;
	uint64_t sample_type;
};

void put_comm(struct record_sink *sink, const struct sample *when, const char *comm);
void put_kernel_mmap(struct record_sink *sink, const struct mapping *map);
void put_mmap2(struct record_sink *sink, const struct sample *when, const struct mapping *map);
void put_lost_samples(struct record_sink *sink, const struct sample *when, uint64_t lost);
void put_finished_round(struct record_sink *sink);

#endif
