/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading a perf.data file: its events, and its records in the order of time.
 */
#ifndef PMURING_TOOL_PERFDATA_READ_H
#define PMURING_TOOL_PERFDATA_READ_H

#include <stddef.h>
#include <stdint.h>

#include "perfdata.h"
#include "sample.h"

/**
 * struct file_event - one event of the file
 * @attr: as it was opened
 * @name: as the user wrote it
 * @ids: offset of its IDs in the file
 * @nr_ids: how many
 */
struct file_event {
	struct perf_event_attr attr;
	char *name;
	uint64_t ids;
	size_t nr_ids;
};

struct record_ref;

/**
 * struct perfdata_in - an open file
 * @path: its name
 * @base: the file in memory
 * @size: its bytes
 * @header: its header, checked against @size
 * @events: at least one
 * @nr_events: how many
 * @refs: where the records are, in the order of time
 * @nr_refs: how many
 * @cut_short: the recording was not finished
 */
struct perfdata_in {
	const char *path;
	const unsigned char *base;
	size_t size;
	struct file_header header;
	struct file_event *events;
	size_t nr_events;
	struct record_ref *refs;
	size_t nr_refs;
	int cut_short;
};

/**
 * struct record - one record of the file
 * @header: whole, aligned, header->size bytes
 * @event: whose it is
 * @sample: fields of the sample or the sample_id
 */
struct record {
	const struct perf_event_header *header;
	size_t event;
	struct sample sample;
};

typedef int (*record_fn)(void *ctx, const struct record *rec);

int perfdata_open(struct perfdata_in *in, const char *path);
int perfdata_for_each(struct perfdata_in *in, record_fn fn, void *ctx);
void perfdata_close(struct perfdata_in *in);
int perfdata_damaged(const struct perfdata_in *in, const char *what);
bool perfdata_holds(const struct perfdata_in *in, const struct file_section *section);

/* perfdata_events.c */
int perfdata_read_events(struct perfdata_in *in);
void perfdata_read_names(struct perfdata_in *in);
bool perfdata_find_id(const struct perfdata_in *in, uint64_t id, size_t *event, size_t *index);
const unsigned char *perfdata_feature(const struct perfdata_in *in, enum feature feature,
				      size_t *size);

#endif
