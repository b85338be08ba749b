// SPDX-License-Identifier: GPL-2.0
/*
 * Owns struct perf_event_attr: its way in from user space, and every rule that
 * decides whether it is valid. Task context; no locks.
 *
 * The rules come in perf's order, because which errno wins is part of the ABI:
 * perf(1) walks its chain of fallbacks on EINVAL only, turns to software events
 * on ENOENT, drops kernel profiling on EACCES and reads attr.size on E2BIG
 * (perf_event_open(2), ERRORS).
 */
#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/security.h>
#include <linux/time.h>
#include <linux/uaccess.h>
#include <asm/perf_regs.h>

#include "api/api.h"
#include "sample/sample.h"

static int refuse_size(struct perf_event_attr __user *user)
{
	/* A client learns from it how much we know; no answer, no harm. */
	put_user(sizeof(struct perf_event_attr), &user->size);
	return -E2BIG;
}

/**
 * pmr_attr_copy() - copy an attr in and check all that needs no context
 * @user: where the user has it
 * @attr: filled in; attr->size is the size that the user passed
 * @rights: of the caller
 *
 * Return: 0, -EFAULT, -E2BIG for an unknown size or a bit set behind the end
 * of what we know (attr.size is then written back), or pmr_attr_check()'s.
 */
int pmr_attr_copy(struct perf_event_attr __user *user, struct perf_event_attr *attr,
		  const struct pmr_rights *rights)
{
	u32 size;
	int err;

	if (get_user(size, &user->size))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return refuse_size(user);
	err = copy_struct_from_user(attr, sizeof(*attr), user, size);
	if (err == -E2BIG)
		return refuse_size(user);
	if (err)
		return err;
	attr->size = size;
	return pmr_attr_check(attr, rights);
}

/* Up to PERF_SAMPLE_BRANCH_PRIV_SAVE; what came later needs hardware for it. */
#define BRANCH_TYPES GENMASK_ULL(PERF_SAMPLE_BRANCH_PRIV_SAVE_SHIFT, 0)

static int check_branch_stack(struct perf_event_attr *attr, const struct pmr_rights *rights)
{
	u64 mask = attr->branch_sample_type;
	u64 privilege = 0;

	if (mask & ~BRANCH_TYPES || !(mask & ~(u64)PERF_SAMPLE_BRANCH_PLM_ALL))
		return -EINVAL;
	if (!(mask & PERF_SAMPLE_BRANCH_PLM_ALL)) {
		if (!attr->exclude_kernel)
			privilege |= PERF_SAMPLE_BRANCH_KERNEL;
		if (!attr->exclude_user)
			privilege |= PERF_SAMPLE_BRANCH_USER;
		if (!attr->exclude_hv)
			privilege |= PERF_SAMPLE_BRANCH_HV;
		attr->branch_sample_type = mask | privilege;
	}
	if (attr->branch_sample_type & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV) &&
	    !rights->kernel)
		return -EACCES;
	return 0;
}

/* Segment registers are not kept in pt_regs on x86-64 (asm/perf_regs.h). */
#define REGS_NOT_KEPT (BIT_ULL(PERF_REG_X86_DS) | BIT_ULL(PERF_REG_X86_ES) | \
		       BIT_ULL(PERF_REG_X86_FS) | BIT_ULL(PERF_REG_X86_GS))
#define REGS_UNDEFINED GENMASK_ULL(PERF_REG_X86_XMM0 - 1, PERF_REG_X86_64_MAX)

static bool valid_regs(u64 mask)
{
	return mask && !(mask & (REGS_NOT_KEPT | REGS_UNDEFINED));
}

static bool valid_stack_size(u32 size)
{
	return size < USHRT_MAX && IS_ALIGNED(size, sizeof(u64));
}

static bool contradicts_itself(const struct perf_event_attr *attr)
{
	u64 weights = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT;

	return (attr->sample_type & weights) == weights ||
	       (attr->inherit_thread && !attr->inherit) ||
	       (attr->remove_on_exec && attr->enable_on_exec) ||
	       (attr->sigtrap && !attr->remove_on_exec);
}

/**
 * pmr_attr_check() - the rules that depend on the attr alone
 * @attr: attr; defaults that the user left open are filled in
 * @rights: of the caller
 *
 * Return: 0, -EINVAL, or -EACCES for branch stacks of the kernel.
 */
int pmr_attr_check(struct perf_event_attr *attr, const struct pmr_rights *rights)
{
	u64 types = attr->sample_type;
	int err;

	if (attr->__reserved_1 || attr->__reserved_2 || attr->__reserved_3)
		return -EINVAL;
	if (types & ~(u64)(PERF_SAMPLE_MAX - 1) || attr->read_format & ~(u64)(PERF_FORMAT_MAX - 1))
		return -EINVAL;
	if (types & PERF_SAMPLE_BRANCH_STACK) {
		err = check_branch_stack(attr, rights);
		if (err)
			return err;
	}
	if (types & PERF_SAMPLE_REGS_USER && !valid_regs(attr->sample_regs_user))
		return -EINVAL;
	if (types & PERF_SAMPLE_STACK_USER && !valid_stack_size(attr->sample_stack_user))
		return -EINVAL;
	if (!attr->sample_max_stack)
		attr->sample_max_stack = rights->max_stack;
	if (types & PERF_SAMPLE_REGS_INTR && !valid_regs(attr->sample_regs_intr))
		return -EINVAL;
	return contradicts_itself(attr) ? -EINVAL : 0;
}

static int check_period(const struct perf_event_attr *attr)
{
	if (attr->freq)
		return attr->sample_freq > pmr_throttle_rate() ? -EINVAL : 0;
	return attr->sample_period >> 63 ? -EINVAL : 0;
}

static bool wants_kernel(const struct perf_event_attr *attr)
{
	return !attr->exclude_kernel || attr->text_poke ||
	       (attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_kernel);
}

/**
 * pmr_attr_check_rights() - the rules that depend on the caller
 * @attr: attr that passed pmr_attr_check()
 * @rights: of the caller
 *
 * Return: 0, -EACCES, -EPERM under lockdown, or -EINVAL for a rate or period
 * out of range.
 */
int pmr_attr_check_rights(const struct perf_event_attr *attr, const struct pmr_rights *rights)
{
	int err;

	if (!rights->open)
		return -EACCES;
	if (wants_kernel(attr) && !rights->kernel)
		return -EACCES;
	if (attr->namespaces && !rights->perfmon)
		return -EACCES;
	err = check_period(attr);
	if (err)
		return err;
	if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR && !rights->kernel)
		return -EACCES;
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR)
		return security_locked_down(LOCKDOWN_PERF);
	return 0;
}

/*
 * Bits for whose refusal perf(1) has a fallback that begins with EINVAL, and
 * those that Linux refuses with EINVAL where it does not know them.
 */
static bool refused_as_unknown(const struct perf_event_attr *attr)
{
	return attr->namespaces || attr->text_poke || attr->build_id || attr->cgroup ||
	       attr->aux_sample_size ||
	       (attr->aux_output && attr->type != PERF_TYPE_SOFTWARE) ||
	       attr->sample_type & (PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
				    PERF_SAMPLE_CODE_PAGE_SIZE);
}

/* Bits that mean what they mean in perf, and are not built yet. */
static bool not_built(const struct perf_event_attr *attr)
{
	return attr->sigtrap || attr->aux_output || attr->exclude_host ||
	       attr->sample_type & ~(u64)PMR_SAMPLE_TYPES;
}

/* Software events never sample in an NMI, where some clocks cannot be read. */
static int check_clock(const struct perf_event_attr *attr)
{
	if (!attr->use_clockid)
		return 0;
	switch (attr->clockid) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
		return 0;
	case CLOCK_REALTIME:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		return attr->type == PERF_TYPE_SOFTWARE ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/*
 * What would start, pause or resume an AUX area, which only newer kernels have in
 * their headers; older ones call it reserved (perf_event.h, behind
 * aux_sample_size).
 */
static bool wants_aux_action(const struct perf_event_attr *attr)
{
	return *(&attr->aux_sample_size + 1);
}

/**
 * pmr_attr_supported() - the rules that depend on what the PMU and pmuring do
 * @attr: attr of an event that the PMU can count
 * @rights: of the caller
 *
 * ksymbol and bpf_event are accepted and have no effect: a module cannot learn
 * of either, and perf(1) sets both by default.
 *
 * Return: 0; -EOVERFLOW for a deeper call chain than max_stack; -EOPNOTSUPP
 * for what is not built yet; -EINVAL
 * where that is perf's answer, see refused_as_unknown().
 */
int pmr_attr_supported(const struct perf_event_attr *attr, const struct pmr_rights *rights)
{
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN &&
	    attr->sample_max_stack > rights->max_stack)
		return -EOVERFLOW;
	if (refused_as_unknown(attr))
		return -EINVAL;
	if (not_built(attr) || wants_aux_action(attr))
		return -EOPNOTSUPP;
	return check_clock(attr);
}
