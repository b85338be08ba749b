// SPDX-License-Identifier: GPL-2.0
/*
 * Writes and reads a perf.data file, and then reads many damaged copies of it. Each must
 * end in a message or a report, never in a bad access, which the sanitized build
 * detects. Run on the host.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "perfdata_read.h"
#include "perfdata_write.h"
#include "records.h"
#include "tap.h"
#include "util.h"

#define TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define DAMAGES	4000

static char path[64] = "/tmp/perfdata_test.XXXXXX";

struct seen {
	struct machine machine;
	unsigned int samples;
	unsigned int comms;
	uint64_t last_time;
	bool ordered;
	struct sample sample;
	size_t event;
};

static int see(void *ctx, const struct record *rec)
{
	struct seen *seen = ctx;

	seen->ordered = seen->ordered && rec->sample.time >= seen->last_time;
	if (rec->header->type == PERF_RECORD_SAMPLE) {
		seen->samples++;
		seen->sample = rec->sample;
		seen->event = rec->event;
		seen->last_time = rec->sample.time;
	}
	seen->comms += rec->header->type == PERF_RECORD_COMM;
	machine_see(&seen->machine, rec);
	return 0;
}

static void put_sample(struct record_sink *sink, uint64_t id, uint64_t time)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time;
	} rec = {
		.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(rec) },
		.id = id, .ip = 0x401234, .pid = 7, .tid = 8, .time = time,
	};

	buf_add(&sink->out, &rec, sizeof(rec));
}

static int write_file(void)
{
	struct event events[2] = { { .name = "cycles" },
				   { .name = "instructions:u", .leader = 1 } };
	struct event_list list = { events, 2 };
	struct counter counters[2] = { { .event = 0, .id = 11 }, { .event = 1, .id = 12 } };
	struct evlist evlist = { .events = &list, .counters = counters, .nr = 2 };
	char *argv[3] = { "pmuring", "record", NULL };
	struct perfdata_facts facts = { .evlist = &evlist, .argv = argv };
	struct record_sink sink = { .sample_type = TYPE };
	struct sample when = { .pid = 7, .tid = 8, .time = 5 };
	struct mapping map = { .start = 0x400000, .end = 0x500000, .name = "/bin/x" };
	struct perfdata_out out;
	struct iovec iov;
	int ret;

	for (int i = 0; i < 2; i++) {
		events[i].attr.size = sizeof(struct perf_event_attr);
		events[i].attr.sample_type = TYPE;
		events[i].attr.sample_id_all = 1;
	}
	/* later in the file, earlier in time */
	put_sample(&sink, 12, 100);
	put_sample(&sink, 11, 10);
	put_comm(&sink, &when, "worker");
	put_mmap2(&sink, &when, &map);
	iov = (struct iovec){ sink.out.data, sink.out.len };
	ret = perfdata_begin(&out, path, &evlist) || perfdata_write(&out, &iov, 1) ||
	      perfdata_finish(&out, &facts);
	buf_free(&sink.out);
	return ret;
}

static int read_back(struct seen *seen)
{
	struct perfdata_in in;
	int ret = perfdata_open(&in, path);

	memset(seen, 0, sizeof(*seen));
	seen->ordered = true;
	if (!ret)
		ret = perfdata_for_each(&in, see, seen);
	perfdata_close(&in);
	return ret;
}

static void test_names(void)
{
	struct perfdata_in in;

	ok(!perfdata_open(&in, path) && in.nr_events == 2 &&
	   !strcmp(in.events[0].name, "cycles") &&
	   !strcmp(in.events[1].name, "instructions:u"), "names of the events");
	perfdata_close(&in);
}

static void test_round_trip(void)
{
	struct seen seen;
	const struct code_map *map;

	ok(!write_file(), "the file is written");
	test_names();
	ok(!read_back(&seen), "the file is read back");
	is(seen.samples, 2, "samples");
	is(seen.comms, 1, "COMM records");
	ok(seen.ordered, "records are read in time order");
	is(seen.event, 1, "the last sample's event, by its ID");
	is(seen.sample.ip, 0x401234, "its IP");
	is(seen.sample.time, 100, "its time");
	ok(!strcmp(machine_comm(&seen.machine, &seen.sample), "worker"),
	   "the sample has the right command");
	map = machine_map(&seen.machine, 7, 0x401234);
	ok(map && !strcmp(map->name, "/bin/x"), "the sample has the right file");
	machine_free(&seen.machine);
}

static void save(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		bail_out("cannot write %s", path);
	close(fd);
}

/* the same sequence in every run: a failure can be repeated */
static unsigned int next_random(void)
{
	static unsigned long state = 1;

	state = state * 6364136223846793005UL + 1442695040888963407UL;
	return state >> 33;
}

static void damage(char *bytes, size_t len)
{
	static const uint64_t nasty[] = { 0, 1, 7, 8, 0xffff, 0x7fffffff, 0xffffffff, ~0ULL };

	for (unsigned int n = 1 + next_random() % 4; n; n--) {
		uint64_t value = nasty[next_random() % ARRAY_SIZE(nasty)];
		size_t width = 1U << next_random() % 4;

		memcpy(bytes + next_random() % (len - width), &value, width);
	}
}

static void test_damage(void)
{
	size_t len = 0;
	char *good = read_file(path, &len), *bytes = xalloc(len);
	unsigned int refused = 0;
	struct seen seen;

	if (!good || !freopen("/dev/null", "w", stderr))
		bail_out("cannot read %s", path);
	for (size_t cut = 0; cut < len; cut += 8) {
		save(good, cut);
		refused += !!read_back(&seen);
		machine_free(&seen.machine);
	}
	ok(refused, "files cut short: %u refused", refused);
	refused = 0;
	for (int i = 0; i < DAMAGES; i++) {
		memcpy(bytes, good, len);
		damage(bytes, len);
		save(bytes, len);
		refused += !!read_back(&seen);
		machine_free(&seen.machine);
	}
	ok(refused && refused < DAMAGES, "damaged files: %u of %u refused", refused, DAMAGES);
	free(good);
	free(bytes);
}

int main(void)
{
	int fd = mkstemp(path);
	char *old;

	plan(13);
	if (fd < 0)
		bail_out("cannot make a file in /tmp");
	close(fd);
	test_round_trip();
	test_damage();
	old = xasprintf("%s.old", path);
	unlink(old);
	free(old);
	unlink(path);
	return done();
}
