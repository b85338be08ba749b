// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of a sample: every combination of the fields that are built has
 * the right size and each field at its place.
 */
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		30011
#define ROUNDS		(3 * PERIOD / WORK_ROUND + 1)

/* the fields in the order of the record, whatever the order of their bits */
static const uint64_t fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
	PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW, PERF_SAMPLE_WEIGHT,
	PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_TRANSACTION,
};

/* by place: those that few samples have */
#define RARE		0x7e10U
#define ALL		((1U << ARRAY_SIZE(fields)) - 1)
#define COMBINATIONS	(256 + 128)

struct expected {
	uint64_t sample_type;
	uint64_t id;
	uint64_t start;
	uint64_t samples;
	uint64_t wrong;
};

/* Those that are the same each time, on a PMU that tells no more. */
static bool constant_is_right(uint64_t field, uint64_t value)
{
	switch (field) {
	case PERF_SAMPLE_ADDR:
	case PERF_SAMPLE_WEIGHT:
	case PERF_SAMPLE_TRANSACTION:
	case PERF_SAMPLE_CALLCHAIN:
		/* of which both parts are excluded: the number of addresses */
		return !value;
	case PERF_SAMPLE_RAW:
		/* four bytes, all zero */
		return value == 4;
	case PERF_SAMPLE_DATA_SRC:
		/* "not available", with or without the word for it in lvl_num */
		return value == 0x1e05080021 || value == 0x5080021;
	}
	return false;
}

static bool field_is_right(uint64_t field, uint64_t value, const struct expected *want)
{
	switch (field) {
	case PERF_SAMPLE_IDENTIFIER:
	case PERF_SAMPLE_ID:
	case PERF_SAMPLE_STREAM_ID:
		return value == want->id;
	case PERF_SAMPLE_IP:
		return work_counted_has_ip(value);
	case PERF_SAMPLE_TID:
		return value == ((uint32_t)getpid() | (uint64_t)gettid() << 32);
	case PERF_SAMPLE_TIME:
		/* no older than the machine, no younger than the test */
		return value > 0 && value < want->start + 3600000000000ULL;
	case PERF_SAMPLE_CPU:
		return value == 0;
	case PERF_SAMPLE_PERIOD:
		return value == PERIOD;
	case PERF_SAMPLE_READ:
		/* the count alone */
		return value / PERIOD == want->samples;
	}
	return constant_is_right(field, value);
}

static void check_sample(const struct record *rec, void *data)
{
	struct expected *want = data;
	const uint64_t *at = rec->field;

	if (rec->header.type != PERF_RECORD_SAMPLE) {
		want->wrong++;
		return;
	}
	want->samples++;
	if (rec->header.size != sizeof(rec->header) + 8 * __builtin_popcountll(want->sample_type)) {
		diag("sample_type %#llx: size %u", (unsigned long long)want->sample_type,
		     rec->header.size);
		want->wrong++;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!(want->sample_type & fields[i]))
			continue;
		if (!field_is_right(fields[i], *at, want)) {
			diag("sample_type %#llx: field %#llx is %#llx",
			     (unsigned long long)want->sample_type,
			     (unsigned long long)fields[i], (unsigned long long)*at);
			want->wrong++;
		}
		at++;
	}
}

static void combination(unsigned int bits)
{
	struct expected want = { .start = now_ns() };
	struct perf_event_attr attr;
	struct ring ring;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (bits & 1U << i)
			want.sample_type |= fields[i];
	attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, want.sample_type);
	attr.exclude_callchain_kernel = 1;
	attr.exclude_callchain_user = 1;
	fd = open_self(&attr);
	want.id = event_id(fd);
	map_ring(&ring, fd, 1);
	work_counted(fd, ROUNDS);
	drain(&ring, check_sample, &want);
	ok(want.samples == 3 && !want.wrong, "sample_type %#llx",
	   (unsigned long long)want.sample_type);
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(COMBINATIONS);
	/* each combination of the common ones; each of the rare ones, with all of these */
	for (unsigned int bits = 0; bits <= ALL; bits++)
		if (!(bits & RARE))
			combination(bits);
	for (unsigned int bits = 0; bits <= ALL; bits++)
		if ((bits | RARE) == ALL)
			combination(bits);
	return done();
}
