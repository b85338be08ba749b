// SPDX-License-Identifier: GPL-2.0
/*
 * Open with one attr after another: which attrs are refused, and with which errno.
 * Also the protocol of attr.size.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "parity.h"

#define HW(...)								\
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,	\
	  .size = sizeof(struct perf_event_attr), .disabled = 1,		\
	  .exclude_kernel = 1, .exclude_hv = 1, __VA_ARGS__ }
#define SW(...)								\
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,		\
	  .size = sizeof(struct perf_event_attr), .disabled = 1, __VA_ARGS__ }
#define BRANCH(...) HW(.sample_type = PERF_SAMPLE_BRANCH_STACK, __VA_ARGS__)
#define REGS(...) HW(.sample_period = 100000, .sample_type = PERF_SAMPLE_REGS_USER, __VA_ARGS__)
#define INTR(...) HW(.sample_period = 100000, .sample_type = PERF_SAMPLE_REGS_INTR, __VA_ARGS__)
#define STACK(n) HW(.sample_period = 100000, .sample_type = PERF_SAMPLE_STACK_USER, \
		    .sample_stack_user = (n))
#define CHAIN(...) HW(.sample_period = 100000, .sample_type = PERF_SAMPLE_CALLCHAIN, __VA_ARGS__)

/* the initializers above are overridden on purpose */
#pragma GCC diagnostic ignored "-Woverride-init"

struct attr_case {
	const char *name;
	struct perf_event_attr attr;
};

static const struct attr_case attrs[] = {
	{ "plain", HW() },
	{ "software", SW() },
	{ "reserved-2", HW(.__reserved_2 = 1) },
	{ "reserved-3", HW(.__reserved_3 = 1) },
	{ "read-format-bit-5", HW(.read_format = 1 << 5) },
	{ "read-format-bit-63", HW(.read_format = 1ULL << 63) },
	{ "sample-type-bit-25", HW(.sample_type = 1ULL << 25) },
	{ "sample-type-bit-63", HW(.sample_type = 1ULL << 63) },

	{ "branch-none", BRANCH() },
	{ "branch-user-only", BRANCH(.branch_sample_type = PERF_SAMPLE_BRANCH_USER) },
	{ "branch-any", BRANCH(.branch_sample_type = PERF_SAMPLE_BRANCH_ANY) },
	{ "branch-any-user", BRANCH(.branch_sample_type = PERF_SAMPLE_BRANCH_ANY |
				    PERF_SAMPLE_BRANCH_USER) },
	{ "branch-any-sampling", BRANCH(.branch_sample_type = PERF_SAMPLE_BRANCH_ANY,
					.sample_period = 100000) },
	{ "branch-bit-18", BRANCH(.branch_sample_type = 1ULL << 18 | PERF_SAMPLE_BRANCH_USER) },
	{ "branch-bit-19", BRANCH(.branch_sample_type = 1ULL << 19 | PERF_SAMPLE_BRANCH_USER) },
	{ "branch-bit-20", BRANCH(.branch_sample_type = 1ULL << 20 | PERF_SAMPLE_BRANCH_ANY) },
	{ "branch-bit-63", BRANCH(.branch_sample_type = 1ULL << 63 | PERF_SAMPLE_BRANCH_ANY) },
	{ "branch-bits-without-sample-type", HW(.branch_sample_type = ~0ULL) },
	{ "branch-software", SW(.sample_type = PERF_SAMPLE_BRANCH_STACK,
				.branch_sample_type = PERF_SAMPLE_BRANCH_ANY) },

	{ "regs-user-none", REGS() },
	{ "regs-user-ax", REGS(.sample_regs_user = 1) },
	{ "regs-user-all", REGS(.sample_regs_user = 0xff0fff) },
	{ "regs-user-ds", REGS(.sample_regs_user = 1 << 12 | 1) },
	{ "regs-user-gs", REGS(.sample_regs_user = 1 << 15 | 1) },
	{ "regs-user-24", REGS(.sample_regs_user = 1 << 24) },
	{ "regs-user-31", REGS(.sample_regs_user = 1ULL << 31) },
	{ "regs-user-xmm0", REGS(.sample_regs_user = 1ULL << 32 | 1) },
	{ "regs-user-bits-without-sample-type", HW(.sample_regs_user = ~0ULL) },
	{ "regs-user-software", SW(.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1) },
	{ "regs-intr-none", INTR() },
	{ "regs-intr-ax", INTR(.sample_regs_intr = 1) },
	{ "regs-intr-es", INTR(.sample_regs_intr = 1 << 13 | 1) },
	{ "regs-intr-xmm0", INTR(.sample_regs_intr = 1ULL << 32 | 1) },
	{ "regs-intr-xmm0-software", SW(.sample_type = PERF_SAMPLE_REGS_INTR,
					.sample_regs_intr = 1ULL << 32) },

	{ "stack-0", STACK(0) },
	{ "stack-8", STACK(8) },
	{ "stack-12", STACK(12) },
	{ "stack-65528", STACK(65528) },
	{ "stack-65534", STACK(65534) },
	{ "stack-65535", STACK(65535) },
	{ "stack-65536", STACK(65536) },
	{ "stack-huge", STACK(0xfffffff8) },

	{ "max-stack-127", CHAIN(.sample_max_stack = 127) },
	{ "max-stack-128", CHAIN(.sample_max_stack = 128) },
	{ "max-stack-65535", CHAIN(.sample_max_stack = 65535) },
	{ "max-stack-65535-no-chain", HW(.sample_max_stack = 65535) },
	{ "max-stack-65535-software", SW(.sample_type = PERF_SAMPLE_CALLCHAIN,
					 .sample_max_stack = 65535) },
	{ "chain-of-nothing", CHAIN(.exclude_callchain_kernel = 1, .exclude_callchain_user = 1) },

	{ "weight-twice", HW(.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) },
	{ "inherit-thread-alone", HW(.inherit_thread = 1) },
	{ "inherit-thread", HW(.inherit_thread = 1, .inherit = 1) },
	{ "remove-and-enable-on-exec", HW(.remove_on_exec = 1, .enable_on_exec = 1) },
	{ "remove-on-exec", HW(.remove_on_exec = 1) },
	{ "sigtrap-alone", HW(.sigtrap = 1) },
	{ "sigtrap-remove-on-exec", HW(.sigtrap = 1, .remove_on_exec = 1) },
	{ "sigtrap-sampling", HW(.sigtrap = 1, .remove_on_exec = 1, .sample_period = 100000) },
	{ "inherit-sample-read", HW(.inherit = 1, .sample_period = 100000,
				    .sample_type = PERF_SAMPLE_READ) },
	{ "inherit-sample-read-tid", HW(.inherit = 1, .sample_period = 100000,
					.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID) },
	{ "inherit-format-group", HW(.inherit = 1, .read_format = PERF_FORMAT_GROUP) },
	{ "inherit-sample-read-group", HW(.inherit = 1, .sample_period = 100000,
					  .read_format = PERF_FORMAT_GROUP,
					  .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID) },
	{ "phys-addr", HW(.sample_period = 100000, .sample_type = PERF_SAMPLE_PHYS_ADDR) },
	{ "aux-output", HW(.aux_output = 1) },
	{ "aux-sample-size", HW(.sample_type = PERF_SAMPLE_AUX, .aux_sample_size = 4096) },
	{ "aux-sample", HW(.sample_type = PERF_SAMPLE_AUX) },

	{ "period-1", HW(.sample_period = 1) },
	{ "period-bit-62", HW(.sample_period = 1ULL << 62) },
	{ "period-bit-63", HW(.sample_period = 1ULL << 63) },
	{ "period-0xc0000000000000bd", HW(.sample_period = 0xc0000000000000bdULL) },
	{ "period-bit-63-software", SW(.sample_period = 1ULL << 63) },
	{ "freq-0", HW(.freq = 1) },
	{ "freq-4000", HW(.freq = 1, .sample_freq = 4000) },
	{ "freq-at-limit", HW(.freq = 1, .sample_freq = 1000000) },
	{ "freq-over-limit", HW(.freq = 1, .sample_freq = 1000001) },
	{ "freq-bit-63", HW(.freq = 1, .sample_freq = 1ULL << 63) },
	{ "freq-software", SW(.freq = 1, .sample_freq = 1000001) },

	{ "clock-monotonic", HW(.use_clockid = 1, .clockid = CLOCK_MONOTONIC) },
	{ "clock-raw", HW(.use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW) },
	{ "clock-realtime", HW(.use_clockid = 1, .clockid = CLOCK_REALTIME) },
	{ "clock-boottime", HW(.use_clockid = 1, .clockid = CLOCK_BOOTTIME) },
	{ "clock-tai", HW(.use_clockid = 1, .clockid = CLOCK_TAI) },
	{ "clock-coarse", HW(.use_clockid = 1, .clockid = CLOCK_MONOTONIC_COARSE) },
	{ "clock-cputime", HW(.use_clockid = 1, .clockid = CLOCK_PROCESS_CPUTIME_ID) },
	{ "clock-99", HW(.use_clockid = 1, .clockid = 99) },
	{ "clock-negative", HW(.use_clockid = 1, .clockid = -1) },
	{ "clock-unused", HW(.clockid = 99) },
	{ "clock-realtime-software", SW(.use_clockid = 1, .clockid = CLOCK_REALTIME) },
	{ "clock-boottime-software", SW(.use_clockid = 1, .clockid = CLOCK_BOOTTIME) },
	{ "clock-tai-software", SW(.use_clockid = 1, .clockid = CLOCK_TAI) },
	{ "clock-99-software", SW(.use_clockid = 1, .clockid = 99) },

	{ "precise-1", HW(.precise_ip = 1) },
	{ "precise-1-sampling", HW(.precise_ip = 1, .sample_period = 100000) },
	{ "precise-2-sampling", HW(.precise_ip = 2, .sample_period = 100000) },
	{ "precise-3-sampling", HW(.precise_ip = 3, .sample_period = 100000) },
	{ "precise-3-software", SW(.precise_ip = 3, .sample_period = 1) },
	{ "exclude-everything", HW(.exclude_user = 1) },
	{ "wakeup-huge", HW(.watermark = 1, .wakeup_watermark = 0xffffffff) },
	{ "config1", HW(.config1 = ~0ULL) },
	{ "config2", HW(.config2 = ~0ULL) },
	{ "config1-software", SW(.config1 = ~0ULL, .config2 = ~0ULL) },
	{ "sig-data-alone", HW(.sig_data = 1) },
	{ "exclusive-pinned", HW(.exclusive = 1, .pinned = 1) },
};

static void open_attr(const void *arg)
{
	say_result("open", try_open(arg, 0, -1, -1, 0));
}

/* An attr of a given size, with or without a byte set beyond the known size. */
struct size_case {
	const char *name;
	unsigned int size;
	unsigned int set;
};

static const struct size_case sizes[] = {
	{ "0", 0, 0 }, { "1", 1, 0 }, { "63", 63, 0 }, { "64", 64, 0 }, { "65", 65, 0 },
	{ "72", 72, 0 }, { "80", 80, 0 }, { "96", 96, 0 }, { "104", 104, 0 },
	{ "112", 112, 0 }, { "120", 120, 0 }, { "128", 128, 0 }, { "136", 136, 0 },
	{ "144", 144, 0 }, { "144-set", 144, 140 }, { "200", 200, 0 }, { "200-set", 200, 199 },
	{ "4096", 4096, 0 }, { "4096-set", 4096, 4095 }, { "4097", 4097, 0 },
	{ "huge", 0xffffffff, 0 }, { "64-set-behind", 64, 100 },
};

static void open_size(const void *arg)
{
	const struct size_case *size = arg;
	struct perf_event_attr attr = instructions();
	static unsigned char bytes[8192];
	unsigned int after;

	attr.size = size->size;
	memcpy(bytes, &attr, PERF_ATTR_SIZE_VER0);
	if (size->set)
		bytes[size->set] = 1;
	say_result("open", try_open(bytes, 0, -1, -1, 0));
	memcpy(&after, bytes + offsetof(struct perf_event_attr, size), sizeof(after));
	say("size=%u", after);
}

static void open_null(void)
{
	say_result("open", try_open(NULL, 0, -1, -1, 0));
	say_result("kernel", try_open((void *)0xffff888000000000ULL, 0, -1, -1, 0));
	say_result("odd", try_open((void *)1, 0, -1, -1, 0));
}

/* The attr crosses a page end into an unmapped page or a read-only page. */
static void open_at_end(unsigned int size, unsigned int there, int protection)
{
	struct perf_event_attr attr = instructions();
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = pages + 4096 - there;

	attr.size = size;
	memcpy(at, &attr, there);
	mprotect(pages + 4096, 4096, PROT_NONE);
	mprotect(pages, 4096, protection);
	say_result("open", try_open(at, 0, -1, -1, 0));
}

static void open_body_faults(void)
{
	open_at_end(128, 64, PROT_READ | PROT_WRITE);
}

static void open_size_faults(void)
{
	open_at_end(128, 4, PROT_READ | PROT_WRITE);
}

static void open_tail_faults(void)
{
	open_at_end(256, 192, PROT_READ | PROT_WRITE);
}

static void open_readonly(void)
{
	open_at_end(64, 64, PROT_READ);
}

static void open_readonly_wrong_size(void)
{
	open_at_end(8, 64, PROT_READ);
}

static const struct simple_case memory[] = {
	{ "bad-pointer", open_null },
	{ "body-faults", open_body_faults },
	{ "size-faults", open_size_faults },
	{ "tail-faults", open_tail_faults },
	{ "readonly", open_readonly },
	{ "readonly-wrong-size", open_readonly_wrong_size },
};

/**
 * theme_attr - accepted and refused attrs
 */
void theme_attr(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		run_case("attr", attrs[i].name, open_attr, &attrs[i].attr);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		run_case("attr-size", sizes[i].name, open_size, &sizes[i]);
	run_simple("attr-memory", memory, ARRAY_SIZE(memory));
}
