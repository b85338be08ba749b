// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the choice of the PMU driver and the question whether pmuring holds the
 * PMU: from the first hardware event that is opened to the last one closed.
 *
 * The PMU as a whole is reserved with the first event, which is cheap. A CPU's
 * part of it is taken by the driver when the first event counts there, and given
 * back with the last event: to open and close one costs only the CPUs that it has
 * counted on.
 *
 * get: task context, takes users_lock. put: task context, takes cpus_read_lock() and
 * then users_lock if it is the last; so does holder.
 * cpu_online, cpu_offline: in that CPU's hotplug thread; the hotplug lock is held for
 * writing, which excludes the last put; online takes users_lock.
 * cpu_stop: on that CPU, interrupts off, under the hotplug lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <uapi/pmuring.h>

#include "pmu/pmu.h"
#include "pmu/sysfs.h"
#include "pmu/x86/dirty.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/nmi.h"
#include "pmu/x86/rdpmc.h"
#include "pmu/x86/watch.h"

const struct pmr_pmu *pmr_pmu;
DEFINE_PER_CPU(struct pmr_cpu_stats, pmr_cpu_stats);

/* Before the core is there; no event exists then. */
bool pmr_overflow_nobody(struct pmr_hw *hw, struct pt_regs *regs)
{
	return false;
}

DEFINE_STATIC_CALL(pmr_overflow, pmr_overflow_nobody);
DEFINE_PER_CPU(u32, pmr_nmi_began);

/* Events that hold the PMU; becomes and ceases to be 0 under users_lock only. */
static DEFINE_MUTEX(users_lock);
static atomic_t users;

/*
 * So that opening and closing an event in a loop does not walk all tasks each time: once
 * a second at most. 0 is never, which is how the machine boots.
 */
static void revoke_leftovers(void)
{
	static unsigned long last;

	lockdep_assert_held(&users_lock);
	if (last && time_before(jiffies, last + HZ))
		return;
	last = jiffies | 1;
	pmr_rdpmc_revoke_leftovers();
}

static int take(void)
{
	int err = pmr_pmu->reserve();

	if (err) {
		pr_notice_ratelimited("the PMU is held by the kernel's perf or its NMI watchdog: end perf sessions, sysctl kernel.nmi_watchdog=0\n");
		return err;
	}
	revoke_leftovers();
	atomic_set(&users, 1);
	return 0;
}

/**
 * pmr_pmu_get() - hold the PMU for one more event
 *
 * Return: 0, -ENOENT without a PMU, -EBUSY if the kernel holds it.
 */
int pmr_pmu_get(void)
{
	int err = 0;

	if (!pmr_pmu)
		return -ENOENT;
	if (atomic_inc_not_zero(&users))
		return 0;
	mutex_lock(&users_lock);
	if (!atomic_inc_not_zero(&users))
		err = take();
	mutex_unlock(&users_lock);
	return err;
}

/**
 * pmr_pmu_put() - one event less
 */
void pmr_pmu_put(void)
{
	if (atomic_add_unless(&users, -1, 1))
		return;
	cpus_read_lock();
	if (atomic_dec_and_mutex_lock(&users, &users_lock)) {
		pmr_pmu->release();
		mutex_unlock(&users_lock);
	}
	cpus_read_unlock();
}

/**
 * pmr_pmu_is_held() - does an event of pmuring hold the PMU?
 *
 * Any context. While one does, perf has no event on it.
 */
bool pmr_pmu_is_held(void)
{
	return atomic_read(&users);
}

/* Reserves and releases: an attempt of others to reserve a counter meanwhile fails. */
static bool held_by_others(void)
{
	lockdep_assert_held(&users_lock);
	if (pmr_pmu->reserve())
		return true;
	pmr_pmu->release();
	return false;
}

/**
 * pmr_pmu_holder() - which side holds the counters
 * @now: as of this moment; else the answer about the kernel may be a second old
 *
 * The kernel's allocator has no query. So that asking in a loop does not keep perf from
 * its counters, the allocator is tried once a second at most, however many callers ask.
 *
 * Return: enum pmuring_holder.
 */
u32 pmr_pmu_holder(bool now)
{
	static unsigned long looked_at;
	static bool others;
	u32 holder;

	if (!pmr_pmu)
		return PMURING_HOLDER_NOBODY;
	cpus_read_lock();
	mutex_lock(&users_lock);
	if (atomic_read(&users)) {
		holder = PMURING_HOLDER_PMURING;
	} else {
		if (now || !looked_at || time_after_eq(jiffies, looked_at + HZ)) {
			others = held_by_others();
			looked_at = jiffies | 1;
		}
		holder = others ? PMURING_HOLDER_KERNEL : PMURING_HOLDER_NOBODY;
	}
	mutex_unlock(&users_lock);
	cpus_read_unlock();
	return holder;
}

/**
 * pmr_pmu_cpu_stop() - give this CPU's PMU back; no event runs on it any more
 */
void pmr_pmu_cpu_stop(void)
{
	lockdep_assert_irqs_disabled();
	if (pmr_pmu)
		pmr_pmu->cpu_stop();
}

/**
 * pmr_pmu_cpu_online() - this CPU came up; no event runs on it yet
 *
 * While the kernel's perf holds the PMU it cannot be tried, only looked at.
 */
void pmr_pmu_cpu_online(void)
{
	bool held, reserved;

	might_sleep();
	if (!pmr_pmu)
		return;
	mutex_lock(&users_lock);
	held = atomic_read(&users);
	reserved = !held && !pmr_pmu->reserve();
	pmr_pmu->cpu_online(held || reserved);
	/* No event has counted meanwhile, so this stops no CPU. */
	if (reserved)
		pmr_pmu->release();
	mutex_unlock(&users_lock);
}

/**
 * pmr_pmu_cpu_offline() - this CPU goes down, its PMU has been given back
 */
void pmr_pmu_cpu_offline(void)
{
	if (pmr_pmu)
		pmr_pmu->cpu_offline();
}

/**
 * pmr_pmu_cpu_works() - can hardware events count on a CPU?
 * @cpu: CPU; one that came later than the module may have a PMU that does not work
 */
bool pmr_pmu_cpu_works(int cpu)
{
	return !pmr_pmu || pmr_pmu->cpu_works(cpu);
}

/**
 * pmr_pmu_init() - find a driver
 * @overflow: called in NMI context for each event that overflowed
 *
 * A machine without a PMU is no error: hardware events do not exist there.
 * Return: 0, -ENOMEM, or the error that kept the NMI handler from being registered.
 */
int pmr_pmu_init(pmr_overflow_fn overflow)
{
	const struct pmr_pmu *found = pmr_intel_probe();
	int err;

	static_call_update(pmr_overflow, overflow);
	if (IS_ERR(found))
		return 0;
	pmr_pmu = found;
	if (!pmr_pmu) {
		pr_info("no PMU that pmuring knows (CPU vendor %s, family %u, model %u): hardware events get ENOENT\n",
			boot_cpu_data.x86_vendor_id, boot_cpu_data.x86, boot_cpu_data.x86_model);
		return 0;
	}
	err = pmr_rdpmc_init();
	if (err)
		return err;
	pmr_dirty_init();
	err = pmr_nmi_register(pmr_pmu->handle_nmi);
	if (err) {
		pmr_rdpmc_exit();
		return err;
	}
	pr_info("%s PMU version %u: %u general counters of %u bits, %u fixed of %u bits\n",
		pmr_pmu->name, pmr_pmu->version, pmr_pmu->gp_usable, pmr_pmu->gp_width,
		pmr_pmu->fixed_counters, pmr_pmu->fixed_width);
	pmr_sysfs_init();
	return 0;
}

/**
 * pmr_pmu_exit() - undo pmr_pmu_init(), when no event is left
 */
void pmr_pmu_exit(void)
{
	pmr_sysfs_exit();
	if (!pmr_pmu)
		return;
	pmr_nmi_unregister();
	pmr_watch_exit();
	pmr_dirty_exit();
	pmr_rdpmc_exit();
}
