// SPDX-License-Identifier: GPL-2.0
/*
 * Owns what perf has left in counters and means to clear later: where a process
 * that may execute RDPMC comes on a CPU, perf zeroes the counters that it used on
 * that CPU before, once (arch/x86, cr4_update_pce_mm()). By then they are ours, and
 * one that is zeroed in its period overflows after 2^47 events only. So we let perf
 * do it when we have taken the PMU and before anything counts.
 *
 * Task context, may sleep; the caller holds the hotplug lock. No locks of its own.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "pmu/x86/leftovers.h"
#include "pmu/x86/rdpmc.h"

/* Address spaces that may execute RDPMC while the workers run. */
static struct mm_struct *spaces[2];

/*
 * A worker has the address space of whoever ran before, and nothing happens if it
 * takes the same one. After the second one, one of them was another.
 */
static void visit(struct work_struct *work)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (!spaces[i])
			continue;
		kthread_use_mm(spaces[i]);
		kthread_unuse_mm(spaces[i]);
	}
}

static DEFINE_PER_CPU(struct work_struct, visitor);

static void visit_all_cpus(void)
{
	int cpu;

	for_each_online_cpu(cpu) {
		INIT_WORK(per_cpu_ptr(&visitor, cpu), visit);
		queue_work_on(cpu, system_wq, per_cpu_ptr(&visitor, cpu));
	}
	for_each_online_cpu(cpu)
		flush_work(per_cpu_ptr(&visitor, cpu));
}

static struct mm_struct *mm_of_init(void)
{
	struct task_struct *task;
	struct mm_struct *mm;

	rcu_read_lock();
	task = get_pid_task(find_pid_ns(1, &init_pid_ns), PIDTYPE_PID);
	rcu_read_unlock();
	if (!task)
		return NULL;
	mm = get_task_mm(task);
	put_task_struct(task);
	return mm;
}

/**
 * pmr_leftovers_clear() - let perf clear what it left in the counters of all CPUs
 *
 * Callers exclude each other.
 */
void pmr_leftovers_clear(void)
{
	int i;

	spaces[0] = get_task_mm(current);
	spaces[1] = mm_of_init();
	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		if (spaces[i])
			pmr_rdpmc_grant(spaces[i]);
	visit_all_cpus();
	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (!spaces[i])
			continue;
		pmr_rdpmc_revoke(spaces[i]);
		mmput(spaces[i]);
	}
}
