// SPDX-License-Identifier: GPL-2.0
/*
 * Owns what is done about a PMU that stops doing as it was told: somebody else writes
 * its registers, it loses power, an overflow brings no PMI, or NMIs come in a storm.
 *
 * A timer of each CPU looks at the hardware each tick while an event is on a counter
 * there. It does not wake a CPU that idles. What it finds changed it sets right; where
 * that does not last, or NMIs storm, the PMU of the CPU is silenced: nothing is on a
 * counter and none is given, for a while or for good.
 *
 * arm, look, cpu_stop: on the CPU concerned, interrupts off; arm also from sched_switch:
 * the runqueue's lock is outside of a timer base's. control, believe: there, or from its
 * NMI. fruitless: NMI. The timer: softirq. The irq_work: hard IRQ. init, exit: task
 * context. No locks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <asm/tsc.h>

#include "pmu/period.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/watch.h"

/*
 * No counter counts more per cycle of the TSC: some add the number of requests that are
 * outstanding each cycle, and a core runs at several times the TSC's frequency.
 */
#define EVENTS_PER_CYCLE	256
/* What comes between two readings of a clock */
#define SLACK			BIT_ULL(20)

/* A PMI arrives within less; a hypervisor's while it lets the CPU run. */
#define PMI_DELAY_US		20

/* So many NMIs in a row that serve nothing, within this time, are a storm. */
#define STORM_NMIS		1000
#define STORM_MS		100
/* How long the PMU is silenced then: doubled with each storm, so many times */
#define SILENCE			HZ
#define SILENCE_DOUBLED		6
/* After so much time without one it begins again. */
#define CALM			(5 * 60 * HZ)

/**
 * struct watch - one CPU's; its own, interrupts off, but for what the NMI writes
 * @timer: looks
 * @work: leaves NMI context
 * @raw: value of each counter when it was last looked at; valid for @seen of the table
 * @reloads: of the event on it, at that time
 * @began: NMI: TSC when the first of the fruitless NMIs came
 * @nmis: NMI: how many had been claimed by then
 * @fruitless: NMI: how many served nothing since
 * @storms: how often it has been silenced
 * @calm: jiffies at which that is forgotten
 */
struct watch {
	struct timer_list timer;
	struct irq_work work;
	u64 raw[PMR_COUNTERS_MAX];
	u32 reloads[PMR_COUNTERS_MAX];
	u64 began;
	u64 nmis;
	u32 fruitless;
	unsigned int storms;
	unsigned long calm;
};

static DEFINE_PER_CPU(struct watch, watch);

static void evict_nobody(bool for_good)
{
}

static pmr_evict_fn evict = evict_nobody;

/**
 * pmr_pmu_on_failure() - who is told when nothing can count on a CPU any more
 * @fn: called with interrupts off, in softirq or hard IRQ
 */
void pmr_pmu_on_failure(pmr_evict_fn fn)
{
	evict = fn;
}

/**
 * pmr_watch_arm() - an event is on a counter of this CPU
 */
void pmr_watch_arm(void)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);

	lockdep_assert_irqs_disabled();
	if (!counters->ready)
		return;
	counters->watched = true;
	counters->looked = rdtsc() | 1;
	counters->seen = 0;
	mod_timer(this_cpu_ptr(&watch.timer), jiffies + 1);
}

/* Can a counter have counted so much since it was last looked at? */
static bool possible(const struct pmr_counters *counters, u64 delta)
{
	return delta < SLACK || delta / EVENTS_PER_CYCLE <= rdtsc() - counters->looked;
}

/**
 * pmr_watch_believe() - how much of what a counter says has been counted is believed
 * @hw: event on it
 * @delta: events since it was loaded
 *
 * Return: all if it is possible, else what it said when it was last looked at.
 */
u64 pmr_watch_believe(const struct pmr_hw *hw, u64 delta)
{
	const struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	const struct watch *here = this_cpu_ptr(&watch);
	u64 known = 0;

	lockdep_assert_irqs_disabled();
	if (!counters->looked)
		return delta;
	/* It may have left its counter just now. */
	if (counters->seen & BIT_ULL(hw->last_idx) && here->reloads[hw->last_idx] == hw->reloads)
		known = pmr_raw_delta(hw->prev_raw, here->raw[hw->last_idx], hw->mask);
	return possible(counters, (delta - known) & hw->mask) ? delta : known;
}

/**
 * pmr_watch_control() - set GLOBAL_CTRL right if somebody has changed it
 */
void pmr_watch_control(void)
{
	lockdep_assert_irqs_disabled();
	if (!pmr_intel.global || pmr_intel.opaque ||
	    !(~pmr_rdmsr(MSR_CORE_PERF_GLOBAL_CTRL) & pmr_intel.counters))
		return;
	pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, pmr_intel.counters);
	__this_cpu_inc(pmr_cpu_stats.repaired);
}

/* Stops all counters and lets no PMI come; also from the NMI. */
static void hush(struct pmr_counters *counters)
{
	u32 i;

	WRITE_ONCE(counters->silenced, ~0ULL);
	WRITE_ONCE(counters->full, ~0ULL);
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	else
		for (i = 0; i < pmr_intel.pmu.gp_counters; i++)
			pmr_wrmsr(MSR_ARCH_PERFMON_EVENTSEL0 + i, 0);
	pmr_lvtpc_write(APIC_DM_NMI | APIC_LVT_MASKED);
}

static void end_silence(struct pmr_counters *counters)
{
	pmr_intel_clear_stale();
	pmr_lvtpc_write(APIC_DM_NMI);
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, pmr_intel.counters);
	counters->full = 0;
	WRITE_ONCE(counters->silenced, 0);
}

/* Return: whether the register has been changed; it is as it should be afterwards. */
static bool mend(u32 msr, u64 want, u64 bits)
{
	if (!((pmr_rdmsr(msr) ^ want) & bits))
		return false;
	pmr_wrmsr(msr, want);
	return true;
}

static bool mend_selectors(const struct pmr_counters *counters)
{
	bool changed = false;
	u64 bits;

	if (pmr_intel.pmu.fixed_mask)
		changed |= mend(MSR_CORE_PERF_FIXED_CTR_CTRL, counters->fixed_ctrl, ~0ULL);
	for (bits = counters->active & GENMASK_ULL(PMR_FIXED_BASE - 1, 0); bits; bits &= bits - 1) {
		int idx = __ffs64(bits);

		changed |= mend(MSR_ARCH_PERFMON_EVENTSEL0 + idx, counters->hw[idx]->config |
				ARCH_PERFMON_EVENTSEL_INT | ARCH_PERFMON_EVENTSEL_ENABLE, ~0U);
	}
	return changed;
}

static bool lvtpc_is_right(void)
{
	return (pmr_lvtpc_read() & (APIC_LVT_MASKED | APIC_MODE_MASK)) == APIC_DM_NMI;
}

/* A PMI that was delivered is handled, and the entry unmasked, before a second look. */
static bool mend_lvtpc(void)
{
	if (lvtpc_is_right() || lvtpc_is_right())
		return false;
	pmr_lvtpc_write(APIC_DM_NMI);
	return true;
}

static bool mend_status(void)
{
	u64 frozen;

	if (pmr_intel.pmu.version < 4)
		return false;
	frozen = pmr_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS) & GLOBAL_STATUS_COUNTERS_FROZEN;
	if (frozen)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, frozen);
	return frozen;
}

static bool mend_all(const struct pmr_counters *counters)
{
	bool changed = mend_lvtpc();

	if (pmr_intel.global)
		changed |= mend_status();
	if (unlikely(pmr_intel.opaque))
		return changed;
	changed |= mend_selectors(counters);
	if (pmr_intel.global)
		changed |= mend(MSR_CORE_PERF_GLOBAL_CTRL, pmr_intel.counters, pmr_intel.counters);
	return changed;
}

/* Has a wrapped counter waited for its PMI in vain? */
static bool stays_silent(const struct pmr_hw *hw, u32 reloads)
{
	int us;

	for (us = 0; us < PMI_DELAY_US; us++) {
		udelay(1);
		if (READ_ONCE(hw->reloads) != reloads)
			return false;
	}
	return true;
}

/*
 * Programs a counter anew. The NMI keeps off it meanwhile; if it has been there
 * since the counter was read, nothing is wrong. @jump: what is not counted
 */
static bool restart(struct pmr_counters *counters, struct pmr_hw *hw, u32 reloads, u64 jump)
{
	u64 active = counters->active;

	WRITE_ONCE(counters->active, active & ~BIT_ULL(hw->idx));
	barrier();	/* the NMI does not touch @hw from here on */
	if (READ_ONCE(hw->reloads) != reloads) {
		WRITE_ONCE(counters->active, active);
		return false;
	}
	hw->prev_raw += jump;
	pmr_intel_restart(hw);
	return true;
}

/* A reading and the reload that it belongs to */
static u64 read_counter(const struct pmr_hw *hw, u32 *reloads, u64 *loaded)
{
	u64 raw;

	do {
		*reloads = READ_ONCE(hw->reloads);
		barrier();	/* pairs with the one in reload() */
		*loaded = READ_ONCE(hw->prev_raw);
		raw = pmr_rdpmc(hw->rdpmc);
		barrier();	/* pairs with the one in reload() */
	} while (READ_ONCE(hw->reloads) != *reloads);
	return raw;
}

static void look_at_counter(struct watch *here, struct pmr_counters *counters, int idx)
{
	struct pmr_hw *hw = counters->hw[idx];
	u64 raw, base, delta;
	u32 reloads;

	raw = read_counter(hw, &reloads, &base);
	if (counters->seen & BIT_ULL(idx) && here->reloads[idx] == reloads)
		base = here->raw[idx];
	delta = pmr_raw_delta(base, raw, hw->mask);
	/* Noted even if wrong: what is counted from here on is believed again. */
	here->raw[idx] = raw;
	here->reloads[idx] = reloads;
	counters->seen |= BIT_ULL(idx);
	if (!possible(counters, delta)) {
		if (restart(counters, hw, reloads, delta))
			__this_cpu_inc(pmr_cpu_stats.repaired);
		return;
	}
	if (pmr_has_wrapped(hw, raw) && stays_silent(hw, reloads) &&
	    restart(counters, hw, reloads, 0))
		__this_cpu_inc(pmr_cpu_stats.recovered);
}

static void fail(struct pmr_counters *counters)
{
	hush(counters);
	__this_cpu_inc(pmr_cpu_stats.failures);
	evict(true);
	pr_err_ratelimited("the PMU of CPU %d does not keep what is written to it: its events are in error\n",
			   smp_processor_id());
}

/**
 * pmr_watch_look() - is the hardware as it was left?
 *
 * Sets right what is not. If it does not keep that, nothing counts here any more.
 */
void pmr_watch_look(void)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	struct watch *here = this_cpu_ptr(&watch);
	u64 bits, began;

	lockdep_assert_irqs_disabled();
	began = rdtsc() | 1;
	for (bits = counters->active; bits; bits &= bits - 1)
		look_at_counter(here, counters, __ffs64(bits));
	counters->looked = began;
	if (mend_all(counters)) {
		if (mend_all(counters)) {
			fail(counters);
			return;
		}
		__this_cpu_inc(pmr_cpu_stats.repaired);
		pr_notice_ratelimited("something else has written to the PMU of CPU %d, or its power was lost: set right\n",
				      smp_processor_id());
	}
	/* The NMI may have silenced it meanwhile. */
	if (unlikely(READ_ONCE(counters->silenced)))
		hush(counters);
}

static void on_timer(struct timer_list *timer)
{
	struct watch *here = container_of(timer, struct watch, timer);
	struct pmr_counters *counters;
	unsigned long flags;

	local_irq_save(flags);
	counters = this_cpu_ptr(&pmr_counters);
	/* It may be that of a CPU that went down. */
	if (here != this_cpu_ptr(&watch) || !counters->ready)
		goto out;
	counters->watched = false;
	if (counters->silenced)
		end_silence(counters);
	if (!counters->active)
		goto out;
	pmr_watch_look();
	if (!counters->silenced) {
		counters->watched = true;
		mod_timer(timer, jiffies + 1);
	}
out:
	local_irq_restore(flags);
}

/**
 * pmr_watch_fruitless() - an NMI was ours and served nothing
 *
 * Honest ones come now and then: their counter was stopped, or the silicon interrupts
 * twice. Only a long row of them, with hardly any other in between, is a storm.
 */
void pmr_watch_fruitless(void)
{
	struct watch *here = this_cpu_ptr(&watch);
	u64 nmis = __this_cpu_read(pmr_cpu_stats.nmis), now = rdtsc();

	if (now - here->began > (u64)tsc_khz * STORM_MS || !here->fruitless) {
		here->began = now;
		here->nmis = nmis;
		here->fruitless = 0;
	}
	if (++here->fruitless < STORM_NMIS)
		return;
	here->fruitless = 0;
	if (nmis - here->nmis > STORM_NMIS + STORM_NMIS / 8)
		return;
	hush(this_cpu_ptr(&pmr_counters));
	irq_work_queue(&here->work);
}

/* The PMU has been silenced: events wait until that ends. */
static void on_work(struct irq_work *work)
{
	struct watch *here = container_of(work, struct watch, work);
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	unsigned int doubled;

	lockdep_assert_irqs_disabled();
	if (!counters->ready)
		return;
	hush(counters);
	if (time_after(jiffies, here->calm))
		here->storms = 0;
	here->calm = jiffies + CALM;
	doubled = min_t(unsigned int, here->storms++, SILENCE_DOUBLED);
	__this_cpu_inc(pmr_cpu_stats.storms);
	evict(false);
	counters->watched = true;
	mod_timer(&here->timer, jiffies + (SILENCE << doubled));
	pr_warn_ratelimited("a storm of NMIs on CPU %d: its PMU is silenced for %u s\n",
			    smp_processor_id(), 1U << doubled);
}

/**
 * pmr_watch_cpu_stop() - the PMU of this CPU is given back
 */
void pmr_watch_cpu_stop(void)
{
	lockdep_assert_irqs_disabled();
	del_timer(this_cpu_ptr(&watch.timer));
	__this_cpu_write(pmr_counters.watched, false);
}

/**
 * pmr_watch_init() - make each CPU's watch, at load
 */
void pmr_watch_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct watch *there = per_cpu_ptr(&watch, cpu);

		timer_setup(&there->timer, on_timer, TIMER_DEFERRABLE | TIMER_PINNED);
		there->work = IRQ_WORK_INIT_HARD(on_work);
	}
}

/**
 * pmr_watch_exit() - when no event is left
 */
void pmr_watch_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(&per_cpu_ptr(&watch, cpu)->work);
		del_timer_sync(&per_cpu_ptr(&watch, cpu)->timer);
	}
}
