// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the layout of samples and of the sample_id trailer (sample/sample.c,
 * sample/record.c) against bytes worked out by hand from perf_event.h (enum
 * perf_event_type). Called by KUnit in task context.
 */
#include <kunit/test.h>
#include <linux/ktime.h>

#include "sample/sample.h"

/* The fields by their bits in sample_type */
#define IP		0x1ULL
#define TID		0x2ULL
#define TIME		0x4ULL
#define ID		0x40ULL
#define CPU		0x80ULL
#define PERIOD		0x100ULL
#define STREAM_ID	0x200ULL
#define IDENTIFIER	0x10000ULL
#define ADDR		0x8ULL
#define CALLCHAIN	0x20ULL
#define RAW		0x400ULL
#define WEIGHT		0x4000ULL
#define DATA_SRC	0x8000ULL
#define TRANSACTION	0x20000ULL
#define WEIGHT_STRUCT	0x1000000ULL

/* All that can be built, READ and WEIGHT_STRUCT included */
#define BUILT		0x103c7ffULL

static const struct pmr_sample sample = {
	.ip = 0x1112131415161718,
	.pid = 0x21222324,
	.tid = 0x31323334,
	.time = 0x4142434445464748,
	.addr = 0x8182838485868788,
	.id = 0x5152535455565758,
	.stream_id = 0x9192939495969798,
	.cpu = 0x61626364,
	.period = 0x7172737475767778,
};

#define IP_BYTES	"\x18\x17\x16\x15\x14\x13\x12\x11"
#define TID_BYTES	"\x24\x23\x22\x21\x34\x33\x32\x31"
#define TIME_BYTES	"\x48\x47\x46\x45\x44\x43\x42\x41"
#define ID_BYTES	"\x58\x57\x56\x55\x54\x53\x52\x51"
#define ADDR_BYTES	"\x88\x87\x86\x85\x84\x83\x82\x81"
#define STREAM_BYTES	"\x98\x97\x96\x95\x94\x93\x92\x91"
#define CPU_BYTES	"\x64\x63\x62\x61\0\0\0\0"
#define PERIOD_BYTES	"\x78\x77\x76\x75\x74\x73\x72\x71"
/* A size of four, and four bytes */
#define RAW_BYTES	"\4\0\0\0\0\0\0\0"
#define NO_BYTES	"\0\0\0\0\0\0\0\0"
/* "not available" in op, lvl, snoop, lock, dtlb and lvl_num */
#define DATA_SRC_BYTES	"\x21\0\x08\x05\x1e\0\0\0"

/**
 * struct field - one field
 * @type: its bit
 * @bytes: what it looks like
 */
struct field {
	u64 type;
	u8 bytes[8];
};

/* In the order of PERF_RECORD_SAMPLE */
static const struct field body[] = {
	{ IDENTIFIER, ID_BYTES },
	{ IP, IP_BYTES },
	{ TID, TID_BYTES },
	{ TIME, TIME_BYTES },
	{ ADDR, ADDR_BYTES },
	{ ID, ID_BYTES },
	{ STREAM_ID, STREAM_BYTES },
	{ CPU, CPU_BYTES },
	{ PERIOD, PERIOD_BYTES },
	{ RAW, RAW_BYTES },
	{ WEIGHT, NO_BYTES },
	{ DATA_SRC, DATA_SRC_BYTES },
	{ TRANSACTION, NO_BYTES },
};

/* In the order of struct sample_id */
static const struct field trailer[] = {
	{ TID, TID_BYTES },
	{ TIME, TIME_BYTES },
	{ ID, ID_BYTES },
	{ STREAM_ID, STREAM_BYTES },
	{ CPU, CPU_BYTES },
	{ IDENTIFIER, ID_BYTES },
};

typedef u64 *(*write_fn)(u64 *pos, u64 sample_type, const struct pmr_sample *sample);

/* Bytes that @write writes; nothing may be touched behind them. */
static size_t write_into(struct kunit *test, write_fn write, u64 types, u8 *out, size_t size)
{
	size_t length;
	u8 *end;

	memset(out, 0xee, size);
	end = (u8 *)write((u64 *)out, types, &sample);
	length = end - out;
	KUNIT_ASSERT_LE(test, length, size);
	KUNIT_EXPECT_NULL(test, memchr_inv(end, 0xee, size - length));
	return length;
}

static void each_field_alone(struct kunit *test)
{
	u64 out[10];
	int i;

	for (i = 0; i < ARRAY_SIZE(body); i++) {
		KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, body[i].type, (u8 *)out,
						 sizeof(out)), 8);
		KUNIT_EXPECT_MEMEQ(test, (u8 *)out, body[i].bytes, 8);
	}
	for (i = 0; i < ARRAY_SIZE(trailer); i++) {
		KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write_id, trailer[i].type,
						 (u8 *)out, sizeof(out)), 8);
		KUNIT_EXPECT_MEMEQ(test, (u8 *)out, trailer[i].bytes, 8);
	}
}

static void weight_comes_in_two_forms(struct kunit *test)
{
	u64 out[10];

	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, WEIGHT_STRUCT, (u8 *)out,
					 sizeof(out)), 8);
	KUNIT_EXPECT_EQ(test, out[0], 0ULL);
}

static void a_call_chain_is_copied(struct kunit *test)
{
	static const u64 want[] = {
		0x7172737475767778, 3, 0xffffffffffffff80, 0xffffffff81000000,
		0xfffffffffffffe00, 4,
	};
	struct pmr_callchain *chain = kunit_kzalloc(test, 4 * sizeof(u64), GFP_KERNEL);
	struct pmr_sample with_chain = sample;
	u64 out[ARRAY_SIZE(want)], *end;

	KUNIT_ASSERT_NOT_NULL(test, chain);
	chain->nr = 3;
	memcpy(chain->ip, want + 2, 3 * sizeof(u64));
	with_chain.callchain = chain;
	end = pmr_sample_write(out, PERIOD | CALLCHAIN | RAW, &with_chain);
	KUNIT_ASSERT_PTR_EQ(test, end, out + ARRAY_SIZE(want));
	KUNIT_EXPECT_MEMEQ(test, out, want, sizeof(want));
}

static void other_fields_are_left_out(struct kunit *test)
{
	u64 out[10];

	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write, ~BUILT, (u8 *)out, sizeof(out)),
			0);
	/* IP, ADDR and PERIOD are no part of the trailer, nor is what they are followed by. */
	KUNIT_EXPECT_EQ(test, write_into(test, pmr_sample_write_id, ~0x102c6ULL, (u8 *)out,
					 sizeof(out)), 0);
}

/* Combination @n of the fixed fields as sample_type */
static u64 combination(int n)
{
	u64 types = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(body); i++)
		if (n & BIT(i))
			types |= body[i].type;
	return types;
}

static size_t expected(u8 *out, const struct field *fields, int number, u64 types)
{
	size_t length = 0;
	int i;

	for (i = 0; i < number; i++) {
		if (!(types & fields[i].type))
			continue;
		memcpy(out + length, fields[i].bytes, 8);
		length += 8;
	}
	return length;
}

static void every_combination_has_its_plan(struct kunit *test)
{
	u64 out[ARRAY_SIZE(body) + 2];
	u8 want[8 * ARRAY_SIZE(body)];
	int n;

	for (n = 0; n < BIT(ARRAY_SIZE(body)); n++) {
		struct perf_event_attr attr = { .sample_type = combination(n), .sample_id_all = 1 };
		struct pmr_plan plan = { };
		size_t length;

		pmr_sample_plan(&plan, &attr, &init_pid_ns);
		length = expected(want, body, ARRAY_SIZE(body), attr.sample_type);
		KUNIT_ASSERT_EQ(test, write_into(test, pmr_sample_write, plan.sample_type,
						 (u8 *)out, sizeof(out)), length);
		KUNIT_ASSERT_MEMEQ(test, (u8 *)out, want, length);
		KUNIT_ASSERT_EQ(test, plan.sample_size, 8 + length);

		length = expected(want, trailer, ARRAY_SIZE(trailer), attr.sample_type);
		KUNIT_ASSERT_EQ(test, write_into(test, pmr_sample_write_id, plan.sample_type,
						 (u8 *)out, sizeof(out)), length);
		KUNIT_ASSERT_MEMEQ(test, (u8 *)out, want, length);
		KUNIT_ASSERT_EQ(test, plan.id_size, length);
		KUNIT_ASSERT_EQ(test, plan.lost_size, 24 + length);
		KUNIT_ASSERT_EQ(test, plan.throttle_size, 32 + length);
	}
}

static void no_trailer_unless_asked_for(struct kunit *test)
{
	struct perf_event_attr attr = { .sample_type = BUILT };
	struct pmr_plan plan = { };

	/* READ and CALLCHAIN are not counted. */
	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_EQ(test, plan.sample_size, 8 + 14 * 8);
	KUNIT_EXPECT_EQ(test, plan.id_size, 0);
	KUNIT_EXPECT_EQ(test, plan.lost_size, 24);
	KUNIT_EXPECT_EQ(test, plan.throttle_size, 32);
}

static void the_plan_knows_the_clock(struct kunit *test)
{
	struct perf_event_attr attr = { .clockid = CLOCK_MONOTONIC };
	struct pmr_plan plan = { };

	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, NULL);
	attr.use_clockid = 1;
	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, &ktime_get_mono_fast_ns);
	attr.clockid = CLOCK_MONOTONIC_RAW;
	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_PTR_EQ(test, plan.clock, &ktime_get_raw_fast_ns);
}

static void only_rare_fields_make_a_sample_variable(struct kunit *test)
{
	struct perf_event_attr attr = { .sample_type = 0x103c7 };
	struct pmr_plan plan = { };
	int bit;

	pmr_sample_plan(&plan, &attr, &init_pid_ns);
	KUNIT_EXPECT_FALSE(test, plan.variable);
	for (bit = 0; bit < 25; bit++) {
		attr.sample_type = BIT_ULL(bit);
		pmr_sample_plan(&plan, &attr, &init_pid_ns);
		KUNIT_EXPECT_EQ(test, plan.variable, !!(BIT_ULL(bit) & BUILT & ~0x103c7ULL));
	}
}

static struct kunit_case sample_cases[] = {
	KUNIT_CASE(each_field_alone),
	KUNIT_CASE(weight_comes_in_two_forms),
	KUNIT_CASE(a_call_chain_is_copied),
	KUNIT_CASE(other_fields_are_left_out),
	KUNIT_CASE(every_combination_has_its_plan),
	KUNIT_CASE(no_trailer_unless_asked_for),
	KUNIT_CASE(the_plan_knows_the_clock),
	KUNIT_CASE(only_rare_fields_make_a_sample_variable),
	{}
};

static struct kunit_suite sample_suite = {
	.name = "pmuring_sample",
	.test_cases = sample_cases,
};

kunit_test_suite(sample_suite);
