// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the programming of an Intel PMU and the work of its PMI.
 *
 * add, del, count, scrub: on the CPU concerned, interrupts off, from task
 * context, sched_switch or a hard IRQ. pmr_intel_handle_pmi(): NMI. No locks; what both
 * share is the per-CPU table, see counters.h.
 *
 * What was written once is not there for ever: watch.c looks after it.
 *
 * GLOBAL_CTRL lets all counters run as long as pmuring holds the PMU, and each
 * event is switched by its own selector; so neither a context switch nor a PMI
 * pays for it. Counters therefore go on counting while a PMI is handled. For
 * those that count ring 0 this means a second overflow can come before the
 * handler ends, see serve().
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <asm/processor.h>

#include "pmu/period.h"
#include "pmu/user_page.h"
#include "pmu/x86/dirty.h"
#include "pmu/x86/intel.h"
#include "pmu/x86/msr.h"
#include "pmu/x86/quirks.h"
#include "pmu/x86/watch.h"

static bool is_fixed(int idx)
{
	return idx >= PMR_FIXED_BASE;
}

/* Return: the counter's new value, its sign extended. */
static __always_inline u64 load(struct pmr_hw *hw)
{
	u64 max = pmr_intel.pmu.max_period, left = pmr_period_load(hw, max), raw;

	if (static_branch_unlikely(&pmr_quirks_limit_loads))
		left = pmr_quirks_load(pmr_quirks, hw->config, left, max);
	raw = -left & hw->mask;
	pmr_wrmsr(hw->counter_msr, raw);
	WRITE_ONCE(hw->prev_raw, raw);
	return -left;
}

static void write_fixed_ctrl(struct pmr_counters *counters, int idx, u64 bits)
{
	unsigned int shift = (idx - PMR_FIXED_BASE) * PMR_FIXED_BITS;

	counters->fixed_ctrl &= ~(GENMASK_ULL(PMR_FIXED_BITS - 1, 0) << shift);
	counters->fixed_ctrl |= bits << shift;
	pmr_wrmsr(MSR_CORE_PERF_FIXED_CTR_CTRL, counters->fixed_ctrl);
}

static void select_event(struct pmr_counters *counters, const struct pmr_hw *hw)
{
	if (is_fixed(hw->idx))
		write_fixed_ctrl(counters, hw->idx, hw->fixed_config);
	else
		pmr_wrmsr(MSR_ARCH_PERFMON_EVENTSEL0 + hw->idx,
			  hw->config | ARCH_PERFMON_EVENTSEL_INT | ARCH_PERFMON_EVENTSEL_ENABLE);
}

static void deselect_event(struct pmr_counters *counters, const struct pmr_hw *hw)
{
	if (is_fixed(hw->idx))
		write_fixed_ctrl(counters, hw->idx, 0);
	else
		pmr_wrmsr(MSR_ARCH_PERFMON_EVENTSEL0 + hw->idx, 0);
}

static void address_counter(struct pmr_hw *hw, int idx)
{
	if (is_fixed(idx)) {
		hw->counter_msr = MSR_CORE_PERF_FIXED_CTR0 + idx - PMR_FIXED_BASE;
		hw->rdpmc = PMR_RDPMC_FIXED + idx - PMR_FIXED_BASE;
		hw->width = pmr_intel.pmu.fixed_width;
		hw->mask = pmr_intel.fixed_value_mask;
	} else {
		hw->counter_msr = pmr_intel.gp_base + idx;
		hw->rdpmc = idx;
		hw->width = pmr_intel.pmu.gp_width;
		hw->mask = pmr_intel.gp_mask;
	}
}

/* The counter has been loaded. */
static __always_inline void run(struct pmr_counters *counters, struct pmr_hw *hw, int idx)
{
	pmr_counters_occupy(counters, hw, idx);
	select_event(counters, hw);
	if (unlikely(hw->user_page))
		pmr_publish_counter(hw);
}

static __always_inline void start(struct pmr_counters *counters, struct pmr_hw *hw, int idx)
{
	address_counter(hw, idx);
	load(hw);
	run(counters, hw, idx);
}

static void intel_del(struct pmr_hw *hw);

/**
 * struct assignment - where each event would be; too much for the stack. Its
 * CPU's, interrupts off
 * @owner: the event on each counter, or NULL
 */
struct assignment {
	struct pmr_hw *owner[PMR_COUNTERS_MAX];
};

static DEFINE_PER_CPU(struct assignment, assignment);

/* The counters are free, but not the right ones: some events have to move. */
static noinline bool add_by_moving(struct pmr_counters *counters, struct pmr_hw *const *hws,
				   unsigned int number)
{
	struct pmr_hw **owner = this_cpu_ptr(&assignment)->owner;
	u64 bits, full;

	memcpy(owner, counters->hw, sizeof(counters->hw));
	if (!pmr_counters_assign(owner, hws, number, &full)) {
		counters->full |= full;
		return false;
	}
	for (bits = counters->active; bits; bits &= bits - 1) {
		int idx = __ffs64(bits);

		if (owner[idx] != counters->hw[idx])
			intel_del(counters->hw[idx]);
	}
	for (bits = pmr_intel.counters; bits; bits &= bits - 1) {
		int idx = __ffs64(bits);

		if (owner[idx] != counters->hw[idx])
			start(counters, owner[idx], idx);
	}
	if (!counters->watched)
		pmr_watch_arm();
	return true;
}

static bool intel_add(struct pmr_hw *const *hws, unsigned int number)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	u64 used = counters->active;
	unsigned int i;

	lockdep_assert_irqs_disabled();
	if (unlikely(!counters->ready)) {
		if (!pmr_intel_cpu_works(smp_processor_id()))
			return false;
		pmr_intel_cpu_start();
	}
	/* Thousands may wait; each of them asks at each switch. */
	for (i = 0; i < number; i++)
		if (unlikely(!(hws[i]->allowed & ~counters->full)) ||
		    WARN_ON_ONCE(hws[i]->idx >= 0))
			return false;
	for (i = 0; i < number; i++) {
		int idx = pmr_counters_pick(hws[i]->allowed, used, hws[i]->last_idx);

		if (unlikely(idx < 0))
			return add_by_moving(counters, hws, number);
		hws[i]->last_idx = idx;
		used |= BIT_ULL(idx);
	}
	for (i = 0; i < number; i++)
		start(counters, hws[i], hws[i]->last_idx);
	if (unlikely(!counters->watched))
		pmr_watch_arm();
	return true;
}

static noinline bool fit_together(struct pmr_hw *const *hws, unsigned int number)
{
	struct pmr_hw *owner[PMR_COUNTERS_MAX] = {};
	u64 full;

	return pmr_counters_assign(owner, hws, number, &full);
}

/* Task context, may sleep. */
static bool intel_fits(struct pmr_hw *const *hws, unsigned int number)
{
	might_sleep();
	return number == 1 ? hws[0]->allowed : fit_together(hws, number);
}

/*
 * The counter overflowed and was stopped before its PMI came. The sample is
 * not lost: period_left is not positive, so the event will overflow at once
 * where it runs next. The PMI may come yet, and find nothing.
 */
static void expect_late_pmi(struct pmr_counters *counters, int idx)
{
	if (pmr_intel.global)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, BIT_ULL(idx));
	counters->late_until = (jiffies + HZ / 10) | 1;
}

/* What cannot be true is taken out of the delta. */
static noinline void doubt(struct pmr_hw *hw, u64 raw)
{
	u64 delta = pmr_raw_delta(hw->prev_raw, raw, hw->mask);
	u64 believed = pmr_watch_believe(hw, delta);

	if (believed == delta)
		return;
	hw->prev_raw = raw - believed;
	__this_cpu_inc(pmr_cpu_stats.repaired);
}

/*
 * Accounts what the counter has counted. A delta as big as this is either rare or not
 * true: then watch.c is asked.
 */
static __always_inline void fold(struct pmr_hw *hw, u64 raw)
{
	if (unlikely(pmr_raw_delta(hw->prev_raw, raw, hw->mask) >> PMR_WATCH_DOUBT))
		doubt(hw, raw);
	pmr_period_fold(hw, raw, hw->mask);
}

/* Return: the last value of its counter. */
static __always_inline u64 take_off(struct pmr_counters *counters, struct pmr_hw *hw)
{
	u64 raw;

	deselect_event(counters, hw);
	pmr_counters_vacate(counters, hw);
	raw = pmr_rdpmc(hw->rdpmc);
	fold(hw, raw);
	return raw;
}

static void intel_del(struct pmr_hw *hw)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	int idx = hw->idx;

	lockdep_assert_irqs_disabled();
	/* Another CPU's, or none: what is on that counter here is not this event's. */
	if (WARN_ON_ONCE(idx < 0 || counters->hw[idx] != hw))
		return;
	if (unlikely(pmr_has_wrapped(hw, take_off(counters, hw))))
		expect_late_pmi(counters, idx);
	if (unlikely(hw->user_page))
		pmr_publish_stopped(hw);
}

/**
 * pmr_intel_reload_all() - let all events of this CPU go on, each on its counter
 * @from_zero: the counters start from 0 for a moment, so that zeroing them does no
 *	harm, see dirty.c. No period ends meanwhile; one that has, ends afterwards
 *
 * Interrupts off.
 */
void pmr_intel_reload_all(bool from_zero)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	u64 bits = counters->active;

	lockdep_assert_irqs_disabled();
	/* Such a counter looks as if it had wrapped. */
	WRITE_ONCE(counters->at_zero, from_zero ? bits : 0);
	for (; bits; bits &= bits - 1) {
		int idx = __ffs64(bits);
		struct pmr_hw *hw = counters->hw[idx];

		take_off(counters, hw);
		if (!from_zero) {
			start(counters, hw, idx);
			continue;
		}
		pmr_wrmsr(hw->counter_msr, 0);
		hw->prev_raw = 0;
		run(counters, hw, idx);
	}
}

/* An event's count stays in its counter until the next one uses it. */
static void intel_scrub(const struct mm_struct *next)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	u64 bits = counters->dirty & ~counters->active;

	lockdep_assert_irqs_disabled();
	if (!counters->ready)
		return;
	counters->dirty = 0;
	for (; bits; bits &= bits - 1) {
		int idx = __ffs64(bits);

		pmr_wrmsr(is_fixed(idx) ? MSR_CORE_PERF_FIXED_CTR0 + idx - PMR_FIXED_BASE :
					  pmr_intel.gp_base + idx, 0);
	}
	pmr_dirty_switch(next);
}

/* The NMI may fold and reload in the middle: then @reloads has moved on. */
static u64 intel_count(const struct pmr_hw *hw)
{
	u64 count, delta;
	u32 reloads;

	lockdep_assert_irqs_disabled();
	do {
		reloads = READ_ONCE(hw->reloads);
		barrier();	/* pairs with the one in reload() */
		count = READ_ONCE(hw->count);
		delta = pmr_raw_delta(READ_ONCE(hw->prev_raw), pmr_rdpmc(hw->rdpmc), hw->mask);
		barrier();	/* pairs with the one in reload() */
	} while (READ_ONCE(hw->reloads) != reloads);
	if (unlikely(delta >> PMR_WATCH_DOUBT))
		delta = pmr_watch_believe(hw, delta);
	return count + delta;
}

/**
 * pmr_intel_restart() - program an event's counter anew, where it is
 * @hw: event on a counter of this CPU, interrupts off
 *
 * An overflow that was not served is due at once: the counter is loaded with the
 * shortest period, see pmr_period_load().
 */
void pmr_intel_restart(struct pmr_hw *hw)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	int idx = hw->idx;

	intel_del(hw);
	start(counters, hw, idx);
}

static __always_inline void reload(struct pmr_hw *hw)
{
	u64 value = load(hw);

	barrier();	/* pairs with the ones in intel_count() */
	data_race(hw->reloads++);	/* one instruction: read by what this NMI interrupted */
	if (hw->user_page)
		pmr_publish_reload(hw, value);
}

/* NMI: it counts on, and must not overflow for as long as possible. */
static noinline void throttle(struct pmr_hw *hw)
{
	WRITE_ONCE(hw->throttled, true);
	fold(hw, pmr_rdpmc(hw->rdpmc));
	reload(hw);
}

/* NMI: the counter of @hw has, or may have, wrapped. */
static __always_inline void overflow(struct pmr_hw *hw, struct pt_regs *regs)
{
	bool due;

	fold(hw, pmr_rdpmc(hw->rdpmc));
	due = hw->sampling && !hw->throttled && pmr_period_renew(hw);
	reload(hw);

	if (unlikely(!due)) {
		pmr_watch_fruitless();
		return;
	}
	if (unlikely(static_call(pmr_overflow)(hw, regs)))
		throttle(hw);
}

/* Version 1 has no status register: look at each counter. */
static noinline u64 wrapped_counters(const struct pmr_counters *counters)
{
	u64 bits = READ_ONCE(counters->active) & ~READ_ONCE(counters->at_zero), wrapped = 0;

	for (; bits; bits &= bits - 1) {
		const struct pmr_hw *hw = counters->hw[__ffs64(bits)];

		if (pmr_has_wrapped(hw, pmr_rdpmc(hw->rdpmc)))
			wrapped |= bits & -bits;
	}
	return wrapped;
}

/*
 * An NMI without status. A neighbour or a hypervisor may have acknowledged it before us
 * (perf does so beside us while it traces with Intel PT), and perf leaves GLOBAL_CTRL
 * cleared then: counters that have wrapped are served all the same.
 */
static noinline u64 silent_counters(const struct pmr_counters *counters)
{
	u64 wrapped;

	if (!pmr_intel.global)
		return 0;
	wrapped = wrapped_counters(counters);
	if (wrapped) {
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, wrapped);
		__this_cpu_add(pmr_cpu_stats.recovered, hweight64(wrapped));
	}
	if (READ_ONCE(counters->ready) && !counters->silenced)
		pmr_watch_control();
	return wrapped;
}

static __always_inline u64 read_and_acknowledge(const struct pmr_counters *counters)
{
	u64 status;

	if (unlikely(!pmr_intel.global))
		return wrapped_counters(counters);
	status = pmr_rdmsr(MSR_CORE_PERF_GLOBAL_STATUS) & pmr_intel.status;
	if (status)
		pmr_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status);
	return status & pmr_intel.counters;
}

/*
 * No counter has a reason for this NMI. It is still ours if a PMI was
 * delivered, which masks the LVT entry (SDM vol. 3A, 11.5.1): its counter was
 * stopped or served meanwhile. Hypervisors that do not mask leave the time.
 */
static noinline bool is_late_pmi(struct pmr_counters *counters)
{
	bool expected = pmr_counters_expect_pmi(counters);

	if (!expected && !(pmr_lvtpc_read() & APIC_LVT_MASKED))
		return false;
	counters->late_until = 0;
	__this_cpu_inc(pmr_cpu_stats.late_nmis);
	pmr_watch_fruitless();
	return true;
}

/* NMI: the status names a counter that no event is on. @stat: how often that was so */
static noinline void without_event(u64 __percpu *stat)
{
	__this_cpu_inc(*stat);
	pmr_watch_fruitless();
}

static __always_inline int serve_counters(struct pmr_counters *counters, u64 status,
					  struct pt_regs *regs)
{
	int served = 0;

	for (; status; status &= status - 1) {
		int idx = __ffs64(status);

		served++;
		if (unlikely(!(READ_ONCE(counters->active) & BIT_ULL(idx))))
			without_event(&pmr_cpu_stats.late_nmis);
		else if (likely(counters->hw[idx]->idx == idx))
			overflow(counters->hw[idx], regs);
		else
			without_event(&pmr_cpu_stats.misplaced);
	}
	return served;
}

static noinline int serve_more(struct pmr_counters *counters, u64 status, struct pt_regs *regs)
{
	return serve_counters(counters, status, regs);
}

/* What overflowed before the entry was unmasked had no NMI of its own. */
static noinline int serve_late_pmi(struct pmr_counters *counters, struct pt_regs *regs)
{
	if (!is_late_pmi(counters))
		return 0;
	if (!counters->silenced)
		pmr_lvtpc_write(APIC_DM_NMI);
	return 1 + serve_more(counters, read_and_acknowledge(counters), regs);
}

/*
 * The order is: status, acknowledge, unmask the LVT entry, reload, sample.
 * A counter that was acknowledged has just wrapped and cannot overflow again
 * before it is reloaded, so unmasking before the reload leaves it no moment in
 * which an overflow could find the entry masked and be lost. Any other counter
 * could overflow between the status and the unmasking, but only if it counts
 * ring 0; only then a second look at the status is paid for. What overflows
 * later finds the entry unmasked and raises an NMI of its own. So there is
 * nothing to loop for.
 *
 * @late: unmask when all counters have been reloaded. Silicon from Haswell on, and
 * Atoms from Tremont on, interrupt again if a counter is still wrapped when the entry is
 * unmasked, so that the other order brings every PMI twice. While the entry is masked a
 * counter of ring 0 can overflow; then the second look is at the end.
 */
static __always_inline int serve(struct pmr_counters *counters, struct pt_regs *regs,
				 const bool late)
{
	u64 status;
	int served;

	__this_cpu_write(pmr_nmi_began, pmr_cycles_now());
	status = read_and_acknowledge(counters);
	if (unlikely(!status)) {
		status = silent_counters(counters);
		if (!status)
			return serve_late_pmi(counters, regs);
	}
	if (!late) {
		pmr_lvtpc_write(APIC_DM_NMI);
		if (counters->kernel & ~status)
			status |= read_and_acknowledge(counters);
	}
	served = serve_counters(counters, status, regs);
	if (late) {
		pmr_lvtpc_write(APIC_DM_NMI);
		if (counters->kernel) {
			status = read_and_acknowledge(counters);
			if (unlikely(status))
				served += serve_more(counters, status, regs);
		}
	}
	return served;
}

/**
 * pmr_intel_handle_pmi() - serve the counters that overflowed
 * @counters: table of this CPU
 * @regs: where the NMI interrupted
 *
 * Return: the number of counters served, as perf counts them: more than one
 * tells the NMI core that the next NMI may find nothing to do.
 */
int pmr_intel_handle_pmi(struct pmr_counters *counters, struct pt_regs *regs)
{
	return serve(counters, regs, false);
}

/**
 * pmr_intel_handle_pmi_late() - likewise, the LVT entry is unmasked after the reload
 * @counters: table of this CPU
 * @regs: where the NMI interrupted
 */
int pmr_intel_handle_pmi_late(struct pmr_counters *counters, struct pt_regs *regs)
{
	return serve(counters, regs, true);
}

static __always_inline int handle(struct pt_regs *regs, const bool late)
{
	struct pmr_counters *counters = this_cpu_ptr(&pmr_counters);
	int served;

	if (likely(READ_ONCE(counters->ready))) {
		/* Free in production: each sample comes this way. */
		if (IS_ENABLED(CONFIG_PROVE_LOCKING))
			WARN_ON_ONCE(!in_nmi());
		served = serve(counters, regs, late);
	} else {
		served = pmr_intel_owed_pmi();
		if (unlikely(served))
			__this_cpu_inc(pmr_cpu_stats.late_nmis);
	}
	if (served)
		__this_cpu_inc(pmr_cpu_stats.nmis);
	return served;
}

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	return handle(regs, false);
}

static int handle_nmi_late(unsigned int type, struct pt_regs *regs)
{
	return handle(regs, true);
}

/**
 * pmr_intel_unmask_late() - take the other order of serve(), at load
 */
void pmr_intel_unmask_late(void)
{
	pmr_intel.pmu.handle_nmi = handle_nmi_late;
}

struct pmr_intel pmr_intel = {
	.pmu = {
		.name = "Intel",
		.handle_nmi = handle_nmi,
		.init_event = pmr_intel_init_event,
		.period_min = pmr_intel_period_min,
		.reserve = pmr_intel_reserve,
		.release = pmr_intel_release,
		.cpu_online = pmr_intel_cpu_online,
		.cpu_offline = pmr_intel_cpu_offline,
		.cpu_works = pmr_intel_cpu_works,
		.cpu_stop = pmr_intel_cpu_stop,
		.fits = intel_fits,
		.add = intel_add,
		.del = intel_del,
		.count = intel_count,
		.scrub = intel_scrub,
	},
};
