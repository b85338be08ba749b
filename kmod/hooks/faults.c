// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the hooks that see page faults: two tracepoints where a fault begins,
 * which give page-faults, and a return probe where one has been handled, which
 * gives minor-faults and major-faults.
 *
 * get and put: task context, may sleep. on_fault(): the page fault itself,
 * interrupts off, or an NMI that touches user memory. on_handled(): the
 * faulting task, preemption off. No locks of our own.
 *
 * The tracepoints come before the kernel has decided what a fault is, so that
 * is decided here by the same rules: a fault counts if the kernel goes on to
 * look for a VMA.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/vsyscall.h>

#include "hooks/hooks.h"
#include "hooks/tracepoint.h"
#include "pmu/pmu.h"

static bool is_user_address(unsigned long address)
{
	return address < TASK_SIZE_MAX || is_vsyscall_vaddr(address);
}

/* The tracepoint itself has switched preemption off once. */
static bool may_be_handled(void)
{
	return current->mm && !pagefault_disabled() && !in_atomic_preempt_off();
}

static void on_fault(void *data, unsigned long address, struct pt_regs *regs,
		     unsigned long error_code)
{
	if (is_user_address(address) && may_be_handled())
		pmr_software_event(PERF_COUNT_SW_PAGE_FAULTS, 1, regs, address);
}

static struct pmr_tracepoint points[] = {
	{ .name = "page_fault_user", .probe = on_fault },
	{ .name = "page_fault_kernel", .probe = on_fault },
};

static struct pmr_tracepoint_set faults = {
	.points = points,
	.number = ARRAY_SIZE(points),
};

/**
 * struct handling - a fault that is being handled
 * @regs: where it happened
 * @address: what was accessed
 * @flags: FAULT_FLAG_*
 */
struct handling {
	struct pt_regs *regs;
	unsigned long address;
	unsigned int flags;
};

/* Who looks for a page without touching it has no regs and causes no fault. */
static int on_handle(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct handling *handling = (struct handling *)instance->data;

	handling->address = regs_get_kernel_argument(regs, 1);
	handling->flags = regs_get_kernel_argument(regs, 2);
	handling->regs = (struct pt_regs *)regs_get_kernel_argument(regs, 3);
	return !handling->regs;
}

/*
 * One that has to be tried again is not handled yet, and is a major fault from
 * then on, since it has had to wait.
 */
static int on_handled(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct handling *handling = (struct handling *)instance->data;
	vm_fault_t result = (__force vm_fault_t)regs_return_value(regs);
	u32 event = PERF_COUNT_SW_PAGE_FAULTS_MIN;

	if (result & (VM_FAULT_RETRY | VM_FAULT_ERROR))
		return 0;
	if (result & VM_FAULT_MAJOR || handling->flags & FAULT_FLAG_TRIED)
		event = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	pmr_software_event(event, 1, handling->regs, handling->address);
	return 0;
}

/* Tasks that wait for the disk in the middle of a fault; more would go unseen. */
#define HANDLED_AT_ONCE	1024

static struct kretprobe handled = {
	.entry_handler = on_handle,
	.handler = on_handled,
	.data_size = sizeof(struct handling),
};

static int register_handled(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	/* What an earlier registration has left in it would be refused. */
	handled.kp = (struct kprobe){ .symbol_name = "handle_mm_fault" };
	handled.maxactive = HANDLED_AT_ONCE;
	handled.nmissed = 0;
	return register_kretprobe(&handled);
}

static void unregister_handled(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	unregister_kretprobe(&handled);
	if (handled.nmissed)
		pr_notice("%d page faults went uncounted: more than %d were being handled at once\n",
			  handled.nmissed, HANDLED_AT_ONCE);
}

static struct pmr_hook handled_hook = {
	.place = register_handled,
	.remove = unregister_handled,
};

/**
 * pmr_faults_init() - find the tracepoints at load
 *
 * Return: 0, or -ENOENT on a kernel that lacks them.
 */
int pmr_faults_init(void)
{
	pmr_hook_init(&handled_hook);
	return pmr_tracepoints_init(&faults);
}

/**
 * pmr_faults_get() - report page-faults for one more event
 *
 * Return: 0, -ENOENT on a kernel that lacks the tracepoints, or an error of
 * tracepoint_probe_register().
 */
int pmr_faults_get(void)
{
	return pmr_hook_get(&faults.hook);
}

/**
 * pmr_faults_put() - one event less
 */
void pmr_faults_put(void)
{
	pmr_hook_put(&faults.hook);
}

/**
 * pmr_faults_exit() - see none any more, at unload
 */
void pmr_faults_exit(void)
{
	pmr_hook_exit(&handled_hook);
	pmr_hook_exit(&faults.hook);
}

/**
 * pmr_faults_handled_get() - report minor-faults and major-faults
 *
 * Return: 0, or an error of register_kretprobe(): -EOPNOTSUPP on a kernel
 * without return probes.
 */
int pmr_faults_handled_get(void)
{
	return pmr_hook_get(&handled_hook);
}

/**
 * pmr_faults_handled_put() - one event less
 */
void pmr_faults_handled_put(void)
{
	pmr_hook_put(&handled_hook);
}
