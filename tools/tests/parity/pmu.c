// SPDX-License-Identifier: GPL-2.0
/*
 * Open one event after another: types, generic and cache events, raw codes, software
 * events, probes, and more events at once than counters.
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

struct code {
	uint32_t type;
	uint64_t config;
};

static void open_code(const void *arg)
{
	const struct code *code = arg;
	struct perf_event_attr attr = event_attr(code->type, code->config);

	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void sweep_codes(const char *theme, uint32_t type, uint64_t first, uint64_t last)
{
	struct code code = { .type = type };
	char name[40];

	for (code.config = first; code.config <= last; code.config++) {
		snprintf(name, sizeof(name), "%#llx", (unsigned long long)code.config);
		run_case(theme, name, open_code, &code);
	}
}

/* Every id, operation and result, and one more of each. */
static void sweep_cache(void)
{
	struct code code = { .type = PERF_TYPE_HW_CACHE };
	char name[40];

	for (unsigned int id = 0; id <= PERF_COUNT_HW_CACHE_MAX; id++)
		for (unsigned int op = 0; op <= PERF_COUNT_HW_CACHE_OP_MAX; op++)
			for (unsigned int result = 0; result <= PERF_COUNT_HW_CACHE_RESULT_MAX;
			     result++) {
				code.config = id | op << 8 | result << 16;
				snprintf(name, sizeof(name), "%u-%u-%u", id, op, result);
				run_case("cache", name, open_code, &code);
			}
}

/* A raw code, with config1 to config3. */
struct raw {
	const char *name;
	uint64_t config, config1, config2, config3;
};

/* config3 is behind what every installed header knows. */
#define CONFIG3_OFFSET	128
#define CONFIG3_SIZE	136

static void open_raw(const void *arg)
{
	const struct raw *raw = arg;
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, raw->config);
	unsigned char bytes[CONFIG3_SIZE + sizeof(attr)] = {};

	attr.config1 = raw->config1;
	attr.config2 = raw->config2;
	if (raw->config3)
		attr.size = CONFIG3_SIZE;
	memcpy(bytes, &attr, sizeof(attr));
	if (raw->config3)
		memcpy(bytes + CONFIG3_OFFSET, &raw->config3, sizeof(raw->config3));
	say_result("open", try_open(bytes, 0, -1, -1, 0));
}

static const struct raw raws[] = {
	{ "config1", 0xc0, 1, 0, 0 },
	{ "config1-bit-63", 0xc0, 1ULL << 63, 0, 0 },
	{ "config1-ref-cycles", 0x300, 1, 0, 0 },
	{ "config2", 0xc0, 0, 1, 0 },
	{ "config2-bit-63", 0xc0, 0, 1ULL << 63, 0 },
	{ "config3", 0xc0, 0, 0, 1 },
	{ "offcore", 0x1b7, 0x10001, 0, 0 },
	{ "offcore-alone", 0x1b7, 0, 0, 0 },
	{ "load-latency-alone", 0x1cd, 0, 0, 0 },
	{ "frontend-alone", 0x1c6, 0, 0, 0 },
	{ "offcore-bad", 0x1b7, ~0ULL, 0, 0 },
	{ "load-latency", 0x1cd, 3, 0, 0 },
	{ "frontend", 0x1c6, 0x11, 0, 0 },
	{ "ref-cycles", 0x300, 0, 0, 0 },
	{ "ref-cycles-kernel-bits", 0x530300, 0, 0, 0 },
	{ "ref-cycles-edge", 0x40300, 0, 0, 0 },
	{ "ref-cycles-cmask", 0x1000300, 0, 0, 0 },
	{ "ref-cycles-any", 0x200300, 0, 0, 0 },
	{ "fixed-instructions", 0x100, 0, 0, 0 },
	{ "fixed-cycles", 0x200, 0, 0, 0 },
	{ "slots", 0x400, 0, 0, 0 },
	{ "topdown", 0x8000, 0, 0, 0 },
	{ "topdown-last", 0x8700, 0, 0, 0 },
	{ "umask-alone", 0xff00, 0, 0, 0 },
	{ "cmask-alone", 0x1000000, 0, 0, 0 },
	{ "bit-32", 1ULL << 32 | 0xc0, 0, 0, 0 },
	{ "bit-36", 1ULL << 36 | 0xc0, 0, 0, 0 },
};

static int type_of_pmu(const char *pmu)
{
	char path[80], text[20] = "";
	int fd, type = -1;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 1 || sscanf(text, "%d", &type) != 1)
		give_up("no %s", path);
	close(fd);
	return type;
}

static uint64_t watched;

static void breakpoint(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void kprobe(void)
{
	struct perf_event_attr attr = event_attr(type_of_pmu("kprobe"), 0);

	attr.kprobe_func = (uintptr_t)"do_nanosleep";
	attr.exclude_kernel = 0;
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static void uprobe(void)
{
	struct perf_event_attr attr = event_attr(type_of_pmu("uprobe"), 0);

	attr.uprobe_path = (uintptr_t)"/proc/self/exe";
	attr.probe_offset = 0x1000;
	say_result("open", try_open(&attr, 0, -1, -1, 0));
}

static const struct {
	const char *name;
	struct code code;
} codes[] = {
	{ "type-none", { 999, 0 } },
	{ "type-max", { 0xffffffff, 0 } },
	{ "tracepoint-0", { PERF_TYPE_TRACEPOINT, 0 } },
	{ "tracepoint-unknown", { PERF_TYPE_TRACEPOINT, 0xffffff } },
	{ "hardware-max", { PERF_TYPE_HARDWARE, ~0ULL } },
	{ "hardware-pmu-type-4", { PERF_TYPE_HARDWARE, 4ULL << 32 | 1 } },
	{ "hardware-pmu-type-999", { PERF_TYPE_HARDWARE, 999ULL << 32 | 1 } },
	{ "hardware-bit-8", { PERF_TYPE_HARDWARE, 1 << 8 } },
	{ "software-max", { PERF_TYPE_SOFTWARE, ~0ULL } },
	{ "software-bit-32", { PERF_TYPE_SOFTWARE, 1ULL << 32 } },
	{ "software-bit-63", { PERF_TYPE_SOFTWARE, 1ULL << 63 } },
	{ "cache-bit-24", { PERF_TYPE_HW_CACHE, 1 << 24 } },
	{ "cache-bit-63", { PERF_TYPE_HW_CACHE, 1ULL << 63 } },
	{ "raw-0", { PERF_TYPE_RAW, 0 } },
	{ "raw-instructions", { PERF_TYPE_RAW, 0xc0 } },
	{ "raw-branches", { PERF_TYPE_RAW, 0xc4 } },
	{ "raw-any", { PERF_TYPE_RAW, 1 << 21 | 0x3c } },
	{ "raw-inv-cmask", { PERF_TYPE_RAW, 0x01c30000 | 0xc0 } },
	{ "raw-all", { PERF_TYPE_RAW, ~0ULL } },
	{ "raw-bit-40", { PERF_TYPE_RAW, 1ULL << 40 | 0xc0 } },
	{ "raw-rr", { PERF_TYPE_RAW, 0x5101c4 } },
};

/* The count of a raw code must not depend on the bits that the kernel owns. */
static void raw_kernel_bits(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, 0x5300c0);
	int fd = open_self(&attr);

	work_counted(fd, 100);
	say("count=%llu", (unsigned long long)read_value(fd));
}

static void exact_counts(void)
{
	struct perf_event_attr attr = instructions();
	int fd = open_self(&attr);

	work_counted(fd, 1000);
	say("instructions=%llu", (unsigned long long)read_value(fd));
	work_counted(fd, 1000);
	say("again=%llu", (unsigned long long)read_value(fd));
	attr = branches();
	fd = open_self(&attr);
	work_counted(fd, 1000);
	say("branches=%llu", (unsigned long long)read_value(fd));
}

/* Disabled members do not count. */
static unsigned int open_until_refused(uint64_t config, bool off)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, config);
	int leader = open_self(&attr), fd;
	unsigned int n = 1;

	attr.disabled = off;
	while ((fd = try_open(&attr, 0, -1, leader, 0)) >= 0 && n < 70)
		n++;
	say_result("last", fd);
	return n;
}

/* A group that could never run as a whole is refused. */
static void group_fits(void)
{
	say("branches=%u", open_until_refused(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false));
}

static void group_fits_fixed(void)
{
	say("instructions=%u", open_until_refused(PERF_COUNT_HW_INSTRUCTIONS, false));
}

static void group_fits_off(void)
{
	say("branches=%u", open_until_refused(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, true));
}

static void more_than_counters(void)
{
	struct perf_event_attr attr = branches();
	unsigned int n = 0;

	attr.disabled = 0;
	while (n < 70 && try_open(&attr, 0, -1, -1, 0) >= 0)
		n++;
	say("opened=%u", n);
}

static const struct simple_case simple[] = {
	{ "raw-kernel-bits", raw_kernel_bits },
	{ "breakpoint", breakpoint },
	{ "kprobe", kprobe },
	{ "uprobe", uprobe },
	{ "exact-counts", exact_counts },
	{ "group-fits", group_fits },
	{ "group-fits-fixed", group_fits_fixed },
	{ "group-fits-off", group_fits_off },
	{ "more-than-counters", more_than_counters },
};

/**
 * theme_pmu - supported events
 */
void theme_pmu(void)
{
	sweep_codes("hardware", PERF_TYPE_HARDWARE, 0, PERF_COUNT_HW_MAX);
	sweep_codes("software", PERF_TYPE_SOFTWARE, 0, PERF_COUNT_SW_MAX);
	sweep_cache();
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		run_case("event", codes[i].name, open_code, &codes[i].code);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		run_case("raw", raws[i].name, open_raw, &raws[i]);
	run_simple("event", simple, ARRAY_SIZE(simple));
}
