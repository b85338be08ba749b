// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the software PMU: events that hooks report (page faults, context
 * switches, migrations) and, through clock_events.c, clocks.
 *
 * init_event: task context, at open. init_copy: the forking task. add, del,
 * count: on the CPU concerned, interrupts off, also from sched_switch
 * under the runqueue lock. pmr_software_event() and its two callers: any
 * context but NMI. No locks: the lists are per CPU and used with interrupts off.
 *
 * An event is in a list of its CPU for as long as it counts, so no task and no
 * context has to be looked up when something happens.
 */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <asm/perf_event.h>

#include "pmu/period.h"
#include "pmu/software.h"

/* Events that count here, by PERF_COUNT_SW_*. */
static DEFINE_PER_CPU(struct hlist_head [PERF_COUNT_SW_MAX], running);

/* Where the scheduler switches tasks. But for what pmr_software_caller() sets it is zero. */
static DEFINE_PER_CPU(struct pt_regs, caller);

static bool is_clock(u32 event)
{
	return event == PERF_COUNT_SW_CPU_CLOCK || event == PERF_COUNT_SW_TASK_CLOCK;
}

/*
 * A module cannot learn of BPF's output, nor of cgroups cheaply: refused as by
 * a kernel that does not know them yet.
 */
static bool is_known(u64 event)
{
	return event < PERF_COUNT_SW_MAX && event != PERF_COUNT_SW_BPF_OUTPUT &&
	       event != PERF_COUNT_SW_CGROUP_SWITCHES;
}

static int software_init_event(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;
	if (!is_known(attr->config))
		return -ENOENT;
	hw->pmu = &pmr_software_pmu;
	hw->user = !attr->exclude_user;
	hw->kernel = !attr->exclude_kernel;
	hw->software = attr->config;
	hw->every = attr->sample_type & PERF_SAMPLE_PERIOD && !attr->freq;
	if (is_clock(hw->software))
		pmr_clock_init(hw, attr);
	return 0;
}

/**
 * pmr_software_init_copy() - make a copied event one of its own
 * @hw: copy of an event that may be counting
 *
 * Forking task, preemption off.
 */
void pmr_software_init_copy(struct pmr_hw *hw)
{
	INIT_HLIST_NODE(&hw->node);
	if (is_clock(hw->software) && hw->sampling)
		pmr_clock_init_timer(hw);
}

static bool software_add(struct pmr_hw *const *hws, unsigned int number)
{
	unsigned int i;

	lockdep_assert_irqs_disabled();
	for (i = 0; i < number; i++) {
		struct pmr_hw *hw = hws[i];

		if (is_clock(hw->software))
			pmr_clock_add(hw);
		else
			hlist_add_head(&hw->node, this_cpu_ptr(&running[hw->software]));
	}
	return true;
}

static void software_del(struct pmr_hw *hw)
{
	lockdep_assert_irqs_disabled();
	if (is_clock(hw->software))
		pmr_clock_del(hw);
	else
		hlist_del_init(&hw->node);
}

static u64 software_count(const struct pmr_hw *hw)
{
	return is_clock(hw->software) ? pmr_clock_count(hw) : hw->count;
}

const struct pmr_pmu pmr_software_pmu = {
	.name = "software",
	.software = true,
	.init_event = software_init_event,
	.add = software_add,
	.del = software_del,
	.count = software_count,
};

/*
 * As perf has it: with PERF_SAMPLE_PERIOD and a fixed period each occurrence is
 * a sample of its own, whatever the period.
 */
static bool is_due(struct pmr_hw *hw, u64 number)
{
	if (hw->every) {
		hw->last_period = number;
		return true;
	}
	hw->period_left -= number;
	return pmr_period_renew(hw);
}

static void occurs(struct pmr_hw *hw, u64 number, struct pt_regs *regs, u64 addr)
{
	if (pmr_software_excluded(hw, regs))
		return;
	hw->count += number;
	if (!hw->sampling || !is_due(hw, number))
		return;
	hw->addr = addr;
	pmr_software_overflow(hw, regs);
}

/**
 * pmr_software_event() - something has happened on this CPU
 * @event: PERF_COUNT_SW_*, no clock
 * @number: how many times
 * @regs: where
 * @addr: PERF_SAMPLE_ADDR of a sample
 *
 * Any context but NMI, preemption off.
 */
void pmr_software_event(u32 event, u64 number, struct pt_regs *regs, u64 addr)
{
	unsigned long flags;
	struct pmr_hw *hw;

	local_irq_save(flags);	/* the list is changed with interrupts off, also by IPI */
	hlist_for_each_entry(hw, this_cpu_ptr(&running[event]), node)
		occurs(hw, number, regs, addr);
	local_irq_restore(flags);
}

/**
 * pmr_software_caller() - note where tasks are being switched
 * @ip: in the scheduler
 * @frame: stack frame of the hook that it calls
 *
 * sched_switch, before the two below.
 */
void pmr_software_caller(unsigned long ip, unsigned long frame)
{
	struct pt_regs *regs = this_cpu_ptr(&caller);

	regs->ip = ip;
	regs->sp = frame;
	regs->cs = __KERNEL_CS;
}

/**
 * pmr_software_switch() - the task that runs here is about to go
 *
 * sched_switch, while its events still count.
 */
void pmr_software_switch(void)
{
	lockdep_assert_irqs_disabled();
	pmr_software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, this_cpu_ptr(&caller), 0);
}

/**
 * pmr_software_migration() - the task that now runs here came from another CPU
 *
 * sched_switch, when its events count again.
 */
void pmr_software_migration(void)
{
	lockdep_assert_irqs_disabled();
	pmr_software_event(PERF_COUNT_SW_CPU_MIGRATIONS, 1, this_cpu_ptr(&caller), 0);
}
