// SPDX-License-Identifier: GPL-2.0
/*
 * Tests how pmu/x86/intel.c and pmu/x86/ownership.c program the PMU: every
 * access is recorded and compared, in order, with what the SDM asks for
 * (vol. 3B, 20.2; vol. 3A, 11.5.1). Called by KUnit in task context, while
 * nobody uses the PMU; the tests stay on CPU 0 and do each step with
 * interrupts off.
 *
 * Needs KUnit's static stubs, see compat.h.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <asm/nmi.h>

#include "pmu/period.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/watch.h"
#include "sample/sample.h"

/* MSRs (SDM vol. 4, table 2-2) */
#define PERFCTR0	0x0c1
#define PERFEVTSEL0	0x186
#define DEBUGCTL	0x1d9
#define FIXED_CTR0	0x309
#define FIXED_CTRL	0x38d
#define STATUS		0x38e
#define GLOBAL_CTRL	0x38f
#define ACK		0x390
#define PEBS_ENABLE	0x3f1
#define PMC0		0x4c1

#define LVT_NMI		0x00400
#define LVT_MASKED	0x10400

/* -1000, -997 and -(2^47 - 1) in 48 bits */
#define MINUS_1000	0xfffffffffc18ULL
#define MINUS_997	0xfffffffffc1bULL
#define LONGEST		0x800000000001ULL

/**
 * struct access - one access
 * @op: R, W: RDMSR, WRMSR; P: RDPMC; l, L: the LVT entry read, written
 * @reg: MSR or counter
 * @value: what was read or written
 */
struct access {
	char op;
	u32 reg;
	u64 value;
};

/**
 * struct fake - the machine
 * @log: accesses
 * @accesses: their number
 * @msr: what the MSRs hold, for those below 0x500
 * @status: answers of GLOBAL_STATUS, then 0
 * @status_reads: of these, given
 * @pmc: answers of RDPMC, then 0
 * @pmc_reads: of these, given
 * @lvtpc: the LVT entry
 * @served: events that overflowed
 * @overflows: their number
 * @throttle: they are to be throttled
 */
struct fake {
	struct access log[256];
	int accesses;
	u64 msr[0x500];
	u64 status[4];
	int status_reads;
	u64 pmc[8];
	int pmc_reads;
	u32 lvtpc;
	struct pmr_hw *served[4];
	int overflows;
	bool throttle;
};

static struct fake fake;
static struct pmr_intel machine;

static void record(char op, u32 reg, u64 value)
{
	if (fake.accesses < ARRAY_SIZE(fake.log))
		fake.log[fake.accesses] = (struct access) { op, reg, value };
	fake.accesses++;
}

static u64 fake_rdmsr(u32 msr)
{
	u64 value = fake.msr[msr % ARRAY_SIZE(fake.msr)];

	if (msr == STATUS)
		value = fake.status_reads < ARRAY_SIZE(fake.status) ?
			fake.status[fake.status_reads++] : 0;
	record('R', msr, value);
	return value;
}

static void fake_wrmsr(u32 msr, u64 value)
{
	fake.msr[msr % ARRAY_SIZE(fake.msr)] = value;
	record('W', msr, value);
}

static u64 fake_rdpmc(u32 counter)
{
	u64 value = fake.pmc_reads < ARRAY_SIZE(fake.pmc) ? fake.pmc[fake.pmc_reads++] : 0;

	record('P', counter, value);
	return value;
}

static u32 fake_lvtpc_read(void)
{
	record('l', 0, fake.lvtpc);
	return fake.lvtpc;
}

static void fake_lvtpc_write(u32 value)
{
	fake.lvtpc = value;
	record('L', 0, value);
}

static int fake_rdmsr_safe(u32 msr, u64 *value)
{
	*value = fake_rdmsr(msr);
	return 0;
}

static int fake_wrmsr_safe(u32 msr, u64 value)
{
	fake_wrmsr(msr, value);
	return 0;
}

static bool fake_overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	if (fake.overflows < ARRAY_SIZE(fake.served))
		fake.served[fake.overflows] = hw;
	fake.overflows++;
	return fake.throttle;
}

static struct pmr_counters *table(void)
{
	return per_cpu_ptr(&pmr_counters, 0);
}

static void describe(struct kunit *test, u32 eax, u32 edx, u64 capabilities)
{
	const struct pmr_intel_cpuid cpuid = {
		.eax = eax, .edx = edx, .capabilities = capabilities,
	};

	KUNIT_ASSERT_TRUE(test, pmr_intel_describe(&pmr_intel, &cpuid));
}

/* Version 4, 8 counters of 48 bits, 3 fixed ones, full-width writes */
static int intel_init(struct kunit *test)
{
	machine = pmr_intel;
	memset(&fake, 0, sizeof(fake));
	memset(table(), 0, sizeof(*table()));
	table()->ready = true;
	table()->watched = true;	/* no timer */
	describe(test, 0x07300804, 0x603, 0x2000);
	pmr_intel.debugctl = true;
	pmr_intel.pebs = true;
	pmr_intel.opaque = false;
	fake.msr[GLOBAL_CTRL] = 0x7000000ff;
	static_call_update(pmr_overflow, fake_overflow);
	kunit_activate_static_stub(test, pmr_rdmsr, fake_rdmsr);
	kunit_activate_static_stub(test, pmr_wrmsr, fake_wrmsr);
	kunit_activate_static_stub(test, pmr_rdpmc, fake_rdpmc);
	kunit_activate_static_stub(test, pmr_rdmsr_safe, fake_rdmsr_safe);
	kunit_activate_static_stub(test, pmr_wrmsr_safe, fake_wrmsr_safe);
	kunit_activate_static_stub(test, pmr_lvtpc_read, fake_lvtpc_read);
	kunit_activate_static_stub(test, pmr_lvtpc_write, fake_lvtpc_write);
	return set_cpus_allowed_ptr(current, cpumask_of(0));
}

static void intel_exit(struct kunit *test)
{
	pmr_intel = machine;
	memset(table(), 0, sizeof(*table()));
	static_call_update(pmr_overflow, pmr_event_overflow);
}

static bool add(struct pmr_hw *hw)
{
	unsigned long flags;
	bool added;

	local_irq_save(flags);
	added = pmr_intel.pmu.add(&hw, 1);
	local_irq_restore(flags);
	return added;
}

static void del(struct pmr_hw *hw)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_intel.pmu.del(hw);
	local_irq_restore(flags);
}

static u64 count(const struct pmr_hw *hw)
{
	unsigned long flags;
	u64 counted;

	local_irq_save(flags);
	counted = pmr_intel.pmu.count(hw);
	local_irq_restore(flags);
	return counted;
}

static int pmi(void)
{
	struct pt_regs regs = { };
	unsigned long flags;
	int served;

	local_irq_save(flags);
	served = pmr_intel_handle_pmi(table(), &regs);
	local_irq_restore(flags);
	return served;
}

static int pmi_late(void)
{
	struct pt_regs regs = { };
	unsigned long flags;
	int served;

	local_irq_save(flags);
	served = pmr_intel_handle_pmi_late(table(), &regs);
	local_irq_restore(flags);
	return served;
}

static u64 late_nmis(void)
{
	return per_cpu(pmr_cpu_stats, 0).late_nmis;
}

/* Forgets what was recorded and sets what the machine answers next. */
#define NEXT_STATUS(...) do {						\
	fake.accesses = 0;						\
	fake.overflows = 0;						\
	fake.status_reads = 0;						\
	memset(fake.status, 0, sizeof(fake.status));			\
	memcpy(fake.status, ((u64[]){ __VA_ARGS__ }), sizeof((u64[]){ __VA_ARGS__ })); \
} while (0)

#define NEXT_PMC(...) do {						\
	fake.accesses = 0;						\
	fake.pmc_reads = 0;						\
	memset(fake.pmc, 0, sizeof(fake.pmc));				\
	memcpy(fake.pmc, ((u64[]){ __VA_ARGS__ }), sizeof((u64[]){ __VA_ARGS__ })); \
} while (0)

static void expect(struct kunit *test, const struct access *want, int accesses)
{
	int i;

	KUNIT_EXPECT_EQ(test, fake.accesses, accesses);
	for (i = 0; i < min(fake.accesses, accesses); i++) {
		const struct access *got = &fake.log[i];

		KUNIT_EXPECT_TRUE_MSG(test, got->op == want[i].op && got->reg == want[i].reg &&
				      got->value == want[i].value,
				      "access %d is %c %x %llx instead of %c %x %llx", i,
				      got->op, got->reg, got->value,
				      want[i].op, want[i].reg, want[i].value);
	}
	fake.accesses = 0;
}

#define EXPECT_ACCESSES(test, ...) \
	expect(test, (const struct access[]){ __VA_ARGS__ }, \
	       ARRAY_SIZE(((const struct access[]){ __VA_ARGS__ })))

/* Branches in all rings on a general counter, sampled each 1000 */
static struct pmr_hw general(bool kernel)
{
	struct pmr_hw hw = {
		.sampling = true, .kernel = kernel, .idx = -1, .last_idx = -1,
		.config = 0x300c4, .fixed_config = 0xb, .allowed = 0xff,
	};

	pmr_period_set(&hw, 1000);
	return hw;
}

/* Cycles on fixed counter 1 */
static struct pmr_hw fixed(bool kernel)
{
	struct pmr_hw hw = general(kernel);

	hw.config = 0x3003c;
	hw.allowed = 0x200000000;
	return hw;
}

static void add_loads_then_selects(struct kunit *test)
{
	struct pmr_hw first = general(true), second = general(false), cycles = fixed(false);

	KUNIT_EXPECT_TRUE(test, add(&first));
	EXPECT_ACCESSES(test, { 'W', PMC0, MINUS_1000 }, { 'W', PERFEVTSEL0, 0x5300c4 });
	KUNIT_EXPECT_TRUE(test, add(&second));
	EXPECT_ACCESSES(test, { 'W', PMC0 + 1, MINUS_1000 }, { 'W', PERFEVTSEL0 + 1, 0x5300c4 });
	KUNIT_EXPECT_TRUE(test, add(&cycles));
	EXPECT_ACCESSES(test, { 'W', FIXED_CTR0 + 1, MINUS_1000 }, { 'W', FIXED_CTRL, 0xb0 });
	KUNIT_EXPECT_EQ(test, table()->active, 0x200000003ULL);
	KUNIT_EXPECT_EQ(test, table()->kernel, 0x1ULL);
}

static void add_without_a_counter_touches_nothing(struct kunit *test)
{
	struct pmr_hw cycles = fixed(false), more = fixed(false);

	KUNIT_ASSERT_TRUE(test, add(&cycles));
	fake.accesses = 0;
	KUNIT_EXPECT_FALSE(test, add(&more));
	KUNIT_EXPECT_EQ(test, fake.accesses, 0);
	KUNIT_EXPECT_EQ(test, more.idx, -1);
}

static void fixed_counters_share_a_register(struct kunit *test)
{
	struct pmr_hw cycles = fixed(false), instructions = fixed(false);

	instructions.allowed = 0x100000000;
	instructions.fixed_config = 0xa;
	KUNIT_ASSERT_TRUE(test, add(&cycles));
	KUNIT_ASSERT_TRUE(test, add(&instructions));
	NEXT_PMC(MINUS_1000 + 10);
	KUNIT_EXPECT_EQ(test, fake.msr[FIXED_CTRL], 0xbaULL);
	del(&cycles);
	EXPECT_ACCESSES(test, { 'W', FIXED_CTRL, 0xa }, { 'P', 0x40000001, MINUS_1000 + 10 });
}

static void del_stops_then_reads(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(MINUS_1000 + 232);
	del(&hw);
	EXPECT_ACCESSES(test, { 'W', PERFEVTSEL0, 0 }, { 'P', 0, MINUS_1000 + 232 });
	KUNIT_EXPECT_EQ(test, hw.count, 232ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 768LL);
	KUNIT_EXPECT_EQ(test, hw.idx, -1);
	KUNIT_EXPECT_EQ(test, table()->active, 0ULL);
	KUNIT_EXPECT_EQ(test, table()->late_until, 0UL);
	/* It goes on where it was. */
	KUNIT_ASSERT_TRUE(test, add(&hw));
	EXPECT_ACCESSES(test, { 'W', PMC0, 0xfffffffffd00 }, { 'W', PERFEVTSEL0, 0x5300c4 });
}

static void del_after_the_overflow_acknowledges(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(5);
	del(&hw);
	EXPECT_ACCESSES(test, { 'W', PERFEVTSEL0, 0 }, { 'P', 0, 5 }, { 'W', ACK, 0x1 });
	KUNIT_EXPECT_EQ(test, hw.count, 1005ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, -5LL);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, table()->late_until));
	/* The sample comes as soon as it runs again: -2. */
	KUNIT_ASSERT_TRUE(test, add(&hw));
	EXPECT_ACCESSES(test, { 'W', PMC0, 0xfffffffffffe }, { 'W', PERFEVTSEL0, 0x5300c4 });
}

static void count_only_reads(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(MINUS_1000 + 7);
	KUNIT_EXPECT_EQ(test, count(&hw), 7ULL);
	EXPECT_ACCESSES(test, { 'P', 0, MINUS_1000 + 7 });
	KUNIT_EXPECT_EQ(test, hw.count, 0ULL);
}

/* One RDMSR, two WRMSR, one RDPMC and one write of the LVT entry */
static void a_pmi_of_one_counter(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'P', 0, 3 }, { 'W', PMC0, MINUS_997 });
	KUNIT_EXPECT_EQ(test, fake.overflows, 1);
	KUNIT_EXPECT_PTR_EQ(test, fake.served[0], &hw);
	KUNIT_EXPECT_EQ(test, hw.count, 1003ULL);
	KUNIT_EXPECT_EQ(test, hw.last_period, 1000ULL);
	KUNIT_EXPECT_EQ(test, hw.reloads, 1);
}

/* Another one counts ring 0 and may overflow before the entry is unmasked. */
static void a_second_look_for_ring_0(struct kunit *test)
{
	struct pmr_hw hw = general(false), kernel = fixed(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&kernel));
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'R', STATUS, 0 }, { 'P', 0, 3 }, { 'W', PMC0, MINUS_997 });

	NEXT_PMC(4, 3);
	NEXT_STATUS(0x1, 0x200000000);
	KUNIT_EXPECT_EQ(test, pmi(), 2);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'R', STATUS, 0x200000000 }, { 'W', ACK, 0x200000000 },
			{ 'P', 0, 4 }, { 'W', PMC0, 0xfffffffffc1c },
			{ 'P', 0x40000001, 3 }, { 'W', FIXED_CTR0 + 1, MINUS_997 });
	KUNIT_EXPECT_PTR_EQ(test, fake.served[1], &kernel);
}

static void no_second_look_for_ring_3(struct kunit *test)
{
	struct pmr_hw hw = general(true), user = fixed(false);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&user));
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	KUNIT_EXPECT_EQ(test, fake.accesses, 5);
}

static void two_overflows_in_one_status(struct kunit *test)
{
	struct pmr_hw hw = general(true), cycles = fixed(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&cycles));
	NEXT_PMC(3, 3);
	NEXT_STATUS(0x200000001);
	KUNIT_EXPECT_EQ(test, pmi(), 2);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x200000001 }, { 'W', ACK, 0x200000001 },
			{ 'L', 0, LVT_NMI }, { 'P', 0, 3 }, { 'W', PMC0, MINUS_997 },
			{ 'P', 0x40000001, 3 }, { 'W', FIXED_CTR0 + 1, MINUS_997 });
	KUNIT_EXPECT_EQ(test, fake.overflows, 2);
}

/* What would keep counters from counting on is acknowledged, the rest is not. */
static void other_status_bits(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(3);
	NEXT_STATUS(0xffffffff00000001);
	KUNIT_EXPECT_EQ(test, pmi(), 4);
	KUNIT_EXPECT_EQ(test, fake.log[1].reg, ACK);
	KUNIT_EXPECT_EQ(test, fake.log[1].value, 0x8c00000700000001ULL);
	KUNIT_EXPECT_EQ(test, fake.overflows, 1);
}

static void a_late_pmi_is_claimed_by_the_mask(struct kunit *test)
{
	u64 before = late_nmis();

	NEXT_STATUS(0);
	fake.lvtpc = LVT_MASKED;
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0 }, { 'R', GLOBAL_CTRL, 0x7000000ff },
			{ 'l', 0, LVT_MASKED }, { 'L', 0, LVT_NMI }, { 'R', STATUS, 0 });
	KUNIT_EXPECT_EQ(test, late_nmis() - before, 1ULL);
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
}

static void another_ones_nmi_is_left(struct kunit *test)
{
	struct pmr_hw hw = general(true);
	u64 before = late_nmis();

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(MINUS_1000 + 5);
	NEXT_STATUS(0);
	fake.lvtpc = LVT_NMI;
	KUNIT_EXPECT_EQ(test, pmi(), 0);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0 }, { 'P', 0, MINUS_1000 + 5 },
			{ 'R', GLOBAL_CTRL, 0x7000000ff }, { 'l', 0, LVT_NMI });
	KUNIT_EXPECT_EQ(test, late_nmis(), before);
}

static void an_expected_pmi_is_claimed_once(struct kunit *test)
{
	NEXT_STATUS(0);
	fake.lvtpc = LVT_NMI;
	table()->late_until = jiffies + 10 * HZ;
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	KUNIT_EXPECT_EQ(test, pmi(), 0);
	table()->late_until = (jiffies - 1) | 1;
	if (time_after_eq(jiffies, table()->late_until))
		KUNIT_EXPECT_EQ(test, pmi(), 0);
}

/* Silicon that follows the counter: unmasked when it has been reloaded. */
static void a_pmi_that_is_unmasked_late(struct kunit *test)
{
	struct pmr_hw hw = general(false);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi_late(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'P', 0, 3 },
			{ 'W', PMC0, MINUS_997 }, { 'L', 0, LVT_NMI });
	KUNIT_EXPECT_EQ(test, fake.overflows, 1);
}

/* Then what ring 0 has overflowed while the entry was masked is found last. */
static void a_second_look_after_a_late_unmask(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(3, 4);
	NEXT_STATUS(0x1, 0x1);
	KUNIT_EXPECT_EQ(test, pmi_late(), 2);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'P', 0, 3 },
			{ 'W', PMC0, MINUS_997 }, { 'L', 0, LVT_NMI }, { 'R', STATUS, 0x1 },
			{ 'W', ACK, 0x1 }, { 'P', 0, 4 }, { 'W', PMC0, 0xfffffffffc1c });
	KUNIT_EXPECT_EQ(test, fake.overflows, 2);
}

/* A neighbour has acknowledged the status, and cleared GLOBAL_CTRL. */
static void an_eaten_status_is_found_by_the_counter(struct kunit *test)
{
	u64 before = per_cpu(pmr_cpu_stats, 0).recovered;
	struct pmr_hw hw = general(false), other = fixed(false);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&other));
	table()->ready = true;
	fake.msr[GLOBAL_CTRL] = 0;
	NEXT_PMC(3, MINUS_1000 + 7, 3);
	NEXT_STATUS(0);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	table()->ready = false;
	EXPECT_ACCESSES(test, { 'R', STATUS, 0 }, { 'P', 0, 3 },
			{ 'P', 0x40000001, MINUS_1000 + 7 }, { 'W', ACK, 0x1 },
			{ 'R', GLOBAL_CTRL, 0 }, { 'W', GLOBAL_CTRL, 0x7000000ff },
			{ 'L', 0, LVT_NMI }, { 'P', 0, 3 }, { 'W', PMC0, MINUS_997 });
	KUNIT_EXPECT_EQ(test, fake.overflows, 1);
	KUNIT_EXPECT_EQ(test, per_cpu(pmr_cpu_stats, 0).recovered - before, 1ULL);
}

/* What cannot have happened since the counter was looked at is not counted. */
static void an_impossible_delta_is_not_counted(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	table()->looked = rdtsc() | 1;
	NEXT_PMC(MINUS_1000 - BIT_ULL(46), MINUS_1000 - BIT_ULL(46));
	KUNIT_EXPECT_EQ(test, count(&hw), 0ULL);
	del(&hw);
	KUNIT_EXPECT_EQ(test, hw.count, 0ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 1000LL);
}

static void look(void)
{
	unsigned long flags;

	local_irq_save(flags);
	table()->looked = rdtsc() | 1;
	pmr_watch_look();
	local_irq_restore(flags);
}

static void a_look_that_finds_all_well(struct kunit *test)
{
	struct pmr_hw hw = general(true), other = fixed(false);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&other));
	fake.lvtpc = LVT_NMI;
	NEXT_STATUS(0);
	NEXT_PMC(MINUS_1000 + 7, MINUS_1000 + 8);
	look();
	EXPECT_ACCESSES(test, { 'P', 0, MINUS_1000 + 7 }, { 'P', 0x40000001, MINUS_1000 + 8 },
			{ 'l', 0, LVT_NMI }, { 'R', STATUS, 0 }, { 'R', FIXED_CTRL, 0xb0 },
			{ 'R', PERFEVTSEL0, 0x5300c4 }, { 'R', GLOBAL_CTRL, 0x7000000ff });
	KUNIT_EXPECT_EQ(test, hw.count, 0ULL);

	/* What does not read back is not looked at. */
	pmr_intel.opaque = true;
	fake.msr[GLOBAL_CTRL] = 0;
	NEXT_PMC(MINUS_1000 + 9, MINUS_1000 + 9);
	NEXT_STATUS(0);
	look();
	EXPECT_ACCESSES(test, { 'P', 0, MINUS_1000 + 9 }, { 'P', 0x40000001, MINUS_1000 + 9 },
			{ 'l', 0, LVT_NMI }, { 'R', STATUS, 0 });
}

/* Each register that something else has written is written again. */
static void a_look_sets_registers_right(struct kunit *test)
{
	u64 before = per_cpu(pmr_cpu_stats, 0).repaired;
	struct pmr_hw hw = general(true), other = fixed(false);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_ASSERT_TRUE(test, add(&other));
	fake.msr[GLOBAL_CTRL] = 0;
	fake.msr[FIXED_CTRL] = 0;
	fake.msr[PERFEVTSEL0] = 0x4300c0;
	fake.lvtpc = LVT_MASKED;
	NEXT_STATUS(BIT_ULL(59));
	NEXT_PMC(MINUS_1000, MINUS_1000);
	look();
	KUNIT_EXPECT_EQ(test, fake.msr[GLOBAL_CTRL], 0x7000000ffULL);
	KUNIT_EXPECT_EQ(test, fake.msr[FIXED_CTRL], 0xb0ULL);
	KUNIT_EXPECT_EQ(test, fake.msr[PERFEVTSEL0], 0x5300c4ULL);
	KUNIT_EXPECT_EQ(test, fake.msr[ACK], BIT_ULL(59));
	KUNIT_EXPECT_EQ(test, fake.lvtpc, LVT_NMI);
	KUNIT_EXPECT_EQ(test, per_cpu(pmr_cpu_stats, 0).repaired - before, 1ULL);
	KUNIT_EXPECT_EQ(test, table()->silenced, 0ULL);
}

/* A counter that somebody wrote goes on with what was left; only the jump is lost. */
static void a_look_finds_a_jump(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	fake.lvtpc = LVT_NMI;
	NEXT_STATUS(0);
	NEXT_PMC(MINUS_1000 + 10);
	look();
	NEXT_PMC(BIT_ULL(46), BIT_ULL(46) + 1);
	look();
	KUNIT_EXPECT_EQ(test, hw.count, 11ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 989LL);
	KUNIT_EXPECT_EQ(test, fake.msr[PMC0], (-989ULL) & GENMASK_ULL(47, 0));
	KUNIT_EXPECT_EQ(test, fake.msr[PERFEVTSEL0], 0x5300c4ULL);
	KUNIT_EXPECT_EQ(test, table()->active, 0x1ULL);
}

/* Wrapped, and no NMI: the sample comes at once when the counter is loaded with 2. */
static void a_look_finds_a_silent_overflow(struct kunit *test)
{
	u64 before = per_cpu(pmr_cpu_stats, 0).recovered;
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	fake.lvtpc = LVT_NMI;
	NEXT_STATUS(0);
	NEXT_PMC(20, 21);
	look();
	KUNIT_EXPECT_EQ(test, hw.count, 1021ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, -21LL);
	KUNIT_EXPECT_EQ(test, fake.msr[PMC0], 0xfffffffffffeULL);
	KUNIT_EXPECT_EQ(test, per_cpu(pmr_cpu_stats, 0).recovered - before, 1ULL);
}

/* 1,000 NMIs that serve nothing stop all counters; nothing is added after that. */
static void a_storm_is_broken(struct kunit *test)
{
	struct pmr_hw hw = general(true), more = fixed(false);
	int i;

	KUNIT_ASSERT_TRUE(test, add(&hw));
	for (i = 0; i < 1000 && fake.msr[GLOBAL_CTRL]; i++) {
		fake.lvtpc = LVT_MASKED;
		NEXT_STATUS(0);
		NEXT_PMC(MINUS_1000);
		pmi();
	}
	/* Other tests may have made some of them. */
	KUNIT_EXPECT_GT(test, i, 900);
	KUNIT_EXPECT_EQ(test, fake.msr[GLOBAL_CTRL], 0ULL);
	KUNIT_EXPECT_EQ(test, fake.lvtpc, LVT_MASKED);
	KUNIT_EXPECT_FALSE(test, add(&more));
	del(&hw);
	KUNIT_EXPECT_FALSE(test, add(&hw));
}

/* Nothing else tells of the overflows of a counter that no event is on. */
static void a_storm_of_a_counter_without_event_is_broken(struct kunit *test)
{
	struct pmr_hw hw = general(true);
	int i;

	KUNIT_ASSERT_TRUE(test, add(&hw));
	for (i = 0; i < 1000 && fake.msr[GLOBAL_CTRL]; i++) {
		NEXT_STATUS(0x2);
		pmi();
	}
	KUNIT_EXPECT_GT(test, i, 900);
	KUNIT_EXPECT_EQ(test, fake.msr[GLOBAL_CTRL], 0ULL);
	KUNIT_EXPECT_EQ(test, fake.lvtpc, LVT_MASKED);
	del(&hw);
}

/* An entry that is another counter's is not touched. */
static void an_entry_that_is_misplaced(struct kunit *test)
{
	u64 before = per_cpu(pmr_cpu_stats, 0).misplaced;
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	hw.idx = 5;
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI });
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
	KUNIT_EXPECT_EQ(test, per_cpu(pmr_cpu_stats, 0).misplaced - before, 1ULL);
}

/* Its bit may still be in the status: it is acknowledged and left stopped. */
static void a_stopped_counter_stays_stopped(struct kunit *test)
{
	struct pmr_hw hw = general(true);
	u64 before = late_nmis();

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(MINUS_1000 + 1);
	del(&hw);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI });
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
	KUNIT_EXPECT_EQ(test, hw.count, 1ULL);
	KUNIT_EXPECT_EQ(test, late_nmis() - before, 1ULL);
}

static void a_counting_event_writes_no_sample(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	hw.sampling = false;
	hw.period = 0;
	KUNIT_ASSERT_TRUE(test, add(&hw));
	EXPECT_ACCESSES(test, { 'W', PMC0, LONGEST }, { 'W', PERFEVTSEL0, 0x5300c4 });
	NEXT_PMC(3);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'P', 0, 3 }, { 'W', PMC0, LONGEST });
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
	KUNIT_EXPECT_EQ(test, hw.count, 0x800000000002ULL);
}

static void throttling(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(3, MINUS_997 + 20);
	NEXT_STATUS(0x1);
	fake.throttle = true;
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'P', 0, 3 }, { 'W', PMC0, MINUS_997 },
			{ 'P', 0, MINUS_997 + 20 }, { 'W', PMC0, LONGEST });
	KUNIT_EXPECT_TRUE(test, hw.throttled);
	KUNIT_EXPECT_EQ(test, hw.count, 1023ULL);

	/* It counts on without samples. */
	NEXT_PMC(1);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
	KUNIT_EXPECT_TRUE(test, hw.throttled);
	KUNIT_EXPECT_EQ(test, hw.count, 1023ULL + 0x800000000000);
}

/* Two are added or none: the second has no counter to go to. */
static void a_group_is_added_whole(struct kunit *test)
{
	struct pmr_hw one = general(true), two = general(true), three = general(true);
	struct pmr_hw *both[] = { &one, &two };
	unsigned long flags;
	bool added;

	one.allowed = 0x3;
	two.allowed = 0x1;
	three.allowed = 0x1;
	KUNIT_ASSERT_TRUE(test, add(&three));
	fake.accesses = 0;
	local_irq_save(flags);
	added = pmr_intel.pmu.add(both, 2);
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, added);
	KUNIT_EXPECT_EQ(test, fake.accesses, 0);
	KUNIT_EXPECT_EQ(test, one.idx, -1);
	KUNIT_EXPECT_EQ(test, table()->active, 0x1ULL);
}

/* The one that runs can go elsewhere: it makes room. */
static void an_event_moves_for_another(struct kunit *test)
{
	struct pmr_hw first = general(true), picky = general(true);

	first.allowed = 0x3;
	picky.allowed = 0x1;
	KUNIT_ASSERT_TRUE(test, add(&first));
	KUNIT_ASSERT_EQ(test, first.idx, 0);
	fake.accesses = 0;
	NEXT_PMC(MINUS_1000 + 7);
	KUNIT_ASSERT_TRUE(test, add(&picky));
	KUNIT_EXPECT_EQ(test, picky.idx, 0);
	KUNIT_EXPECT_EQ(test, first.idx, 1);
	KUNIT_EXPECT_EQ(test, first.count, 7ULL);
	KUNIT_EXPECT_EQ(test, first.period_left, 993LL);
	KUNIT_EXPECT_EQ(test, table()->active, 0x3ULL);
}

/* What an event has counted does not stay for others to read. */
static void scrub_zeroes_what_nobody_uses(struct kunit *test)
{
	struct pmr_hw gone = general(true), stays = general(true);
	unsigned long flags;

	KUNIT_ASSERT_TRUE(test, add(&gone));
	KUNIT_ASSERT_TRUE(test, add(&stays));
	del(&gone);
	fake.accesses = 0;
	local_irq_save(flags);
	pmr_intel.pmu.scrub(current->active_mm);
	pmr_intel.pmu.scrub(current->active_mm);
	local_irq_restore(flags);
	EXPECT_ACCESSES(test, { 'W', PMC0, 0 });
}

/* Without ownership nothing is touched: the counters are others'. */
static void a_cpu_that_is_not_ours(struct kunit *test)
{
	struct pmr_hw gone = general(true);
	struct pt_regs regs = { };
	unsigned long flags;
	int served;

	local_irq_save(flags);
	pmr_intel_cpu_start();
	local_irq_restore(flags);
	KUNIT_ASSERT_TRUE(test, add(&gone));
	NEXT_PMC(5);
	del(&gone);	/* after its overflow: a PMI is on the way */
	KUNIT_EXPECT_NE(test, table()->late_until, 0UL);

	local_irq_save(flags);
	pmr_intel_cpu_stop();
	fake.accesses = 0;
	pmr_intel.pmu.scrub(current->active_mm);
	served = pmr_intel.pmu.handle_nmi(NMI_LOCAL, &regs);
	KUNIT_EXPECT_EQ(test, served, 1);
	served = pmr_intel.pmu.handle_nmi(NMI_LOCAL, &regs);
	KUNIT_EXPECT_EQ(test, served, 0);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, fake.accesses, 0);
	KUNIT_EXPECT_FALSE(test, table()->ready);
	KUNIT_EXPECT_EQ(test, table()->dirty, 0ULL);
	KUNIT_EXPECT_EQ(test, table()->late_until, 0UL);
}

/* The first event takes the PMU of its CPU, and the first stop gives it back. */
static void the_first_event_takes_the_cpu(struct kunit *test)
{
	struct pmr_hw hw = general(true);
	unsigned long flags;

	table()->ready = false;
	local_irq_save(flags);
	pmr_intel_cpu_stop();
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, fake.accesses, 0);
	KUNIT_ASSERT_TRUE(test, add(&hw));
	KUNIT_EXPECT_TRUE(test, table()->ready);
	KUNIT_EXPECT_EQ(test, fake.msr[GLOBAL_CTRL], 0x7000000ffULL);
	del(&hw);
	local_irq_save(flags);
	pmr_intel_cpu_stop();
	fake.accesses = 0;
	pmr_intel_cpu_stop();
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, fake.accesses, 0);
}

/* perf zeroes all counters in between: nothing is lost and no period is longer. */
static void zeroed_while_at_zero(struct kunit *test)
{
	struct pmr_hw hw = general(true);
	unsigned long flags;

	KUNIT_ASSERT_TRUE(test, add(&hw));
	NEXT_PMC(MINUS_1000 + 300, 20, 25);
	local_irq_save(flags);
	pmr_intel_reload_all(true);
	EXPECT_ACCESSES(test, { 'W', PERFEVTSEL0, 0 }, { 'P', 0, MINUS_1000 + 300 },
			{ 'W', PMC0, 0 }, { 'W', PERFEVTSEL0, 0x5300c4 });
	KUNIT_EXPECT_EQ(test, pmr_intel.pmu.count(&hw), 320ULL);
	fake.accesses = 0;
	pmr_intel_reload_all(false);
	local_irq_restore(flags);
	EXPECT_ACCESSES(test, { 'W', PERFEVTSEL0, 0 }, { 'P', 0, 25 },
			{ 'W', PMC0, 0xfffffffffd5d }, { 'W', PERFEVTSEL0, 0x5300c4 });
	KUNIT_EXPECT_EQ(test, hw.count, 325ULL);
	KUNIT_EXPECT_EQ(test, hw.period_left, 675LL);
	KUNIT_EXPECT_EQ(test, table()->late_until, 0UL);
}

/* Legacy writes are extended from bit 31, so 2^31 - 1 is the most in one go. */
static void legacy_writes(struct kunit *test)
{
	struct pmr_hw hw = general(true);

	describe(test, 0x07300804, 0x603, 0);
	pmr_period_set(&hw, 0x80000000);
	KUNIT_ASSERT_TRUE(test, add(&hw));
	EXPECT_ACCESSES(test, { 'W', PERFCTR0, 0xffff80000001 }, { 'W', PERFEVTSEL0, 0x5300c4 });
	NEXT_PMC(0);
	NEXT_STATUS(0x1);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	/* One event is left: loaded as two, it is no sample yet. */
	EXPECT_ACCESSES(test, { 'R', STATUS, 0x1 }, { 'W', ACK, 0x1 }, { 'L', 0, LVT_NMI },
			{ 'P', 0, 0 }, { 'W', PERFCTR0, 0xfffffffffffe });
	KUNIT_EXPECT_EQ(test, fake.overflows, 0);
}

/* Version 1 has neither GLOBAL_CTRL nor GLOBAL_STATUS: the counter tells. */
static void version_1(struct kunit *test)
{
	struct pmr_hw hw = general(true), other = general(false);

	describe(test, 0x07280201, 0, 0);
	hw.allowed = 0x3;
	other.allowed = 0x3;
	KUNIT_ASSERT_TRUE(test, add(&hw));
	EXPECT_ACCESSES(test, { 'W', PERFCTR0, 0xfffffffc18 }, { 'W', PERFEVTSEL0, 0x5300c4 });
	KUNIT_ASSERT_TRUE(test, add(&other));
	NEXT_PMC(3, 0xffffffff00, 3);
	KUNIT_EXPECT_EQ(test, pmi(), 1);
	EXPECT_ACCESSES(test, { 'P', 0, 3 }, { 'P', 1, 0xffffffff00 }, { 'L', 0, LVT_NMI },
			{ 'P', 0, 3 }, { 'W', PERFCTR0, 0xfffffffc1b });
	NEXT_PMC(7);
	del(&hw);
	EXPECT_ACCESSES(test, { 'W', PERFEVTSEL0, 0 }, { 'P', 0, 7 });
}

/* Index of the last write of @msr that wrote @value, or -1 */
static int written(u32 msr, u64 value)
{
	int i;

	for (i = min_t(int, fake.accesses, ARRAY_SIZE(fake.log)) - 1; i >= 0; i--)
		if (fake.log[i].op == 'W' && fake.log[i].reg == msr && fake.log[i].value == value)
			break;
	return i;
}

/* Fills the registers with something that has to be found again. */
static void fill_registers(void)
{
	u32 i;

	for (i = 0; i < 8; i++) {
		fake.msr[PERFEVTSEL0 + i] = 0x430000 + i;
		fake.msr[PMC0 + i] = 0xabc000 + i;
	}
	for (i = 0; i < 3; i++)
		fake.msr[FIXED_CTR0 + i] = 0xdef000 + i;
	fake.msr[FIXED_CTRL] = 0x333;
	fake.msr[GLOBAL_CTRL] = 0x7000000ff;
	fake.msr[DEBUGCTL] = 0x5001;
	fake.msr[PEBS_ENABLE] = 0x3;
	fake.lvtpc = LVT_MASKED;
}

static void start_takes_the_pmu(struct kunit *test)
{
	unsigned long flags;
	int i;

	fill_registers();
	local_irq_save(flags);
	pmr_intel_cpu_start();
	local_irq_restore(flags);

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, fake.msr[PERFEVTSEL0 + i], 0ULL);
	KUNIT_EXPECT_EQ(test, fake.msr[FIXED_CTRL], 0ULL);
	KUNIT_EXPECT_EQ(test, fake.msr[DEBUGCTL], 0x4001ULL);
	KUNIT_EXPECT_EQ(test, fake.msr[PEBS_ENABLE], 0ULL);
	KUNIT_EXPECT_EQ(test, fake.lvtpc, LVT_NMI);
	KUNIT_EXPECT_EQ(test, fake.msr[ACK], 0x8c000007000000ffULL);
	/* All stands still before a selector changes, and runs when all is set. */
	KUNIT_EXPECT_GE(test, written(GLOBAL_CTRL, 0), 0);
	KUNIT_EXPECT_LT(test, written(GLOBAL_CTRL, 0), written(PERFEVTSEL0, 0));
	KUNIT_EXPECT_LT(test, written(PERFEVTSEL0 + 7, 0), written(ACK, 0x8c000007000000ff));
	KUNIT_EXPECT_EQ(test, written(GLOBAL_CTRL, 0x7000000ff), fake.accesses - 1);
}

/* Firmware left more than counters in the status: all but Intel PT's goes. */
static void start_clears_what_is_stale(struct kunit *test)
{
	unsigned long flags;

	NEXT_STATUS(0xfc81000000000001);
	local_irq_save(flags);
	pmr_intel_cpu_start();
	WRITE_ONCE(table()->ready, false);
	local_irq_restore(flags);
	KUNIT_EXPECT_GE(test, written(ACK, 0xfc01000000000001), 0);
}

/* What this PMU lacks is neither read nor written. */
static void only_what_was_read_is_written(struct kunit *test)
{
	unsigned long flags;
	int i;

	pmr_intel.debugctl = false;
	pmr_intel.pebs = false;
	fake.msr[DEBUGCTL] = 0x1000;
	local_irq_save(flags);
	pmr_intel_cpu_start();
	pmr_intel_cpu_stop();
	local_irq_restore(flags);
	for (i = 0; i < min_t(int, fake.accesses, ARRAY_SIZE(fake.log)); i++)
		KUNIT_EXPECT_TRUE(test, fake.log[i].reg != DEBUGCTL &&
				  fake.log[i].reg != PEBS_ENABLE);
	KUNIT_EXPECT_LE(test, fake.accesses, ARRAY_SIZE(fake.log));
}

static void stop_puts_everything_back(struct kunit *test)
{
	static u64 found[ARRAY_SIZE(fake.msr)];
	unsigned long flags;
	int i;

	fill_registers();
	memcpy(found, fake.msr, sizeof(found));
	local_irq_save(flags);
	pmr_intel_cpu_start();
	for (i = 0; i < 8; i++)
		fake.msr[PMC0 + i] = 1;
	for (i = 0; i < 3; i++)
		fake.msr[FIXED_CTR0 + i] = 1;
	fake.accesses = 0;
	pmr_intel_cpu_stop();
	local_irq_restore(flags);

	KUNIT_EXPECT_FALSE(test, table()->ready);
	KUNIT_EXPECT_EQ(test, fake.lvtpc, LVT_MASKED);
	found[ACK] = 0x8c000007000000ff;
	for (i = 0; i < ARRAY_SIZE(found); i++)
		KUNIT_EXPECT_EQ_MSG(test, fake.msr[i], found[i], "MSR %x", i);
	KUNIT_EXPECT_EQ(test, written(GLOBAL_CTRL, 0), 0);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_LT(test, written(PMC0 + i, 0xabc000 + i),
				written(PERFEVTSEL0 + i, 0x430000 + i));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_LT(test, written(FIXED_CTR0 + i, 0xdef000 + i),
				written(FIXED_CTRL, 0x333));
	KUNIT_EXPECT_EQ(test, written(GLOBAL_CTRL, 0x7000000ff), fake.accesses - 1);
}

static struct kunit_case intel_cases[] = {
	KUNIT_CASE(add_loads_then_selects),
	KUNIT_CASE(add_without_a_counter_touches_nothing),
	KUNIT_CASE(fixed_counters_share_a_register),
	KUNIT_CASE(del_stops_then_reads),
	KUNIT_CASE(del_after_the_overflow_acknowledges),
	KUNIT_CASE(count_only_reads),
	KUNIT_CASE(a_pmi_of_one_counter),
	KUNIT_CASE(a_second_look_for_ring_0),
	KUNIT_CASE(no_second_look_for_ring_3),
	KUNIT_CASE(two_overflows_in_one_status),
	KUNIT_CASE(other_status_bits),
	KUNIT_CASE(a_late_pmi_is_claimed_by_the_mask),
	KUNIT_CASE(another_ones_nmi_is_left),
	KUNIT_CASE(an_expected_pmi_is_claimed_once),
	KUNIT_CASE(a_pmi_that_is_unmasked_late),
	KUNIT_CASE(a_second_look_after_a_late_unmask),
	KUNIT_CASE(an_eaten_status_is_found_by_the_counter),
	KUNIT_CASE(an_impossible_delta_is_not_counted),
	KUNIT_CASE(a_look_that_finds_all_well),
	KUNIT_CASE(a_look_sets_registers_right),
	KUNIT_CASE(a_look_finds_a_jump),
	KUNIT_CASE(a_look_finds_a_silent_overflow),
	KUNIT_CASE(a_storm_is_broken),
	KUNIT_CASE(a_storm_of_a_counter_without_event_is_broken),
	KUNIT_CASE(an_entry_that_is_misplaced),
	KUNIT_CASE(a_stopped_counter_stays_stopped),
	KUNIT_CASE(a_counting_event_writes_no_sample),
	KUNIT_CASE(throttling),
	KUNIT_CASE(a_group_is_added_whole),
	KUNIT_CASE(an_event_moves_for_another),
	KUNIT_CASE(scrub_zeroes_what_nobody_uses),
	KUNIT_CASE(a_cpu_that_is_not_ours),
	KUNIT_CASE(the_first_event_takes_the_cpu),
	KUNIT_CASE(zeroed_while_at_zero),
	KUNIT_CASE(legacy_writes),
	KUNIT_CASE(version_1),
	KUNIT_CASE(start_takes_the_pmu),
	KUNIT_CASE(start_clears_what_is_stale),
	KUNIT_CASE(only_what_was_read_is_written),
	KUNIT_CASE(stop_puts_everything_back),
	{}
};

static struct kunit_suite intel_suite = {
	.name = "pmuring_intel",
	.init = intel_init,
	.exit = intel_exit,
	.test_cases = intel_cases,
};

kunit_test_suite(intel_suite);
