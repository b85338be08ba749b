// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the trial of pmu/x86/probe.c on a machine whose registers break one after the
 * other: what makes counting impossible is found, and what was tried is put back.
 * Called by KUnit in task context; the fake stands for the PMU of CPU 0.
 *
 * Needs KUnit's static stubs, see compat.h.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/irqflags.h>

#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"

/* MSRs (SDM vol. 4, table 2-2) */
#define PERFEVTSEL0	0x186
#define FIXED_CTR0	0x309
#define FIXED_CTRL	0x38d
#define STATUS		0x38e
#define GLOBAL_CTRL	0x38f
#define ACK		0x390
#define PEBS_ENABLE	0x3f1
#define PMC0		0x4c1

#define GP		8
#define FIXED		3

/**
 * struct machine - a PMU that may have one fault
 * @msr: what the MSRs hold
 * @faulting: MSR that faults when read, or 0
 * @read_only: MSR that ignores writes, or 0
 * @narrow: counter MSR that loses its upper bits, or 0
 * @opaque: MSR that reads 0 whatever was written, or 0
 * @still: counter that stands still, as bit of GLOBAL_CTRL
 * @stuck: bits of GLOBAL_STATUS that cannot be cleared
 * @refused: bits that fault if written to acknowledge them
 * @no_rdpmc: RDPMC faults
 */
struct machine {
	u64 msr[0x500];
	u32 faulting;
	u32 read_only;
	u32 narrow;
	u32 opaque;
	u64 still;
	u64 stuck;
	u64 refused;
	bool no_rdpmc;
};

static struct machine fake;
static struct pmr_intel real;

static bool enabled(int idx)
{
	u64 bit = BIT_ULL(idx);

	if (!(fake.msr[GLOBAL_CTRL] & bit & ~fake.still) || fake.msr[STATUS] & BIT_ULL(59))
		return false;
	if (idx < GP)
		return fake.msr[PERFEVTSEL0 + idx] & BIT(22);
	return fake.msr[FIXED_CTRL] >> 4 * (idx - 32) & 3;
}

/* Each access takes a while, in which what is enabled counts. */
static void time_passes(void)
{
	int i;

	for (i = 0; i < GP; i++)
		fake.msr[PMC0 + i] += enabled(i);
	for (i = 0; i < FIXED; i++)
		fake.msr[FIXED_CTR0 + i] += enabled(32 + i);
}

static int fake_rdmsr_safe(u32 msr, u64 *value)
{
	time_passes();
	*value = msr == fake.opaque ? 0 : fake.msr[msr];
	return fake.faulting == msr ? -EIO : 0;
}

static int fake_wrmsr_safe(u32 msr, u64 value)
{
	time_passes();
	if (msr == ACK && value & fake.refused)
		return -EIO;
	if (msr == ACK)
		fake.msr[STATUS] &= ~value | fake.stuck;
	else if (msr != fake.read_only)
		fake.msr[msr] = msr == fake.narrow ? (u32)value : value;
	return 0;
}

static int fake_rdpmc_safe(u32 counter, u64 *value)
{
	u32 fixed = FIXED_CTR0 + (counter & 3);

	*value = fake.msr[counter & BIT(30) ? fixed : PMC0 + counter];
	return fake.no_rdpmc ? -EIO : 0;
}

/* Version 4, 8 counters of 48 bits, 3 fixed ones, full-width writes; something in each */
static int probe_init(struct kunit *test)
{
	const struct pmr_intel_cpuid cpuid = {
		.eax = 0x07300804, .edx = 0x603, .capabilities = 0x2000,
	};
	int i;

	real = pmr_intel;
	memset(&fake, 0, sizeof(fake));
	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &cpuid));
	pmr_intel.pebs = true;
	for (i = 0; i < GP; i++) {
		fake.msr[PERFEVTSEL0 + i] = 0x130000 + i;
		fake.msr[PMC0 + i] = 0xabc000 + i;
	}
	for (i = 0; i < FIXED; i++)
		fake.msr[FIXED_CTR0 + i] = 0xdef000 + i;
	fake.msr[GLOBAL_CTRL] = 0x700000000;
	kunit_activate_static_stub(test, pmr_rdmsr_safe, fake_rdmsr_safe);
	kunit_activate_static_stub(test, pmr_wrmsr_safe, fake_wrmsr_safe);
	kunit_activate_static_stub(test, pmr_rdpmc_safe, fake_rdpmc_safe);
	return 0;
}

static void probe_exit(struct kunit *test)
{
	pmr_intel = real;
}

static bool works(void)
{
	unsigned long flags;
	bool good;

	local_irq_save(flags);
	good = pmr_intel_works_here();
	local_irq_restore(flags);
	return good;
}

static void a_good_pmu_is_left_as_it_was(struct kunit *test)
{
	static struct machine before;

	before = fake;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_EQ(test, memcmp(&before, &fake, sizeof(fake)), 0);
}

static void each_register_must_be_readable(struct kunit *test)
{
	static const u32 msrs[] = { PERFEVTSEL0, PERFEVTSEL0 + 7, PMC0, PMC0 + 7, FIXED_CTR0 + 2,
				    FIXED_CTRL, GLOBAL_CTRL, STATUS };
	int i;

	for (i = 0; i < ARRAY_SIZE(msrs); i++) {
		fake.faulting = msrs[i];
		KUNIT_EXPECT_FALSE_MSG(test, works(), "MSR %x faults", msrs[i]);
	}
	fake.faulting = 0;
	KUNIT_EXPECT_TRUE(test, works());
}

static void a_counter_that_keeps_nothing(struct kunit *test)
{
	fake.read_only = PMC0 + 7;
	KUNIT_EXPECT_FALSE(test, works());
	fake.read_only = FIXED_CTR0 + 1;
	KUNIT_EXPECT_FALSE(test, works());
	fake.read_only = 0;
	fake.narrow = PMC0 + 3;
	KUNIT_EXPECT_FALSE(test, works());
}

static void a_counter_that_stands_still(struct kunit *test)
{
	fake.still = BIT_ULL(5);
	KUNIT_EXPECT_FALSE(test, works());
	fake.still = BIT_ULL(34);
	KUNIT_EXPECT_FALSE(test, works());
}

static void rdpmc_must_work(struct kunit *test)
{
	fake.no_rdpmc = true;
	KUNIT_EXPECT_FALSE(test, works());
}

/* Selectors or GLOBAL_CTRL that read as 0 are no fault; they are not looked at later. */
static void an_opaque_pmu(struct kunit *test)
{
	pmr_intel.opaque = false;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_FALSE(test, pmr_intel.opaque);
	fake.opaque = PERFEVTSEL0 + 2;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_TRUE(test, pmr_intel.opaque);
	pmr_intel.opaque = false;
	fake.opaque = GLOBAL_CTRL;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_TRUE(test, pmr_intel.opaque);
}

/* Without the event of instructions only the registers can be tried. */
static void nothing_to_count(struct kunit *test)
{
	pmr_intel.instructions = false;
	fake.still = 0xff;
	KUNIT_EXPECT_TRUE(test, works());
}

static void stale_status_is_cleared(struct kunit *test)
{
	fake.msr[STATUS] = 0x7c81000000000003;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_EQ(test, fake.msr[STATUS], BIT_ULL(55));
	/* One of them does not exist for this PMU, and so all would fault. */
	fake.msr[STATUS] = BIT_ULL(59) | BIT_ULL(48) | 1;
	fake.refused = BIT_ULL(48);
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_EQ(test, fake.msr[STATUS], BIT_ULL(48));
}

static void frozen_for_good(struct kunit *test)
{
	fake.msr[STATUS] = BIT_ULL(59);
	fake.stuck = BIT_ULL(59);
	KUNIT_EXPECT_FALSE(test, works());
	KUNIT_EXPECT_EQ(test, fake.msr[GLOBAL_CTRL], 0x700000000ULL);
}

static void pebs_must_stop(struct kunit *test)
{
	fake.msr[PEBS_ENABLE] = 0x3;
	KUNIT_EXPECT_TRUE(test, works());
	KUNIT_EXPECT_EQ(test, fake.msr[PEBS_ENABLE], 0x3ULL);
	fake.read_only = PEBS_ENABLE;
	KUNIT_EXPECT_FALSE(test, works());
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(a_good_pmu_is_left_as_it_was),
	KUNIT_CASE(each_register_must_be_readable),
	KUNIT_CASE(a_counter_that_keeps_nothing),
	KUNIT_CASE(a_counter_that_stands_still),
	KUNIT_CASE(rdpmc_must_work),
	KUNIT_CASE(an_opaque_pmu),
	KUNIT_CASE(nothing_to_count),
	KUNIT_CASE(stale_status_is_cleared),
	KUNIT_CASE(frozen_for_good),
	KUNIT_CASE(pebs_must_stop),
	{}
};

static struct kunit_suite probe_suite = {
	.name = "pmuring_probe",
	.init = probe_init,
	.exit = probe_exit,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);
