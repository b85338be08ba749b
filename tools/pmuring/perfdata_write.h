/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing a perf.data file: begin, any number of writes, finish.
 */
#ifndef PMURING_TOOL_PERFDATA_WRITE_H
#define PMURING_TOOL_PERFDATA_WRITE_H

#include <stdint.h>
#include <sys/uio.h>

#include "evlist.h"
#include "util.h"

/**
 * struct perfdata_out - a file that is being written
 * @path: its name
 * @fd: open for writing, -1 before perfdata_begin()
 * @attrs_offset: where the attributes are
 * @data_offset: where the records begin
 * @data_size: bytes of records so far
 */
struct perfdata_out {
	const char *path;
	int fd;
	uint64_t attrs_offset;
	uint64_t data_offset;
	uint64_t data_size;
};

/**
 * struct perfdata_facts - what the feature sections tell besides the machine
 * @evlist: the events
 * @argv: command line of the tool, NULL-terminated
 * @first_time: of the samples
 * @last_time: of the samples
 * @build_ids: struct record_build_id, one after the other
 */
struct perfdata_facts {
	const struct evlist *evlist;
	char **argv;
	uint64_t first_time;
	uint64_t last_time;
	struct buf build_ids;
};

int perfdata_begin(struct perfdata_out *out, const char *path, const struct evlist *evlist);
int perfdata_write(struct perfdata_out *out, struct iovec *iov, int nr);
int perfdata_sync(struct perfdata_out *out);
int perfdata_finish(struct perfdata_out *out, const struct perfdata_facts *facts);

/* features.c */
void features_build(const struct perfdata_facts *facts, uint64_t offset,
		    uint64_t bits[4], struct buf *out);

#endif
