/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the rings to the file: one pass drains them all.
 */
#ifndef PMURING_TOOL_RECORDER_H
#define PMURING_TOOL_RECORDER_H

#include "evlist.h"
#include "perfdata_write.h"
#include "records.h"

/**
 * struct recorder - a recording in progress
 * @evlist: events with rings
 * @out: the file
 * @sink: records of our own, on their way into the file
 * @sample_type: of all events
 * @attaching: nothing is sampled yet; tasks that begin are noted in @newborn
 * @newborn: array of struct newborn
 * @samples: seen so far
 * @lost: as LOST records tell so far
 * @throttled: THROTTLE records so far
 * @first_time: of the samples
 * @last_time: of the samples
 */
struct recorder {
	struct evlist *evlist;
	struct perfdata_out *out;
	struct record_sink sink;
	uint64_t sample_type;
	bool attaching;
	struct buf newborn;
	uint64_t samples;
	uint64_t lost;
	uint64_t throttled;
	uint64_t first_time;
	uint64_t last_time;
};

void recorder_init(struct recorder *rec, struct evlist *evlist, struct perfdata_out *out);
int recorder_flush(struct recorder *rec);
int recorder_pass(struct recorder *rec);
int recorder_newborn(struct recorder *rec);
int recorder_losses(struct recorder *rec);
void recorder_free(struct recorder *rec);

#endif
