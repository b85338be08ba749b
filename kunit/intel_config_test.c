// SPDX-License-Identifier: GPL-2.0
/*
 * Tests what pmu/x86/intel_config.c makes of CPUID and of an attr, against the
 * SDM (vol. 2A, CPUID leaf 0AH; vol. 3B, 20.2). Called by KUnit in task
 * context, while nobody uses the PMU: the description of the machine is
 * replaced by others meanwhile.
 */
#include <kunit/test.h>
#include <linux/cred.h>

#include "pmu/x86/intel.h"
#include "pmu/x86/quirks.h"

#define EAX(version, counters, width, events) \
	((version) | (counters) << 8 | (width) << 16 | (events) << 24)
#define EDX(fixed, width)	((fixed) | (width) << 5)
#define ANY_DEPRECATED		0x8000
#define FULL_WIDTH		0x2000

#define MAX31	0x7fffffffULL
#define MAX47	0x7fffffffffffULL
#define USR	0x10000ULL
#define OS	0x20000ULL
#define ANY	0x200000ULL

/* CPU model */
#define HASWELL	0x3c

static const struct pmr_intel_cpuid skylake = {
	.eax = EAX(4, 8, 48, 7), .edx = EDX(3, 48), .capabilities = FULL_WIDTH,
};

static struct pmr_intel machine;
static const struct pmr_quirks *machine_quirks;

static int config_init(struct kunit *test)
{
	machine = pmr_intel;
	machine_quirks = pmr_quirks;
	pmr_quirks = pmr_quirks_find(0, 0);
	return 0;
}

static void config_exit(struct kunit *test)
{
	pmr_intel = machine;
	pmr_quirks = machine_quirks;
}

struct machine_case {
	const char *name;
	struct pmr_intel_cpuid cpuid;
	u64 counters, status, hardware_events, max_period;
	u32 gp_base;
	bool global, any_thread;
};

#define V1 EAX(1, 2, 40, 7)
#define V2 EAX(2, 2, 40, 7)
#define V3 EAX(3, 4, 48, 7)
#define V4 EAX(4, 8, 48, 7)
#define V5 EAX(5, 8, 48, 8)

static const struct machine_case machines[] = {
	{ "version 1", { .eax = V1 },
	  0x3, 0x8000000000000003, 0x7f, MAX31, 0xc1, false, false },
	{ "version 1 has no fixed counter", { .eax = V1, .edx = EDX(3, 40) },
	  0x3, 0x8000000000000003, 0x7f, MAX31, 0xc1, false, false },
	{ "version 2", { .eax = V2, .edx = EDX(3, 40) },
	  0x700000003, 0x8000000700000003, 0x27f, MAX31, 0xc1, true, false },
	{ "version 3", { .eax = V3, .edx = EDX(3, 48), .capabilities = FULL_WIDTH },
	  0x70000000f, 0x800000070000000f, 0x27f, MAX47, 0x4c1, true, true },
	{ "version 3 without AnyThread", { .eax = V3, .edx = EDX(3, 48) | ANY_DEPRECATED },
	  0x70000000f, 0x800000070000000f, 0x27f, MAX31, 0xc1, true, false },
	{ "version 4", { .eax = V4, .edx = EDX(3, 48), .capabilities = FULL_WIDTH },
	  0x7000000ff, 0x8c000007000000ff, 0x27f, MAX47, 0x4c1, true, true },
	{ "version 4 has no bitmap", { .eax = V4, .ecx = 0xffff, .edx = EDX(3, 48) },
	  0x7000000ff, 0x8c000007000000ff, 0x27f, MAX31, 0xc1, true, true },
	{ "version 5", { .eax = V5, .ecx = 0xf, .edx = EDX(4, 48), .capabilities = FULL_WIDTH },
	  0xf000000ff, 0x8c00000f000000ff, 0x27f, MAX47, 0x4c1, true, false },
	{ "version 5, a bitmap with a hole", { .eax = V5, .ecx = 0x4, .edx = EDX(1, 48) },
	  0x5000000ff, 0x8c000005000000ff, 0x27f, MAX31, 0xc1, true, false },
	{ "version 5, all bits", { .eax = V5, .ecx = 0xffffffff, .edx = EDX(3, 48) },
	  0xffff000000ff, 0x8c00ffff000000ff, 0x27f, MAX31, 0xc1, true, false },
	{ "fixed counters of no width", { .eax = V4, .edx = EDX(3, 0) },
	  0xff, 0x8c000000000000ff, 0x7f, MAX31, 0xc1, true, true },
	{ "fixed counters of 64 bits", { .eax = V4, .edx = EDX(3, 64) },
	  0xff, 0x8c000000000000ff, 0x7f, MAX31, 0xc1, true, true },
	{ "fixed counters that are narrower",
	  { .eax = V4, .edx = EDX(3, 32), .capabilities = FULL_WIDTH },
	  0x7000000ff, 0x8c000007000000ff, 0x27f, MAX31, 0x4c1, true, true },
	{ "32 counters", { .eax = EAX(4, 32, 48, 7) },
	  0xffffffff, 0x8c000000ffffffff, 0x7f, MAX31, 0xc1, true, true },
};

static void each_machine(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		const struct machine_case *want = &machines[i];
		struct pmr_intel got = { };

		KUNIT_ASSERT_TRUE_MSG(test, pmr_intel_describe(&got, &want->cpuid), "%s",
				      want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.counters, want->counters, "%s", want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.status, want->status, "%s", want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.pmu.hardware_events, want->hardware_events, "%s",
				    want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.pmu.max_period, want->max_period, "%s", want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.gp_base, want->gp_base, "%s", want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.global, want->global, "%s", want->name);
		KUNIT_EXPECT_EQ_MSG(test, got.any_thread, want->any_thread, "%s", want->name);
	}
}

static void one_machine_in_full(struct kunit *test)
{
	struct pmr_intel got = { };

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&got, &skylake));
	KUNIT_EXPECT_EQ(test, got.pmu.version, 4);
	KUNIT_EXPECT_EQ(test, got.pmu.gp_counters, 8);
	KUNIT_EXPECT_EQ(test, got.pmu.gp_width, 48);
	KUNIT_EXPECT_EQ(test, got.pmu.fixed_counters, 3);
	KUNIT_EXPECT_EQ(test, got.pmu.fixed_width, 48);
	KUNIT_EXPECT_EQ(test, got.pmu.fixed_mask, 0x7ULL);
	KUNIT_EXPECT_TRUE(test, got.pmu.full_width_write);
	KUNIT_EXPECT_EQ(test, got.gp_mask, 0xffffffffffffULL);
	KUNIT_EXPECT_EQ(test, got.fixed_value_mask, 0xffffffffffffULL);
}

static void nonsense_is_no_pmu(struct kunit *test)
{
	static const u32 eax[] = {
		0, EAX(0, 8, 48, 7), EAX(4, 0, 48, 7), EAX(4, 33, 48, 7), EAX(4, 255, 48, 7),
		EAX(4, 8, 0, 7), EAX(4, 8, 31, 7), EAX(4, 8, 64, 7), EAX(4, 8, 255, 7),
		/* Versions whose counters the kernel's allocator does not arbitrate. */
		EAX(6, 8, 48, 7), EAX(7, 8, 48, 7), EAX(255, 8, 48, 7),
	};
	struct pmr_intel got = { };
	int i;

	for (i = 0; i < ARRAY_SIZE(eax); i++) {
		struct pmr_intel_cpuid cpuid = { .eax = eax[i], .edx = EDX(3, 48) };

		KUNIT_EXPECT_FALSE_MSG(test, pmr_intel_describe(&got, &cpuid), "EAX %x", eax[i]);
	}
}

/* A bit in EBX takes an event away, and so does a vector that ends before it. */
static void events_by_their_bits(struct kunit *test)
{
	static const struct {
		u32 length, ebx;
		u64 events;
	} cases[] = {
		{ 7, 0x00, 0x27f },
		{ 7, 0x01, 0x27e },	/* cycles */
		{ 7, 0x02, 0x27d },	/* instructions */
		{ 7, 0x04, 0x23f },	/* bus cycles */
		{ 7, 0x08, 0x27b },	/* cache references */
		{ 7, 0x10, 0x277 },	/* cache misses */
		{ 7, 0x20, 0x26f },	/* branches */
		{ 7, 0x40, 0x25f },	/* branch misses */
		{ 7, 0x7f, 0x200 },
		{ 3, 0x00, 0x243 },
		{ 0, 0x00, 0x200 },
		{ 255, 0xffffff80, 0x27f },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pmr_intel_cpuid cpuid = {
			.eax = EAX(4, 8, 48, cases[i].length), .ebx = cases[i].ebx,
			.edx = EDX(3, 48),
		};
		struct pmr_intel got = { };

		KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&got, &cpuid));
		KUNIT_EXPECT_EQ_MSG(test, got.pmu.hardware_events, cases[i].events, "case %d", i);
	}
}

static int init_event(struct pmr_hw *hw, u32 type, u64 config)
{
	struct perf_event_attr attr = { .type = type, .config = config };

	memset(hw, 0, sizeof(*hw));
	return pmr_intel_init_event(hw, &attr);
}

struct event_case {
	u32 type;
	u64 config;
	int err;
	u64 selector, allowed;
};

static const struct event_case events[] = {
	{ PERF_TYPE_HARDWARE, 0, 0, 0x003c, 0x2000000ff },
	{ PERF_TYPE_HARDWARE, 1, 0, 0x00c0, 0x1000000ff },
	{ PERF_TYPE_HARDWARE, 2, 0, 0x4f2e, 0xff },
	{ PERF_TYPE_HARDWARE, 3, 0, 0x412e, 0xff },
	{ PERF_TYPE_HARDWARE, 4, 0, 0x00c4, 0xff },
	{ PERF_TYPE_HARDWARE, 5, 0, 0x00c5, 0xff },
	{ PERF_TYPE_HARDWARE, 6, 0, 0x013c, 0xff },
	{ PERF_TYPE_HARDWARE, 7, -ENOENT },
	{ PERF_TYPE_HARDWARE, 8, -ENOENT },
	{ PERF_TYPE_HARDWARE, 9, 0, 0x0300, 0x400000000 },
	{ PERF_TYPE_HARDWARE, 10, -EINVAL },
	{ PERF_TYPE_HARDWARE, 0xffffffff, -EINVAL },
	/* The type of a PMU in the upper half: 4 is the CPU's own. */
	{ PERF_TYPE_HARDWARE, 0x400000000, 0, 0x003c, 0x2000000ff },
	{ PERF_TYPE_HARDWARE, 0x800000000, -ENOENT },
	{ PERF_TYPE_SOFTWARE, 0, -ENOENT },
	/* Cache events that another model may have, and those that none can have. */
	{ PERF_TYPE_HW_CACHE, 0x000000, -ENOENT },
	{ PERF_TYPE_HW_CACHE, 0x010101, -EINVAL },
	{ PERF_TYPE_HW_CACHE, 0x000201, -ENOENT },
	{ PERF_TYPE_HW_CACHE, 0x000003, -ENOENT },
	{ PERF_TYPE_HW_CACHE, 0x000203, -ENOENT },
	{ PERF_TYPE_HW_CACHE, 0x000004, -ENOENT },
	{ PERF_TYPE_HW_CACHE, 0x000104, -EINVAL },
	{ PERF_TYPE_HW_CACHE, 0x010204, -EINVAL },
	{ PERF_TYPE_HW_CACHE, 0x000105, -EINVAL },
	{ PERF_TYPE_HW_CACHE, 0x010205, -EINVAL },
	{ PERF_TYPE_HW_CACHE, 0x000007, -EINVAL },
	{ PERF_TYPE_RAW, 0x003c, 0, 0x003c, 0x2000000ff },
	{ PERF_TYPE_RAW, 0x00c0, 0, 0x00c0, 0x1000000ff },
	{ PERF_TYPE_RAW, 0x0300, 0, 0x0300, 0x400000000 },
	{ PERF_TYPE_RAW, 0x01c0, 0, 0x01c0, 0xff },
	/* Edge, inversion, threshold: no fixed counter has them. */
	{ PERF_TYPE_RAW, 0x0004003c, 0, 0x0004003c, 0xff },
	{ PERF_TYPE_RAW, 0x1080003c, 0, 0x1080003c, 0xff },
	/* rr sets USR, INT and EN itself; all that is not the user's goes in silence. */
	{ PERF_TYPE_RAW, 0x5101c4, 0, 0x01c4, 0xff },
	{ PERF_TYPE_RAW, 0xffffffff00dfffffULL, 0, 0x0084ffff, 0xff },
	{ PERF_TYPE_RAW, 0x0058003c, 0, 0x003c, 0x2000000ff },
	/* Event code 00H is no event, but for reference cycles as they are. */
	{ PERF_TYPE_RAW, 0x0000, -EINVAL },
	{ PERF_TYPE_RAW, 0x0100, -EINVAL },
	{ PERF_TYPE_RAW, 0x0200, -EINVAL },
	{ PERF_TYPE_RAW, 0x0400, -EINVAL },
	{ PERF_TYPE_RAW, 0x8000, -EINVAL },
	{ PERF_TYPE_RAW, 0xff00, -EINVAL },
	{ PERF_TYPE_RAW, 0x00530300, 0, 0x0300, 0x400000000 },
	{ PERF_TYPE_RAW, 0x00040300, -EINVAL },
	{ PERF_TYPE_RAW, 0x00800300, -EINVAL },
	{ PERF_TYPE_RAW, 0x01000300, -EINVAL },
	{ PERF_TYPE_RAW, 0x0300 | ANY, -EINVAL },
	{ PERF_TYPE_RAW, 0x01000000, -EINVAL },
};

static void each_event(struct kunit *test)
{
	struct pmr_hw hw;
	int i;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		const struct event_case *want = &events[i];

		KUNIT_EXPECT_EQ_MSG(test, init_event(&hw, want->type, want->config), want->err,
				    "case %d", i);
		if (want->err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, hw.config, want->selector | USR | OS, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, hw.allowed, want->allowed, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, hw.fixed_config, 0xbULL, "case %d", i);
		KUNIT_EXPECT_TRUE_MSG(test, hw.kernel, "case %d", i);
	}
}

/* Values for registers that are not programmed: no count would be right. */
static void further_words_are_refused(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = 0x01b7 };
	struct pmr_hw hw = { };

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	KUNIT_EXPECT_EQ(test, pmr_intel_init_event(&hw, &attr), 0);
	attr.config1 = 1;
	KUNIT_EXPECT_EQ(test, pmr_intel_init_event(&hw, &attr), -EINVAL);
	attr.config1 = 0;
	attr.config2 = BIT_ULL(63);
	KUNIT_EXPECT_EQ(test, pmr_intel_init_event(&hw, &attr), -EINVAL);
	/* A generic event has no such words; perf ignores them there. */
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	KUNIT_EXPECT_EQ(test, pmr_intel_init_event(&hw, &attr), 0);
}

/* A period that the model cannot have; perf looks at it before the config. */
static void short_periods_are_refused(struct kunit *test)
{
	static const struct {
		u64 config, period;
		bool freq;
		int err;
	} cases[] = {
		{ 0x00c0, 31, false, -EINVAL },
		{ 0x00c0, 32, false, 0 },
		{ 0x00c0, 0, false, 0 },
		{ 0x00c0, 1, true, 0 },
		{ 0x01c0, 127, false, -EINVAL },
		{ 0x01c0, 128, false, 0 },
		{ 0x01c0, 129, false, 0 },
	};
	struct pmr_hw hw = { };
	int i;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	pmr_quirks = pmr_quirks_find(6, HASWELL);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_RAW, .config = cases[i].config,
			.sample_period = cases[i].period, .freq = cases[i].freq,
		};

		KUNIT_EXPECT_EQ_MSG(test, pmr_intel_init_event(&hw, &attr), cases[i].err,
				    "case %d", i);
	}
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x01c0), 0);
	KUNIT_EXPECT_EQ(test, pmr_intel_period_min(&hw), 128ULL);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_HARDWARE, 1), 0);
	KUNIT_EXPECT_EQ(test, pmr_intel_period_min(&hw), 32ULL);
}

static void events_of_further_registers_are_refused(struct kunit *test)
{
	struct pmr_hw hw;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x01cd), 0);
	pmr_quirks = pmr_quirks_find(6, HASWELL);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x01cd), -EINVAL);
}

/* As where the microcode needs one for itself. */
static void an_unusable_counter_gets_no_event(struct kunit *test)
{
	struct pmr_hw hw;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	KUNIT_EXPECT_EQ(test, pmr_intel.pmu.gp_usable, 8);
	pmr_intel_exclude(&pmr_intel, BIT_ULL(3));
	KUNIT_EXPECT_EQ(test, pmr_intel.pmu.gp_usable, 7);
	KUNIT_EXPECT_EQ(test, pmr_intel.pmu.gp_counters, 8);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_HARDWARE, 1), 0);
	KUNIT_EXPECT_EQ(test, hw.allowed, 0x1000000f7ULL);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x01c4), 0);
	KUNIT_EXPECT_EQ(test, hw.allowed, 0xf7ULL);
}

static void exclusions_choose_the_rings(struct kunit *test)
{
	static const struct {
		bool user, kernel;
		u64 selector, fixed;
	} cases[] = {
		{ false, false, USR | OS, 0xb },
		{ false, true, USR, 0xa },
		{ true, false, OS, 0x9 },
		{ true, true, 0, 0x8 },
	};
	int i;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perf_event_attr attr = {
			.exclude_user = cases[i].user, .exclude_kernel = cases[i].kernel,
		};
		struct pmr_hw hw = { };

		KUNIT_ASSERT_EQ(test, pmr_intel_init_event(&hw, &attr), 0);
		KUNIT_EXPECT_EQ(test, hw.config, 0x3c | cases[i].selector);
		KUNIT_EXPECT_EQ(test, hw.fixed_config, cases[i].fixed);
		KUNIT_EXPECT_EQ(test, hw.kernel, !cases[i].kernel);
	}
}

static int init_any_unprivileged(struct kunit *test, struct pmr_hw *hw)
{
	struct cred *plain = prepare_creds();
	const struct cred *before;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, plain);
	cap_clear(plain->cap_effective);
	before = override_creds(plain);
	err = init_event(hw, PERF_TYPE_RAW, 0x3c | ANY);
	revert_creds(before);
	put_cred(plain);
	return err;
}

static void any_thread_where_it_exists(struct kunit *test)
{
	struct pmr_hw hw;
	int i;

	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		bool exists = machines[i].any_thread;

		KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &machines[i].cpuid));
		KUNIT_EXPECT_EQ_MSG(test, init_event(&hw, PERF_TYPE_RAW, 0x3c | ANY),
				    exists ? 0 : -EINVAL, "%s", machines[i].name);
		KUNIT_EXPECT_EQ_MSG(test, init_any_unprivileged(test, &hw),
				    exists ? -EACCES : -EINVAL, "%s", machines[i].name);
	}
	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &skylake));
	KUNIT_ASSERT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x3c | ANY), 0);
	KUNIT_EXPECT_EQ(test, hw.config, 0x3c | ANY | USR | OS);
	KUNIT_EXPECT_EQ(test, hw.allowed, 0xffULL);
}

static void without_fixed_counters(struct kunit *test)
{
	struct pmr_hw hw;

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &machines[0].cpuid));
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_HARDWARE, 0), 0);
	KUNIT_EXPECT_EQ(test, hw.allowed, 0x3ULL);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_HARDWARE, 9), -ENOENT);
	KUNIT_EXPECT_EQ(test, init_event(&hw, PERF_TYPE_RAW, 0x0300), -EINVAL);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE(each_machine),
	KUNIT_CASE(one_machine_in_full),
	KUNIT_CASE(nonsense_is_no_pmu),
	KUNIT_CASE(events_by_their_bits),
	KUNIT_CASE(each_event),
	KUNIT_CASE(further_words_are_refused),
	KUNIT_CASE(short_periods_are_refused),
	KUNIT_CASE(events_of_further_registers_are_refused),
	KUNIT_CASE(an_unusable_counter_gets_no_event),
	KUNIT_CASE(exclusions_choose_the_rings),
	KUNIT_CASE(any_thread_where_it_exists),
	KUNIT_CASE(without_fixed_counters),
	{}
};

static struct kunit_suite config_suite = {
	.name = "pmuring_intel_config",
	.init = config_init,
	.exit = config_exit,
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);
