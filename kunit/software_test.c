// SPDX-License-Identifier: GPL-2.0
/*
 * Tests pmu/software.c, pmu/clock_events.c and the table of hooks/migrate.c.
 * Called by KUnit in task context, while no event exists; the tests stay on
 * CPU 0.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "hooks/hooks.h"
#include "pmu/period.h"
#include "pmu/pmu.h"
#include "sample/sample.h"

#define FAULTS		PERF_COUNT_SW_PAGE_FAULTS
#define SWITCHES	PERF_COUNT_SW_CONTEXT_SWITCHES

/**
 * struct seen - overflows that arrived
 * @overflows: their number
 * @periods: the sum of what they stand for
 * @hw: the last one's event
 * @addr: its address
 * @ip: where it was
 * @throttle: answer that the event is to be throttled
 */
struct seen {
	int overflows;
	u64 periods;
	struct pmr_hw *hw;
	u64 addr;
	u64 ip;
	bool throttle;
};

static struct seen seen;

/* The clocks' timers come through here in a hard IRQ. */
static bool see_overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	seen.overflows++;
	seen.periods += hw->last_period;
	seen.hw = hw;
	seen.addr = hw->addr;
	seen.ip = regs->ip;
	return seen.throttle;
}

static int software_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	static_call_update(pmr_overflow, see_overflow);
	return set_cpus_allowed_ptr(current, cpumask_of(0));
}

static void software_exit(struct kunit *test)
{
	static_call_update(pmr_overflow, pmr_event_overflow);
}

/* After what the core has set for every PMU. */
static int init(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	memset(hw, 0, sizeof(*hw));
	hw->sampling = attr->sample_period;
	return pmr_software_pmu.init_event(hw, attr);
}

/* An event as the core makes it. */
static struct pmr_hw *make(struct kunit *test, u32 event, u64 period)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = event, .sample_period = period,
	};
	struct pmr_hw *hw = kunit_kzalloc(test, sizeof(*hw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, hw);
	KUNIT_ASSERT_EQ(test, init(hw, &attr), 0);
	if (period)
		pmr_period_set(hw, period);
	return hw;
}

static void add(struct pmr_hw *hw)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_software_pmu.add(&hw, 1);
	local_irq_restore(flags);
}

static void del(struct pmr_hw *hw)
{
	unsigned long flags;

	local_irq_save(flags);
	pmr_software_pmu.del(hw);
	local_irq_restore(flags);
}

static u64 count(struct pmr_hw *hw)
{
	unsigned long flags;
	u64 count;

	local_irq_save(flags);
	count = pmr_software_pmu.count(hw);
	local_irq_restore(flags);
	return count;
}

static void happens(u32 event, u64 number, u16 cs)
{
	struct pt_regs regs = { .cs = cs, .ip = 0x1234 };

	pmr_software_event(event, number, &regs, 0xabcd);
}

static int opening(u32 type, u64 config, u64 sample_type)
{
	const struct perf_event_attr attr = {
		.type = type, .config = config, .sample_type = sample_type,
	};
	struct pmr_hw hw;

	return init(&hw, &attr);
}

static void every_known_event_opens(struct kunit *test)
{
	u64 config;

	for (config = PERF_COUNT_SW_CPU_CLOCK; config <= PERF_COUNT_SW_DUMMY; config++)
		KUNIT_EXPECT_EQ_MSG(test, opening(PERF_TYPE_SOFTWARE, config, 0), 0,
				    "config %llu", config);
}

/* The whole of config counts: CVE-2013-2094 looked at half of it. */
static void an_unknown_event_does_not_exist(struct kunit *test)
{
	static const u64 unknown[] = {
		PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_CGROUP_SWITCHES, PERF_COUNT_SW_MAX,
		U32_MAX, 1ULL << 32, (1ULL << 32) + FAULTS, 1ULL << 63, U64_MAX,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		KUNIT_EXPECT_EQ_MSG(test, opening(PERF_TYPE_SOFTWARE, unknown[i], 0), -ENOENT,
				    "config %llx", unknown[i]);
	KUNIT_EXPECT_EQ(test, opening(PERF_TYPE_HARDWARE, 0, 0), -ENOENT);
}

static void branch_stacks_are_refused_first(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, opening(PERF_TYPE_SOFTWARE, 0, PERF_SAMPLE_BRANCH_STACK),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, opening(PERF_TYPE_SOFTWARE, U64_MAX, PERF_SAMPLE_BRANCH_STACK),
			-EOPNOTSUPP);
}

static void it_counts_while_it_is_on(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 0);

	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, count(hw), 0ULL);
	add(hw);
	happens(FAULTS, 1, __USER_CS);
	happens(SWITCHES, 1, __USER_CS);
	happens(FAULTS, 5, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, count(hw), 6ULL);
	del(hw);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, hw->count, 6ULL);
	add(hw);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, count(hw), 7ULL);
	del(hw);
	KUNIT_EXPECT_EQ(test, seen.overflows, 0);
}

static void all_events_of_a_kind_count(struct kunit *test)
{
	struct pmr_hw *faults[3], *dummy = make(test, PERF_COUNT_SW_DUMMY, 1);
	int i;

	add(dummy);
	for (i = 0; i < 3; i++) {
		faults[i] = make(test, FAULTS, 0);
		add(faults[i]);
	}
	happens(FAULTS, 1, __USER_CS);
	del(faults[1]);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, faults[0]->count, 2ULL);
	KUNIT_EXPECT_EQ(test, faults[1]->count, 1ULL);
	KUNIT_EXPECT_EQ(test, faults[2]->count, 2ULL);
	KUNIT_EXPECT_EQ(test, count(dummy), 0ULL);
	del(faults[0]);
	del(faults[2]);
	del(dummy);
}

static void excluded_modes_do_not_count(struct kunit *test)
{
	struct pmr_hw *user = make(test, FAULTS, 1), *kernel = make(test, FAULTS, 1);

	user->kernel = false;
	kernel->user = false;
	add(user);
	add(kernel);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_PTR_EQ(test, seen.hw, user);
	happens(FAULTS, 10, __KERNEL_CS);
	KUNIT_EXPECT_PTR_EQ(test, seen.hw, kernel);
	KUNIT_EXPECT_EQ(test, user->count, 1ULL);
	KUNIT_EXPECT_EQ(test, kernel->count, 10ULL);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	del(user);
	del(kernel);
}

static void an_attr_says_which_modes(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = FAULTS };
	struct pmr_hw hw;

	attr.exclude_kernel = 1;
	KUNIT_ASSERT_EQ(test, init(&hw, &attr), 0);
	KUNIT_EXPECT_TRUE(test, hw.user && !hw.kernel);
	attr.exclude_user = 1;
	attr.exclude_kernel = 0;
	KUNIT_ASSERT_EQ(test, init(&hw, &attr), 0);
	KUNIT_EXPECT_TRUE(test, !hw.user && hw.kernel);
}

static void a_period_ends_in_a_sample(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 3);
	static const int due[] = { 0, 0, 1, 1, 1, 2, 2 };
	int i;

	add(hw);
	for (i = 0; i < ARRAY_SIZE(due); i++) {
		happens(FAULTS, 1, __USER_CS);
		KUNIT_EXPECT_EQ_MSG(test, seen.overflows, due[i], "after %d", i + 1);
	}
	KUNIT_EXPECT_EQ(test, seen.periods, 6ULL);
	KUNIT_EXPECT_EQ(test, seen.addr, 0xabcdULL);
	KUNIT_EXPECT_EQ(test, seen.ip, 0x1234ULL);
	/* the rest of a period is kept while it is off */
	del(hw);
	add(hw);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 3);
	del(hw);
}

static void a_period_of_one_samples_each(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 1);
	int i;

	add(hw);
	for (i = 0; i < 10; i++)
		happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 10);
	KUNIT_EXPECT_EQ(test, seen.periods, 10ULL);
	del(hw);
}

static void one_sample_for_many_periods(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 3);

	add(hw);
	happens(FAULTS, 10, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 1);
	KUNIT_EXPECT_EQ(test, seen.periods, 9ULL);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 1);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	KUNIT_EXPECT_EQ(test, seen.periods, 12ULL);
	del(hw);
}

/* perf: with PERIOD in a sample and a fixed period, each occurrence is one. */
static void with_period_each_is_a_sample(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = FAULTS, .sample_period = 100,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD,
	};
	struct pmr_hw hw;

	KUNIT_ASSERT_EQ(test, init(&hw, &attr), 0);
	pmr_period_set(&hw, 100);
	add(&hw);
	happens(FAULTS, 1, __USER_CS);
	happens(FAULTS, 7, __USER_CS);
	del(&hw);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	KUNIT_EXPECT_EQ(test, seen.periods, 8ULL);

	attr.freq = 1;
	KUNIT_ASSERT_EQ(test, init(&hw, &attr), 0);
	pmr_period_set(&hw, 100);
	add(&hw);
	happens(FAULTS, 99, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	happens(FAULTS, 1, __USER_CS);
	del(&hw);
	KUNIT_EXPECT_EQ(test, seen.overflows, 3);
}

static void throttled_it_only_counts(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 2);

	add(hw);
	seen.throttle = true;
	happens(FAULTS, 2, __USER_CS);
	KUNIT_EXPECT_TRUE(test, hw->throttled);
	happens(FAULTS, 1, __USER_CS);
	happens(FAULTS, 1, __USER_CS);
	KUNIT_EXPECT_EQ(test, hw->count, 4ULL);
	KUNIT_EXPECT_EQ(test, seen.overflows, 1);
	seen.throttle = false;
	hw->throttled = false;
	happens(FAULTS, 2, __USER_CS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 2);
	KUNIT_EXPECT_FALSE(test, hw->throttled);
	del(hw);
}

static void a_copy_is_on_its_own(struct kunit *test)
{
	struct pmr_hw *hw = make(test, FAULTS, 0), *copy = make(test, FAULTS, 0);

	add(hw);
	happens(FAULTS, 1, __USER_CS);
	*copy = *hw;
	copy->count = 0;
	pmr_software_init_copy(copy);
	happens(FAULTS, 1, __USER_CS);
	add(copy);
	del(hw);
	happens(FAULTS, 1, __USER_CS);
	del(copy);
	KUNIT_EXPECT_EQ(test, hw->count, 2ULL);
	KUNIT_EXPECT_EQ(test, copy->count, 1ULL);
}

static struct kunit_case software_cases[] = {
	KUNIT_CASE(every_known_event_opens),
	KUNIT_CASE(an_unknown_event_does_not_exist),
	KUNIT_CASE(branch_stacks_are_refused_first),
	KUNIT_CASE(it_counts_while_it_is_on),
	KUNIT_CASE(all_events_of_a_kind_count),
	KUNIT_CASE(excluded_modes_do_not_count),
	KUNIT_CASE(an_attr_says_which_modes),
	KUNIT_CASE(a_period_ends_in_a_sample),
	KUNIT_CASE(a_period_of_one_samples_each),
	KUNIT_CASE(one_sample_for_many_periods),
	KUNIT_CASE(with_period_each_is_a_sample),
	KUNIT_CASE(throttled_it_only_counts),
	KUNIT_CASE(a_copy_is_on_its_own),
	{}
};

static struct kunit_suite software_suite = {
	.name = "pmuring_software",
	.init = software_init,
	.exit = software_exit,
	.test_cases = software_cases,
};

#define CLOCK		PERF_COUNT_SW_CPU_CLOCK
#define MS		NSEC_PER_MSEC

/* As long as the scheduler's clock says, whatever interrupts take of it. */
static void pass(u64 ns)
{
	u64 start = local_clock();

	while (local_clock() - start < ns)
		cpu_relax();
}

static void a_clock_counts_time(struct kunit *test)
{
	static const u32 clocks[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK };
	u64 before, inside, after, stopped;
	struct pmr_hw *hw;
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		hw = make(test, clocks[i], 0);
		before = local_clock();
		add(hw);
		inside = local_clock();
		pass(MS);
		inside = local_clock() - inside;
		KUNIT_EXPECT_GE(test, count(hw), inside);
		del(hw);
		after = local_clock();
		KUNIT_EXPECT_GE(test, hw->count, inside);
		KUNIT_EXPECT_LE(test, hw->count, after - before);
		stopped = hw->count;
		pass(MS);
		KUNIT_EXPECT_EQ(test, hw->count, stopped);
		add(hw);
		del(hw);
		KUNIT_EXPECT_LT(test, hw->count, stopped + MS);
	}
}

/* A slow machine may be late for an expiry, but then the period says so. */
static void a_clock_samples(struct kunit *test)
{
	struct pmr_hw *hw = make(test, CLOCK, MS);
	u64 inside, all = local_clock();

	add(hw);
	inside = local_clock();
	pass(10 * MS + MS / 2);
	inside = local_clock() - inside;
	del(hw);
	all = local_clock() - all;
	KUNIT_EXPECT_GE(test, seen.periods, (inside / MS - 1) * MS);
	KUNIT_EXPECT_LE(test, seen.periods, all);
	KUNIT_EXPECT_EQ(test, seen.periods % MS, 0ULL);
	KUNIT_EXPECT_PTR_EQ(test, seen.hw, hw);
	KUNIT_EXPECT_EQ(test, seen.addr, 0ULL);
}

/* The tests run in the kernel, in no idle task. */
static void a_clock_samples_what_it_is_for(struct kunit *test)
{
	struct pmr_hw *hw = make(test, CLOCK, MS);

	hw->kernel = false;
	add(hw);
	pass(3 * MS);
	del(hw);
	KUNIT_EXPECT_EQ(test, seen.overflows, 0);
	KUNIT_EXPECT_GE(test, hw->count, 3 * MS);
	hw->kernel = true;
	hw->exclude_idle = true;
	add(hw);
	pass(3 * MS);
	del(hw);
	KUNIT_EXPECT_GE(test, seen.overflows, 1);
}

static void a_clock_keeps_the_rest_of_its_period(struct kunit *test)
{
	struct pmr_hw *hw = make(test, CLOCK, 1000 * MS);

	add(hw);
	pass(2 * MS);
	del(hw);
	KUNIT_EXPECT_LE(test, hw->period_left, 998LL * MS);
	KUNIT_EXPECT_GE(test, hw->period_left, 500LL * MS);
	hw->period_left = MS;
	add(hw);
	pass(3 * MS);
	del(hw);
	KUNIT_EXPECT_EQ(test, seen.overflows, 1);
	KUNIT_EXPECT_EQ(test, seen.periods, 1000ULL * MS);
}

static void a_clock_is_not_too_fast(struct kunit *test)
{
	struct pmr_hw *hw = make(test, CLOCK, 1);

	add(hw);
	pass(MS);
	del(hw);
	KUNIT_EXPECT_GE(test, seen.overflows, 1);
	KUNIT_EXPECT_LE(test, seen.overflows, (int)(hw->count / 10000) + 1);
}

static void a_throttled_clock_stops_its_timer(struct kunit *test)
{
	struct pmr_hw *hw = make(test, CLOCK, MS);

	seen.throttle = true;
	add(hw);
	pass(4 * MS);
	KUNIT_EXPECT_EQ(test, seen.overflows, 1);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&hw->timer));
	del(hw);
	add(hw);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&hw->timer));
	/* as pmr_event_restart() does */
	del(hw);
	seen.throttle = false;
	hw->throttled = false;
	pmr_period_set(hw, hw->period);
	add(hw);
	pass(4 * MS);
	del(hw);
	KUNIT_EXPECT_GE(test, seen.overflows, 2);
	KUNIT_EXPECT_GE(test, hw->count, 8 * MS);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(a_clock_counts_time),
	KUNIT_CASE(a_clock_samples),
	KUNIT_CASE(a_clock_samples_what_it_is_for),
	KUNIT_CASE(a_clock_keeps_the_rest_of_its_period),
	KUNIT_CASE(a_clock_is_not_too_fast),
	KUNIT_CASE(a_throttled_clock_stops_its_timer),
	{}
};

static struct kunit_suite clock_suite = {
	.name = "pmuring_clock_events",
	.init = software_init,
	.exit = software_exit,
	.test_cases = clock_cases,
};

/* Tasks are only compared, so an address is enough. */
static struct task_struct *task(unsigned int i)
{
	return (struct task_struct *)(0x100000UL + i * 64UL);
}

static void a_task_arrives_once(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, pmr_migrate_arrived(task(1)));
	pmr_migrate_remember(task(1));
	pmr_migrate_remember(task(2));
	pmr_migrate_remember(task(1));
	KUNIT_EXPECT_FALSE(test, pmr_migrate_arrived(task(3)));
	KUNIT_EXPECT_TRUE(test, pmr_migrate_arrived(task(1)));
	KUNIT_EXPECT_FALSE(test, pmr_migrate_arrived(task(1)));
	KUNIT_EXPECT_TRUE(test, pmr_migrate_arrived(task(2)));
	KUNIT_EXPECT_FALSE(test, pmr_migrate_arrived(task(2)));
}

/* Twice as many tasks on their way as a machine of 128 CPUs could run. */
static void many_tasks_are_remembered(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		pmr_migrate_remember(task(i));
	for (i = 0; i < 256; i++)
		KUNIT_EXPECT_TRUE_MSG(test, pmr_migrate_arrived(task(i)), "task %u", i);
	for (i = 0; i < 256; i++)
		KUNIT_EXPECT_FALSE_MSG(test, pmr_migrate_arrived(task(i)), "task %u", i);
}

static struct kunit_case migrate_cases[] = {
	KUNIT_CASE(a_task_arrives_once),
	KUNIT_CASE(many_tasks_are_remembered),
	{}
};

static struct kunit_suite migrate_suite = {
	.name = "pmuring_migrate",
	.test_cases = migrate_cases,
};

kunit_test_suites(&software_suite, &clock_suite, &migrate_suite);
