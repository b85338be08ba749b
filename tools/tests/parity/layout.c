// SPDX-License-Identifier: GPL-2.0
/*
 * The order of fields in samples and in the trailers of other records: each field is
 * compared with its expected value.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	16000
#define ROUNDS	10000

/* what the fields are compared with */
struct expected {
	struct perf_event_attr attr;
	uint64_t id;
	uint64_t time;
	unsigned int records;
	bool said;
	bool wrong;
};

static uint64_t take(const unsigned char **at)
{
	uint64_t word;

	memcpy(&word, *at, sizeof(word));
	*at += sizeof(word);
	return word;
}

static void check(struct expected *expected, const char *field, bool right)
{
	if (right || expected->wrong)
		return;
	say("%s-wrong", field);
	expected->wrong = true;
}

static bool is_ours(uint64_t word)
{
	return (uint32_t)word == (uint32_t)getpid() &&
	       word >> 32 == (uint64_t)syscall(SYS_gettid);
}

/* The fields from IDENTIFIER to PERIOD. */
static void check_fixed(struct expected *expected, const unsigned char **at)
{
	uint64_t types = expected->attr.sample_type, time;

	if (types & PERF_SAMPLE_IDENTIFIER)
		check(expected, "identifier", take(at) == expected->id);
	if (types & PERF_SAMPLE_IP)
		check(expected, "ip", work_counted_has_ip(take(at)));
	if (types & PERF_SAMPLE_TID)
		check(expected, "tid", is_ours(take(at)));
	if (types & PERF_SAMPLE_TIME) {
		time = take(at);
		check(expected, "time", time > expected->time);
		expected->time = time;
	}
	if (types & PERF_SAMPLE_ADDR)
		check(expected, "addr", !take(at));
	if (types & PERF_SAMPLE_ID)
		check(expected, "id", take(at) == expected->id);
	if (types & PERF_SAMPLE_STREAM_ID)
		check(expected, "stream", take(at) == expected->id);
	if (types & PERF_SAMPLE_CPU)
		check(expected, "cpu", !take(at));
	if (types & PERF_SAMPLE_PERIOD)
		check(expected, "period", take(at) == PERIOD);
}

static void say_once(struct expected *expected, const char *what, unsigned long long value)
{
	if (!expected->said)
		say("%s=%#llx", what, value);
}

static void check_read(struct expected *expected, const unsigned char **at)
{
	uint64_t value = take(at), enabled = take(at), running = take(at);

	check(expected, "value", value >= PERIOD * (uint64_t)(expected->records + 1) &&
	      value < PERIOD * (uint64_t)(expected->records + 1) + 100);
	check(expected, "times", enabled >= running && running);
	check(expected, "read-id", take(at) == expected->id);
	check(expected, "read-lost", !take(at));
}

static void check_chain(struct expected *expected, const unsigned char **at)
{
	uint64_t n = take(at), context = take(at);

	say_once(expected, "chain", n);
	say_once(expected, "context-minus", -context);
	check(expected, "chain-ip", n > 1 && work_counted_has_ip(take(at)));
	*at += (n > 2 ? n - 2 : 0) * sizeof(uint64_t);
}

static void check_regs(struct expected *expected, const unsigned char **at, const char *what)
{
	uint64_t abi = take(at);

	say_once(expected, what, abi);
	/* AX, IP, SP */
	if (!abi)
		return;
	take(at);
	check(expected, "regs-sp", take(at) >> 40 == (uintptr_t)__builtin_frame_address(0) >> 40);
	check(expected, "regs-ip", work_counted_has_ip(take(at)));
}

static void check_stack(struct expected *expected, const unsigned char **at)
{
	uint64_t size = take(at);

	say_once(expected, "stack", size);
	if (!size)
		return;
	*at += size;
	say_once(expected, "stack-copied", take(at));
}

static void check_sample(const struct perf_event_header *rec, void *data)
{
	const unsigned char *at = (const unsigned char *)(rec + 1);
	struct expected *expected = data;
	uint64_t types = expected->attr.sample_type;

	if (rec->type != PERF_RECORD_SAMPLE)
		return;
	check_fixed(expected, &at);
	if (types & PERF_SAMPLE_READ)
		check_read(expected, &at);
	if (types & PERF_SAMPLE_CALLCHAIN)
		check_chain(expected, &at);
	if (types & PERF_SAMPLE_RAW)
		say_once(expected, "raw", take(&at));
	if (types & PERF_SAMPLE_REGS_USER)
		check_regs(expected, &at, "regs-user");
	if (types & PERF_SAMPLE_STACK_USER)
		check_stack(expected, &at);
	if (types & PERF_SAMPLE_WEIGHT)
		say_once(expected, "weight", take(&at));
	if (types & PERF_SAMPLE_DATA_SRC)
		say_once(expected, "data-src", take(&at));
	if (types & PERF_SAMPLE_TRANSACTION)
		say_once(expected, "transaction", take(&at));
	if (types & PERF_SAMPLE_REGS_INTR)
		check_regs(expected, &at, "regs-intr");
	check(expected, "size", (size_t)(at - (const unsigned char *)rec) == rec->size);
	expected->said = true;
	expected->records++;
}

static void take_apart(uint64_t sample_type)
{
	struct expected expected = { .attr = sampling(PERIOD, sample_type) };
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	expected.attr.read_format = FORMAT_TIMES | PERF_FORMAT_ID | FORMAT_LOST;
	expected.attr.exclude_callchain_kernel = 1;
	/* AX, SP, IP */
	expected.attr.sample_regs_user = 1 | 1 << 7 | 1 << 8;
	expected.attr.sample_regs_intr = 1 | 1 << 7 | 1 << 8;
	expected.attr.sample_stack_user = 128;
	fd = open_self(&expected.attr);
	expected.id = event_id(fd);
	must_map(&ring, fd, 32);
	work_framed(fd, ROUNDS);
	drain(&ring, &tally, check_sample, &expected);
	say("records=%u size=%u", expected.records, tally.size[PERF_RECORD_SAMPLE]);
	say("%s", expected.wrong ? "WRONG" : "right");
}

#define FIXED (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	       PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
	       PERF_SAMPLE_PERIOD)

static const struct {
	const char *name;
	uint64_t types;
} layouts[] = {
	{ "fixed", FIXED },
	{ "read", FIXED | PERF_SAMPLE_READ },
	{ "chain", FIXED | PERF_SAMPLE_CALLCHAIN },
	{ "raw", FIXED | PERF_SAMPLE_RAW },
	{ "regs-user", FIXED | PERF_SAMPLE_REGS_USER },
	{ "stack-user", FIXED | PERF_SAMPLE_STACK_USER },
	{ "regs-intr", FIXED | PERF_SAMPLE_REGS_INTR },
	{ "weight", FIXED | PERF_SAMPLE_WEIGHT },
	{ "data-src", FIXED | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION },
	{ "all", FIXED | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
		 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
		 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR },
	{ "raw-and-all", FIXED | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT },
};

static void run_layout(const void *arg)
{
	take_apart(*(const uint64_t *)arg);
}

/* The trailer of a COMM record: its fields end where the record does. */
static void check_trailer(const struct perf_event_header *rec, void *data)
{
	const unsigned char *end = (const unsigned char *)rec + rec->size, *at = end;
	struct expected *expected = data;
	uint64_t types = expected->attr.sample_type;

	if (rec->type != PERF_RECORD_COMM)
		return;
	for (unsigned int i = 0; i < 6; i++) {
		static const uint64_t in_trailer[] = {
			PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
			PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
		};

		if (types & in_trailer[i])
			at -= sizeof(uint64_t);
	}
	if (types & PERF_SAMPLE_TID)
		check(expected, "tid", is_ours(take(&at)));
	if (types & PERF_SAMPLE_TIME)
		check(expected, "time", take(&at) > 0);
	if (types & PERF_SAMPLE_ID)
		check(expected, "id", take(&at) == expected->id);
	if (types & PERF_SAMPLE_STREAM_ID)
		check(expected, "stream", take(&at) == expected->id);
	if (types & PERF_SAMPLE_CPU)
		check(expected, "cpu", !take(&at));
	if (types & PERF_SAMPLE_IDENTIFIER)
		check(expected, "identifier", take(&at) == expected->id);
	expected->records++;
}

static void trailer(const void *arg)
{
	struct expected expected = { .attr = software(PERF_COUNT_SW_DUMMY) };
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	expected.attr.sample_type = *(const uint64_t *)arg;
	expected.attr.sample_id_all = 1;
	expected.attr.comm = 1;
	expected.attr.disabled = 0;
	fd = open_self(&expected.attr);
	expected.id = event_id(fd);
	must_map(&ring, fd, 8);
	prctl(PR_SET_NAME, "renamed");
	drain(&ring, &tally, check_trailer, &expected);
	say("records=%u size=%u", expected.records, tally.size[PERF_RECORD_COMM]);
	say("%s", expected.wrong ? "WRONG" : "right");
}

static const struct {
	const char *name;
	uint64_t types;
} trailers[] = {
	{ "none", PERF_SAMPLE_IP },
	{ "tid", PERF_SAMPLE_TID },
	{ "time", PERF_SAMPLE_TIME },
	{ "id", PERF_SAMPLE_ID },
	{ "stream", PERF_SAMPLE_STREAM_ID },
	{ "cpu", PERF_SAMPLE_CPU },
	{ "identifier", PERF_SAMPLE_IDENTIFIER },
	{ "all", FIXED },
};

/**
 * theme_layout - order of fields
 */
void theme_layout(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		run_case("layout", layouts[i].name, run_layout, &layouts[i].types);
	for (size_t i = 0; i < ARRAY_SIZE(trailers); i++)
		run_case("trailer", trailers[i].name, trailer, &trailers[i].types);
}
