// SPDX-License-Identifier: GPL-2.0
/*
 * Opening with each single bit of the attr's bit field, of sample_type and of
 * branch_sample_type, in a hardware event, a sampled one, and a software event.
 */
#include <stdio.h>
#include <string.h>

#include "parity.h"

enum { COUNTED, SAMPLED, SOFT, CLOCK, KINDS };

static const char *const kind_names[KINDS] = { "counted", "sampled", "dummy", "cpu-clock" };

static struct perf_event_attr of_kind(unsigned int kind)
{
	switch (kind) {
	case SAMPLED:
		return sampling(100000, PERF_SAMPLE_IP);
	case SOFT:
		return software(PERF_COUNT_SW_DUMMY);
	case CLOCK:
		return software(PERF_COUNT_SW_CPU_CLOCK);
	default:
		return instructions();
	}
}

struct bit {
	unsigned int kind;
	unsigned int number;
};

/* The bit field is the word before wakeup_events. */
#define FLAGS_OFFSET (offsetof(struct perf_event_attr, wakeup_events) - sizeof(uint64_t))

static void open_flag(const void *arg)
{
	const struct bit *bit = arg;
	struct perf_event_attr attr = of_kind(bit->kind);
	uint64_t flags;

	memcpy(&flags, (char *)&attr + FLAGS_OFFSET, sizeof(flags));
	flags ^= 1ULL << bit->number;
	memcpy((char *)&attr + FLAGS_OFFSET, &flags, sizeof(flags));
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void open_sample_type(const void *arg)
{
	const struct bit *bit = arg;
	struct perf_event_attr attr = of_kind(bit->kind);

	attr.sample_type = 1ULL << bit->number;
	attr.sample_regs_user = 0xff;
	attr.sample_regs_intr = 0xff;
	attr.sample_stack_user = 64;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void open_branch_type(const void *arg)
{
	const struct bit *bit = arg;
	struct perf_event_attr attr = of_kind(bit->kind);

	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = 1ULL << bit->number;
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void sweep(const char *theme, case_fn fn, unsigned int kind, unsigned int bits)
{
	struct bit bit = { .kind = kind };
	char name[40];

	for (bit.number = 0; bit.number < bits; bit.number++) {
		snprintf(name, sizeof(name), "%s-%u", kind_names[kind], bit.number);
		run_case(theme, name, fn, &bit);
	}
}

/**
 * theme_bits - every bit alone
 */
void theme_bits(void)
{
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		sweep("flag", open_flag, kind, 64);
		sweep("sample-type", open_sample_type, kind, 26);
	}
	sweep("branch-type", open_branch_type, COUNTED, 20);
}
