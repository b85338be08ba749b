// SPDX-License-Identifier: GPL-2.0
/*
 * From the rings to the file. Records go out as they are, by writev() from the
 * ring; they are looked at before, for what the user is told in the end.
 * Called by record.c, one thread.
 */
#include <errno.h>
#include <string.h>

#include "recorder.h"
#include "scan.h"

/**
 * recorder_init - begin
 * @rec: filled in
 * @evlist: mapped
 * @out: begun
 */
void recorder_init(struct recorder *rec, struct evlist *evlist, struct perfdata_out *out)
{
	memset(rec, 0, sizeof(*rec));
	rec->evlist = evlist;
	rec->out = out;
	rec->sample_type = evlist->events->events[0].attr.sample_type;
	rec->sink.sample_type = rec->sample_type;
}

static void see_sample(struct recorder *rec, const struct perf_event_header *record)
{
	struct sample sample;

	if (!sample_parse(record, rec->sample_type, &sample))
		return;
	rec->samples++;
	if (!rec->first_time || sample.time < rec->first_time)
		rec->first_time = sample.time;
	if (sample.time > rec->last_time)
		rec->last_time = sample.time;
}

static void see_fork(struct recorder *rec, const struct perf_event_header *record)
{
	const struct record_fork *begun = (const void *)record;
	struct sample sample;
	struct newborn newborn;

	if (!rec->attaching || !sample_id_parse(record, rec->sample_type, &sample))
		return;
	newborn = (struct newborn){ begun->pid, begun->tid, sample.time };
	buf_add(&rec->newborn, &newborn, sizeof(newborn));
}

static void see(struct recorder *rec, const struct perf_event_header *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		see_sample(rec, record);
		break;
	case PERF_RECORD_FORK:
		see_fork(rec, record);
		break;
	case PERF_RECORD_LOST:
		rec->lost += ((const struct record_lost *)record)->lost;
		break;
	case PERF_RECORD_THROTTLE:
		rec->throttled++;
		break;
	}
}

/**
 * recorder_flush - move our own records into the file
 * @rec: in progress
 *
 * Return: 0, or -1 after a message to the user
 */
int recorder_flush(struct recorder *rec)
{
	struct iovec iov = { rec->sink.out.data, rec->sink.out.len };

	rec->sink.out.len = 0;
	return iov.iov_len ? perfdata_write(rec->out, &iov, 1) : 0;
}

static int drain(struct recorder *rec, struct ring *ring)
{
	const struct perf_event_header *record;
	uint64_t head = ring_head(ring);
	struct iovec iov[2];
	int pieces = ring_spans(ring, head, iov), ret;

	while (ring->tail != head) {
		ret = ring_next(ring, &record);
		if (ret <= 0)
			return fail("a ring holds an invalid record: the module and this program do not match; build both from one tree");
		see(rec, record);
	}
	if (recorder_flush(rec) || (pieces && perfdata_write(rec->out, iov, pieces)))
		return -1;
	ring_release(ring);
	return pieces;
}

/**
 * recorder_pass - drain every ring once
 * @rec: in progress
 *
 * Return: 0, or -1 after a message to the user
 */
int recorder_pass(struct recorder *rec)
{
	bool any = false;

	for (size_t i = 0; i < rec->evlist->nr_rings; i++) {
		int ret = drain(rec, &rec->evlist->rings[i].ring);

		if (ret < 0)
			return -1;
		any = any || ret;
	}
	if (!any)
		return 0;
	put_finished_round(&rec->sink);
	return recorder_flush(rec);
}

/**
 * recorder_newborn - look up the tasks that began while /proc was scanned
 * @rec: nothing is sampled yet, the scan's records are written
 *
 * Return: 0, or -1 after a message to the user
 */
int recorder_newborn(struct recorder *rec)
{
	const struct newborn *newborn;
	int ret;

	rec->attaching = true;
	ret = recorder_pass(rec);
	rec->attaching = false;
	newborn = (const void *)rec->newborn.data;
	for (size_t i = 0; !ret && i < rec->newborn.len / sizeof(*newborn); i++)
		scan_newborn(&rec->sink, &newborn[i]);
	return ret ? ret : recorder_flush(rec);
}

/**
 * recorder_losses - ask each event how much it lost, and write it down
 * @rec: with all events disabled and drained
 *
 * A LOST record needs a later record that finds room; only read() knows what
 * was lost at the very end.
 *
 * Return: 0, or -1 after a message to the user
 */
int recorder_losses(struct recorder *rec)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < rec->evlist->nr; i++) {
		const struct counter *counter = &rec->evlist->counters[i];
		struct sample when = { .id = counter->id, .time = rec->last_time };
		struct reading reading;

		if (evlist_read(rec->evlist, counter, &reading) || !reading.lost)
			continue;
		lost += reading.lost;
		put_lost_samples(&rec->sink, &when, reading.lost);
	}
	if (lost > rec->lost)
		rec->lost = lost;
	return recorder_flush(rec);
}

/** recorder_free - forget everything */
void recorder_free(struct recorder *rec)
{
	buf_free(&rec->sink.out);
	buf_free(&rec->newborn);
}
