// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the rules of struct perf_event_attr in api/attr.c: which errno, and
 * which one first (perf_event_open(2), ERRORS; perf_event.h). Called by KUnit in
 * task context.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "sample/sample.h"

/* Sizes of the versions of the struct (perf_event.h, PERF_ATTR_SIZE_VER*) */
static const u32 sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136 };
#define SIZE_KNOWN	((u32)sizeof(struct perf_event_attr))

static struct pmr_knobs knobs_before;

static int attr_init(struct kunit *test)
{
	knobs_before = pmr_knobs;
	pmr_knobs.paranoid = 2;
	pmr_knobs.max_stack = 127;
	return 0;
}

static void attr_exit(struct kunit *test)
{
	pmr_knobs = knobs_before;
}

/* The answer of @rules to the caller without any capability */
static int ask_unprivileged(struct kunit *test, int (*rules)(struct perf_event_attr *attr),
			    struct perf_event_attr *attr)
{
	struct cred *plain = prepare_creds();
	const struct cred *before;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, plain);
	cap_clear(plain->cap_effective);
	before = override_creds(plain);
	err = rules(attr);
	revert_creds(before);
	put_cred(plain);
	return err;
}

/* Each asks as an open does: the caller's rights are decided first. */
static int check(struct perf_event_attr *attr)
{
	struct pmr_rights mine;

	pmr_rights_decide(&mine);
	return pmr_attr_check(attr, &mine);
}

static int rights(struct perf_event_attr *attr)
{
	struct pmr_rights mine;

	pmr_rights_decide(&mine);
	return pmr_attr_check_rights(attr, &mine);
}

static int supported(const struct perf_event_attr *attr)
{
	struct pmr_rights mine;

	pmr_rights_decide(&mine);
	return pmr_attr_supported(attr, &mine);
}

static int copy(struct perf_event_attr __user *user, struct perf_event_attr *attr)
{
	struct pmr_rights mine;

	pmr_rights_decide(&mine);
	return pmr_attr_copy(user, attr, &mine);
}

struct rule {
	const char *what;
	int err;
	struct perf_event_attr attr;
};

#define BRANCHES(mask) { .sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = (mask) }
#define USER_REGS(mask) { .sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = (mask) }
#define INTR_REGS(mask) { .sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = (mask) }
#define USER_STACK(size) { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = (size) }

static const struct rule check_rules[] = {
	{ "nothing", 0, { } },
	{ "reserved bits", -EINVAL, { .__reserved_1 = 1 } },
	{ "reserved word", -EINVAL, { .__reserved_2 = 1 } },
	{ "reserved word behind aux", -EINVAL, { .__reserved_3 = 1 } },
	{ "the last sample type", 0, { .sample_type = BIT_ULL(24) } },
	{ "an unknown sample type", -EINVAL, { .sample_type = BIT_ULL(25) } },
	{ "bit 63 as sample type", -EINVAL, { .sample_type = BIT_ULL(63) } },
	{ "all read formats", 0, { .read_format = 0x1f } },
	{ "an unknown read format", -EINVAL, { .read_format = 0x20 } },
	{ "branches", 0, BRANCHES(PERF_SAMPLE_BRANCH_ANY) },
	{ "branches of no kind", -EINVAL, BRANCHES(PERF_SAMPLE_BRANCH_USER) },
	{ "branches of an unknown kind", -EINVAL, BRANCHES(BIT_ULL(20)) },
	{ "branch bits not asked for", 0, { .branch_sample_type = BIT_ULL(20) } },
	{ "no user register", -EINVAL, USER_REGS(0) },
	{ "the user's AX", 0, USER_REGS(1) },
	{ "the user's R15", 0, USER_REGS(BIT_ULL(23)) },
	{ "the user's DS", -EINVAL, USER_REGS(1 | BIT_ULL(12)) },
	{ "the user's ES", -EINVAL, USER_REGS(1 | BIT_ULL(13)) },
	{ "the user's FS", -EINVAL, USER_REGS(1 | BIT_ULL(14)) },
	{ "the user's GS", -EINVAL, USER_REGS(1 | BIT_ULL(15)) },
	{ "a user register behind R15", -EINVAL, USER_REGS(BIT_ULL(24)) },
	{ "the last one before XMM0", -EINVAL, USER_REGS(BIT_ULL(31)) },
	{ "user registers not asked for", 0, { .sample_regs_user = BIT_ULL(24) } },
	{ "no user stack", 0, USER_STACK(0) },
	{ "the largest user stack", 0, USER_STACK(65528) },
	{ "65535 bytes of stack", -EINVAL, USER_STACK(65535) },
	{ "65536 bytes of stack", -EINVAL, USER_STACK(65536) },
	{ "a crooked stack", -EINVAL, USER_STACK(4) },
	{ "no register at the interrupt", -EINVAL, INTR_REGS(0) },
	{ "AX at the interrupt", 0, INTR_REGS(1) },
	{ "GS at the interrupt", -EINVAL, INTR_REGS(BIT_ULL(15)) },
	{ "both weights", -EINVAL,
	  { .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT } },
	{ "one weight", 0, { .sample_type = PERF_SAMPLE_WEIGHT_STRUCT } },
	{ "inherit_thread alone", -EINVAL, { .inherit_thread = 1 } },
	{ "inherit_thread, inherit", 0, { .inherit_thread = 1, .inherit = 1 } },
	{ "removed and enabled on exec", -EINVAL, { .remove_on_exec = 1, .enable_on_exec = 1 } },
	{ "sigtrap alone", -EINVAL, { .sigtrap = 1 } },
	{ "sigtrap, remove_on_exec", 0, { .sigtrap = 1, .remove_on_exec = 1 } },
};

static void each_rule_of_check(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(check_rules); i++) {
		struct perf_event_attr attr = check_rules[i].attr;

		KUNIT_EXPECT_EQ_MSG(test, check(&attr), check_rules[i].err, "%s",
				    check_rules[i].what);
	}
}

static void branch_levels_come_from_the_event(struct kunit *test)
{
	struct perf_event_attr all = BRANCHES(PERF_SAMPLE_BRANCH_ANY);
	struct perf_event_attr user = BRANCHES(PERF_SAMPLE_BRANCH_ANY);
	struct perf_event_attr told = BRANCHES(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL);

	KUNIT_EXPECT_EQ(test, check(&all), 0);
	KUNIT_EXPECT_EQ(test, all.branch_sample_type, 0xfULL);
	user.exclude_kernel = 1;
	user.exclude_hv = 1;
	KUNIT_EXPECT_EQ(test, check(&user), 0);
	KUNIT_EXPECT_EQ(test, user.branch_sample_type, 0x9ULL);
	KUNIT_EXPECT_EQ(test, check(&told), 0);
	KUNIT_EXPECT_EQ(test, told.branch_sample_type, 0xaULL);
}

static void branches_of_the_kernel_need_a_right(struct kunit *test)
{
	struct perf_event_attr kernel = BRANCHES(PERF_SAMPLE_BRANCH_ANY);
	struct perf_event_attr hv = BRANCHES(PERF_SAMPLE_BRANCH_ANY);
	struct perf_event_attr user = BRANCHES(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);

	hv.exclude_kernel = 1;
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &kernel), -EACCES);
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &hv), -EACCES);
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &user), 0);
	pmr_knobs.paranoid = 1;
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &kernel), 0);
}

/* Branches (EACCES) stand between the unknown bits and the registers. */
static void check_has_perfs_order(struct kunit *test)
{
	struct perf_event_attr attr = BRANCHES(PERF_SAMPLE_BRANCH_ANY);

	attr.sample_type |= PERF_SAMPLE_REGS_USER;
	attr.sigtrap = 1;
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &attr), -EACCES);
	attr.read_format = 0x20;
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &attr), -EINVAL);
	attr.read_format = 0;
	attr.__reserved_3 = 1;
	KUNIT_EXPECT_EQ(test, ask_unprivileged(test, check, &attr), -EINVAL);
}

static void max_stack_has_a_default(struct kunit *test)
{
	struct perf_event_attr open = { }, told = { .sample_max_stack = 500 };

	KUNIT_EXPECT_EQ(test, check(&open), 0);
	KUNIT_EXPECT_EQ(test, open.sample_max_stack, 127);
	KUNIT_EXPECT_EQ(test, check(&told), 0);
	KUNIT_EXPECT_EQ(test, told.sample_max_stack, 500);
}

static const struct rule rights_rules[] = {
	{ "of user space", 0, { .exclude_kernel = 1, .sample_period = S64_MAX } },
	{ "of the kernel", -EACCES, { .exclude_hv = 1 } },
	{ "of the kernel, period too long", -EACCES, { .sample_period = BIT_ULL(63) } },
	{ "namespaces", -EACCES, { .exclude_kernel = 1, .namespaces = 1,
				   .sample_period = BIT_ULL(63) } },
	{ "period too long", -EINVAL, { .exclude_kernel = 1, .sample_period = BIT_ULL(63),
					.sample_type = PERF_SAMPLE_PHYS_ADDR } },
	{ "physical addresses", -EACCES, { .exclude_kernel = 1,
					   .sample_type = PERF_SAMPLE_PHYS_ADDR } },
};

static void each_rule_of_rights(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rights_rules); i++) {
		struct perf_event_attr attr = rights_rules[i].attr;

		KUNIT_EXPECT_EQ_MSG(test, ask_unprivileged(test, rights, &attr),
				    rights_rules[i].err, "%s", rights_rules[i].what);
	}
}

static void paranoid_decides(struct kunit *test)
{
	struct perf_event_attr user = { .exclude_kernel = 1 }, kernel = { };
	static const struct {
		int paranoid, user, kernel;
	} levels[] = {
		{ -1, 0, 0 }, { 1, 0, 0 }, { 2, 0, -EACCES }, { 3, -EACCES, -EACCES },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		pmr_knobs.paranoid = levels[i].paranoid;
		KUNIT_EXPECT_EQ(test, ask_unprivileged(test, rights, &user), levels[i].user);
		KUNIT_EXPECT_EQ(test, ask_unprivileged(test, rights, &kernel), levels[i].kernel);
		KUNIT_EXPECT_EQ(test, rights(&kernel), 0);
	}
}

/* What root changes while an event is opened comes too late for it. */
static void rights_are_decided_once(struct kunit *test)
{
	struct perf_event_attr kernel = { }, chain = { .sample_type = PERF_SAMPLE_CALLCHAIN };
	struct perf_event_attr branches = BRANCHES(PERF_SAMPLE_BRANCH_ANY);
	struct pmr_rights before;

	pmr_rights_decide(&before);
	KUNIT_ASSERT_EQ(test, pmr_attr_check(&chain, &before), 0);
	before.kernel = false;
	pmr_knobs.paranoid = -1;
	pmr_knobs.max_stack = 1;
	KUNIT_EXPECT_EQ(test, pmr_attr_check_rights(&kernel, &before), -EACCES);
	KUNIT_EXPECT_EQ(test, pmr_attr_check(&branches, &before), -EACCES);
	KUNIT_EXPECT_EQ(test, pmr_attr_supported(&chain, &before), 0);

	before.kernel = true;
	pmr_knobs.paranoid = 3;
	KUNIT_EXPECT_EQ(test, pmr_attr_check_rights(&kernel, &before), 0);
	KUNIT_EXPECT_EQ(test, pmr_attr_check(&branches, &before), 0);
}

static void a_frequency_has_a_limit(struct kunit *test)
{
	struct perf_event_attr attr = { .freq = 1 };

	attr.sample_freq = pmr_throttle_rate();
	KUNIT_EXPECT_EQ(test, rights(&attr), 0);
	attr.sample_freq++;
	KUNIT_EXPECT_EQ(test, rights(&attr), -EINVAL);
}

#define DEEP_CHAIN { .sample_type = PERF_SAMPLE_CALLCHAIN, .sample_max_stack = 128 }

/* perf(1) falls back from EINVAL only, so those it asks for first must get it. */
static const struct rule supported_rules[] = {
	{ "nothing", 0, { } },
	{ "all of PMR_SAMPLE_TYPES", 0, { .sample_type = PMR_SAMPLE_TYPES } },
	{ "IP to PERIOD, IDENTIFIER", 0, { .sample_type = 0x103c7 } },
	{ "sample_id_all", 0, { .sample_id_all = 1 } },
	{ "watermark", 0, { .watermark = 1, .wakeup_watermark = 4096 } },
	{ "disabled", 0, { .disabled = 1 } },
	{ "exclude_guest", 0, { .exclude_guest = 1 } },
	{ "exclude_callchain_kernel", 0, { .exclude_callchain_kernel = 1 } },
	{ "exclude_callchain_user", 0, { .exclude_callchain_user = 1 } },
	{ "ksymbol and bpf_event", 0, { .ksymbol = 1, .bpf_event = 1 } },
	{ "precise, which is for the PMU to say", 0, { .precise_ip = 1 } },
	{ "a call chain too deep", -EOVERFLOW, DEEP_CHAIN },
	{ "a depth without a chain", 0, { .sample_max_stack = 128 } },
	{ "write_backward", 0, { .write_backward = 1 } },
	{ "inherit, enable_on_exec", 0, { .inherit = 1, .enable_on_exec = 1 } },
	{ "pinned, exclusive", 0, { .pinned = 1, .exclusive = 1 } },
	{ "mmap2, comm, task", 0, { .mmap = 1, .mmap2 = 1, .comm = 1, .task = 1 } },
	{ "sigtrap", -EOPNOTSUPP, { .sigtrap = 1 } },
	{ "exclude_host", -EOPNOTSUPP, { .exclude_host = 1 } },
	{ "REGS_USER", -EOPNOTSUPP, { .sample_type = PERF_SAMPLE_REGS_USER } },
	{ "STACK_USER", -EOPNOTSUPP, { .sample_type = PERF_SAMPLE_STACK_USER } },
	{ "aux_output of hardware", -EINVAL, { .aux_output = 1 } },
	{ "aux_output of software", -EOPNOTSUPP,
	  { .type = PERF_TYPE_SOFTWARE, .aux_output = 1 } },
	{ "aux_sample_size", -EINVAL, { .aux_sample_size = 64 } },
	{ "namespaces", -EINVAL, { .namespaces = 1 } },
	{ "text_poke", -EINVAL, { .text_poke = 1 } },
	{ "build_id", -EINVAL, { .build_id = 1 } },
	{ "cgroup", -EINVAL, { .cgroup = 1 } },
	{ "context_switch", 0, { .context_switch = 1 } },
	{ "WEIGHT_STRUCT", 0, { .sample_type = PERF_SAMPLE_WEIGHT_STRUCT } },
	{ "CGROUP", -EINVAL, { .sample_type = PERF_SAMPLE_CGROUP } },
	{ "DATA_PAGE_SIZE", -EINVAL, { .sample_type = PERF_SAMPLE_DATA_PAGE_SIZE } },
	{ "CODE_PAGE_SIZE", -EINVAL, { .sample_type = PERF_SAMPLE_CODE_PAGE_SIZE } },
	{ "the scheduler's clock", 0, { .clockid = CLOCK_REALTIME } },
	{ "CLOCK_MONOTONIC", 0, { .use_clockid = 1, .clockid = CLOCK_MONOTONIC } },
	{ "CLOCK_MONOTONIC_RAW", 0, { .use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW } },
	/* Clocks that an NMI cannot read */
	{ "CLOCK_REALTIME", -EINVAL, { .use_clockid = 1, .clockid = CLOCK_REALTIME } },
	{ "CLOCK_BOOTTIME", -EINVAL, { .use_clockid = 1, .clockid = CLOCK_BOOTTIME } },
	{ "CLOCK_TAI", -EINVAL, { .use_clockid = 1, .clockid = CLOCK_TAI } },
	{ "CLOCK_TAI of software", 0,
	  { .type = PERF_TYPE_SOFTWARE, .use_clockid = 1, .clockid = CLOCK_TAI } },
	{ "a clock there is not", -EINVAL, { .use_clockid = 1, .clockid = 99 } },
};

static void each_rule_of_supported(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(supported_rules); i++)
		KUNIT_EXPECT_EQ_MSG(test, supported(&supported_rules[i].attr),
				    supported_rules[i].err, "%s", supported_rules[i].what);
}

/* perf makes room for call chains before it looks at the rest. */
static void supported_has_perfs_order(struct kunit *test)
{
	struct perf_event_attr attr = DEEP_CHAIN;

	attr.namespaces = 1;
	KUNIT_EXPECT_EQ(test, supported(&attr), -EOVERFLOW);
	attr.sample_max_stack = 127;
	KUNIT_EXPECT_EQ(test, supported(&attr), -EINVAL);
}

/* One page of user memory, and nothing behind it */
static struct perf_event_attr __user *user_page(struct kunit *test)
{
	unsigned long address = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					      MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, address, 0UL);
	return (struct perf_event_attr __user *)address;
}

static u32 size_in(struct kunit *test, struct perf_event_attr __user *user)
{
	u32 size = 0;

	KUNIT_EXPECT_EQ(test, get_user(size, &user->size), 0);
	return size;
}

static void set_size(struct kunit *test, struct perf_event_attr __user *user, u32 size)
{
	KUNIT_ASSERT_EQ(test, put_user(size, &user->size), 0);
}

/* What lies behind the size that the user names is not read. */
static void each_size_is_taken(struct kunit *test)
{
	struct perf_event_attr __user *user = user_page(test);
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		void __user *behind = (void __user *)user + sizes[i];
		u32 size = sizes[i];

		KUNIT_ASSERT_EQ(test, clear_user(user, PAGE_SIZE), 0);
		set_size(test, user, size);
		KUNIT_ASSERT_EQ(test, put_user(~0ULL, &user->config), 0);
		KUNIT_ASSERT_EQ(test, put_user(~0ULL, (u64 __user *)behind), 0);
		memset(&attr, 0xff, sizeof(attr));
		KUNIT_EXPECT_EQ_MSG(test, copy(user, &attr), 0, "size %u", size);
		KUNIT_EXPECT_EQ(test, attr.size, size);
		KUNIT_EXPECT_EQ(test, attr.config, ~0ULL);
		if (size < sizeof(attr))
			KUNIT_EXPECT_EQ(test, *((u8 *)&attr + size), 0);
	}
}

static void no_size_is_the_first_one(struct kunit *test)
{
	struct perf_event_attr __user *user = user_page(test);
	struct perf_event_attr attr;

	KUNIT_ASSERT_EQ(test, put_user(~0ULL, &user->config2), 0);
	KUNIT_EXPECT_EQ(test, copy(user, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.size, 64);
	KUNIT_EXPECT_EQ(test, attr.config2, 0ULL);
}

static void a_wrong_size_tells_the_right_one(struct kunit *test)
{
	static const u32 wrong[] = { 1, 63, PAGE_SIZE + 1, U32_MAX };
	struct perf_event_attr __user *user = user_page(test);
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		set_size(test, user, wrong[i]);
		KUNIT_EXPECT_EQ_MSG(test, copy(user, &attr), -E2BIG, "size %u", wrong[i]);
		KUNIT_EXPECT_EQ(test, size_in(test, user), SIZE_KNOWN);
	}
}

static void a_later_attr_is_taken_while_it_is_zero(struct kunit *test)
{
	struct perf_event_attr __user *user = user_page(test);
	u8 __user *last = (u8 __user *)user + PAGE_SIZE - 1;
	struct perf_event_attr attr;

	set_size(test, user, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, copy(user, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.size, (u32)PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, put_user((u8)1, last), 0);
	KUNIT_EXPECT_EQ(test, copy(user, &attr), -E2BIG);
	KUNIT_EXPECT_EQ(test, size_in(test, user), SIZE_KNOWN);
}

static void unreadable_memory_is_efault(struct kunit *test)
{
	void __user *page = user_page(test);
	struct perf_event_attr __user *at_end = page + PAGE_SIZE - 64;
	struct perf_event_attr attr;

	KUNIT_EXPECT_EQ(test, copy(page + PAGE_SIZE, &attr), -EFAULT);
	KUNIT_EXPECT_EQ(test, copy(at_end, &attr), 0);
	set_size(test, at_end, 72);
	KUNIT_EXPECT_EQ(test, copy(at_end, &attr), -EFAULT);
}

static void copy_checks(struct kunit *test)
{
	struct perf_event_attr __user *user = user_page(test);
	struct perf_event_attr attr;

	KUNIT_ASSERT_EQ(test, put_user(0x20ULL, &user->read_format), 0);
	KUNIT_EXPECT_EQ(test, copy(user, &attr), -EINVAL);
}

static struct kunit_case attr_cases[] = {
	KUNIT_CASE(each_rule_of_check),
	KUNIT_CASE(branch_levels_come_from_the_event),
	KUNIT_CASE(branches_of_the_kernel_need_a_right),
	KUNIT_CASE(check_has_perfs_order),
	KUNIT_CASE(max_stack_has_a_default),
	KUNIT_CASE(each_rule_of_rights),
	KUNIT_CASE(paranoid_decides),
	KUNIT_CASE(rights_are_decided_once),
	KUNIT_CASE(a_frequency_has_a_limit),
	KUNIT_CASE(each_rule_of_supported),
	KUNIT_CASE(supported_has_perfs_order),
	KUNIT_CASE(each_size_is_taken),
	KUNIT_CASE(no_size_is_the_first_one),
	KUNIT_CASE(a_wrong_size_tells_the_right_one),
	KUNIT_CASE(a_later_attr_is_taken_while_it_is_zero),
	KUNIT_CASE(unreadable_memory_is_efault),
	KUNIT_CASE(copy_checks),
	{}
};

static struct kunit_suite attr_suite = {
	.name = "pmuring_attr",
	.init = attr_init,
	.exit = attr_exit,
	.test_cases = attr_cases,
};

kunit_test_suite(attr_suite);
