/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PMU layer: what it offers to the core. A driver of the machine's PMU
 * (pmu/x86/) owns the counters of a CPU, knows how an attr is programmed, and
 * takes the PMI. The software PMU (software.c) counts what hooks report.
 */
#ifndef PMR_PMU_H
#define PMR_PMU_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/static_call.h>
#include <linux/types.h>

/* GLOBAL_STATUS numbers general-purpose counters from 0, fixed ones from 32. */
#define PMR_FIXED_BASE		32
#define PMR_COUNTERS_MAX	48

struct mm_struct;
struct pmr_pmu;
struct task_struct;

/**
 * struct pmr_hw - one event as its PMU sees it
 * @pmu: the PMU that counts it
 * @count: events counted up to @prev_raw; written by the owning CPU only
 * @base: @count at the last PERF_EVENT_IOC_RESET
 * @prev_raw: value of the counter that @count stands for
 * @period: events between two samples; counting events have none, they
 *	only need a PMI before the counter has gone round
 * @next_period: length of the periods after this one, or 0: as this one
 * @period_left: events until the next sample; not positive: it is due
 * @last_period: events that the sample now being written stands for
 * @reloads: grows with each write of the counter by the NMI, see @count of
 *	struct pmr_pmu
 * @user_page: where index and offset are published for RDPMC from user space,
 *	or NULL; see core/user_page.c
 * @idx: the counter it runs on, as bit of GLOBAL_STATUS, or -1
 * @last_idx: the one it ran on before, to be preferred
 * @sampling: it has a period
 * @throttled: it counts on, but writes no samples until the next tick
 * @kernel: it counts in ring 0, so it can overflow while a PMI is handled
 * @user: it counts in ring 3
 * @counter_msr: MSR of the counter it runs on
 * @rdpmc: its number for RDPMC
 * @width: its width in bits
 * @mask: the bits that it has
 * @config: PERFEVTSELx without EN and INT
 * @fixed_config: its four bits of FIXED_CTR_CTRL
 * @allowed: counters that can count it, as bits of GLOBAL_STATUS
 * @software: PERF_COUNT_SW_* of a software event
 * @every: each occurrence is a sample, whatever the period
 * @exclude_idle: clocks: no sample of the idle task
 * @addr: PERF_SAMPLE_ADDR of the sample now being written
 * @node: in its CPU's list of software events of its kind, while it runs
 * @timer: of a clock that samples
 */
struct pmr_hw {
	const struct pmr_pmu *pmu;
	u64 count;
	u64 base;
	u64 prev_raw;
	u64 period;
	u64 next_period;
	s64 period_left;
	u64 last_period;
	u32 reloads;
	struct perf_event_mmap_page *user_page;
	s16 idx;
	s16 last_idx;
	bool sampling;
	bool throttled;
	bool kernel;
	bool user;
	union {
		struct {
			u32 counter_msr;
			u32 rdpmc;
			u8 width;
			u64 mask;
			u64 config;
			u64 fixed_config;
			u64 allowed;
		};
		struct {
			u32 software;
			bool every;
			bool exclude_idle;
			u64 addr;
			struct hlist_node node;
			struct hrtimer timer;
		};
	};
};

/**
 * struct pmr_pmu - a PMU driver
 * @name: as shown in the log
 * @software: it needs no counters, so that all its events always run
 * @vendor: enum pmuring_vendor
 * @version: PMU version
 * @gp_counters: general-purpose counters per logical CPU
 * @gp_usable: those of them that events can use
 * @gp_width: their width in bits
 * @fixed_counters: fixed counters per logical CPU
 * @fixed_width: their width in bits
 * @fixed_mask: which fixed counters exist
 * @hardware_events: bit i: PERF_TYPE_HARDWARE config i exists
 * @max_period: largest value that can be loaded in one go
 * @full_width_write: counters can be written in full width
 * @handle_nmi: called for every NMI; returns the number of counters served, 0
 *	for an NMI of somebody else
 * @init_event: fill the open-time part of a struct pmr_hw; 0 or the errno of
 *	perf_event_open(2)
 * @period_min: the smallest period that an event can have; NULL: 1
 * @fits: could these run together on an empty PMU?
 * @reserve: take all counters from the kernel's allocator; 0 or -EBUSY
 * @release: give them back, and the PMU of each CPU on which an event has counted.
 *	No event is left; CPUs neither come nor go meanwhile
 * @cpu_online: this CPU came up; is its PMU one that works? @ours: the PMU is reserved,
 *	so that it may be tried. In the CPU's hotplug thread
 * @cpu_offline: this CPU goes down, its PMU has been given back. Likewise
 * @cpu_works: the answer of @cpu_online about a CPU. Any context
 * @cpu_stop: put this CPU's PMU back as it was found, if an event has counted on it.
 *	None does any more
 * @add: find counters for all of these and let them run, or for none: false.
 *	Events that run already may be moved to other counters. The first event on
 *	a CPU takes its PMU: saves what is there, and programs it
 * @del: take one off; its count is complete afterwards
 * @count: count of an event that runs on this CPU, without touching it
 * @scrub: zero the counters that hold what another task has counted, before a
 *	process runs here to which this module has given the right to read counters.
 *	Its address space is loaded already, or will be next
 *
 * Task context may sleep in @init_event, @period_min, @reserve and @release; the others
 * run on the CPU they act on, with interrupts off. The software PMU has
 * @init_event, @add, @del and @count only.
 */
struct pmr_pmu {
	const char *name;
	bool software;
	u32 vendor;
	u32 version;
	u32 gp_counters;
	u32 gp_usable;
	u32 gp_width;
	u32 fixed_counters;
	u32 fixed_width;
	u64 fixed_mask;
	u64 hardware_events;
	u64 max_period;
	bool full_width_write;

	int (*handle_nmi)(unsigned int type, struct pt_regs *regs);
	int (*init_event)(struct pmr_hw *hw, const struct perf_event_attr *attr);
	u64 (*period_min)(const struct pmr_hw *hw);
	bool (*fits)(struct pmr_hw *const *hws, unsigned int number);
	int (*reserve)(void);
	void (*release)(void);
	void (*cpu_online)(bool ours);
	void (*cpu_offline)(void);
	bool (*cpu_works)(int cpu);
	void (*cpu_stop)(void);
	bool (*add)(struct pmr_hw *const *hws, unsigned int number);
	void (*del)(struct pmr_hw *hw);
	u64 (*count)(const struct pmr_hw *hw);
	void (*scrub)(const struct mm_struct *next);
};

/**
 * struct pmr_cpu_stats - what happened on one CPU since the module was loaded
 * @nmis: NMIs that were claimed
 * @late_nmis: of these, found their counter stopped or already served
 * @samples: samples written
 * @lost: records that found no room
 * @throttled: events throttled
 * @recovered: overflows that came without status or PMI, and were served late
 * @repaired: times that registers were found changed and set right
 * @storms: times that the PMU was silenced because of a storm of NMIs
 * @misplaced: entries of a CPU's table that an NMI found to be another counter's
 * @failures: times that registers did not keep what was written
 *
 * Written by the owning CPU from any context including NMI, read by anyone.
 */
struct pmr_cpu_stats {
	u64 nmis;
	u64 late_nmis;
	u64 samples;
	u64 lost;
	u64 throttled;
	u64 recovered;
	u64 repaired;
	u64 storms;
	u64 failures;
	u64 misplaced;
};

DECLARE_PER_CPU(struct pmr_cpu_stats, pmr_cpu_stats);

/*
 * The one way up: a period of an event has ended. Called in NMI context by the
 * machine's PMU, with interrupts off by the software PMU; returns true if the
 * event must be throttled. Installed by the core before any event exists; a
 * static call, since each sample goes this way.
 */
bool pmr_overflow_nobody(struct pmr_hw *hw, struct pt_regs *regs);
DECLARE_STATIC_CALL(pmr_overflow, pmr_overflow_nobody);
typedef bool (*pmr_overflow_fn)(struct pmr_hw *hw, struct pt_regs *regs);

/*
 * TSC at which the running NMI began, or at which its last overflow was done. The time limit
 * counts from here, since the accesses to the PMU come before the sample, and take most of
 * the time of an overflow where they trap, as in a virtual machine.
 */
DECLARE_PER_CPU(u32, pmr_nmi_began);

/* The lower half of the TSC: rdtsc() would put the two together first. */
static __always_inline u32 pmr_cycles_now(void)
{
	u32 low;

	asm volatile("rdtsc" : "=a" (low) : : "edx");
	return low;
}

/* The driver of this machine, or NULL. Set at load time, then constant. */
extern const struct pmr_pmu *pmr_pmu;
extern const struct pmr_pmu pmr_software_pmu;

void pmr_software_init_copy(struct pmr_hw *hw);
void pmr_software_event(u32 event, u64 number, struct pt_regs *regs, u64 addr);
void pmr_software_caller(unsigned long ip, unsigned long frame);
void pmr_software_switch(void);
void pmr_software_migration(void);

/*
 * The other way up: the machine's PMU lets nothing count on this CPU from now on.
 * Interrupts off; @for_good: it will not do so again.
 */
typedef void (*pmr_evict_fn)(bool for_good);
void pmr_pmu_on_failure(pmr_evict_fn evict);

int pmr_pmu_init(pmr_overflow_fn overflow);
void pmr_pmu_exit(void);
int pmr_pmu_get(void);
void pmr_pmu_put(void);
bool pmr_pmu_is_held(void);
u32 pmr_pmu_holder(bool now);
void pmr_pmu_cpu_stop(void);
void pmr_pmu_cpu_online(void);
void pmr_pmu_cpu_offline(void);
bool pmr_pmu_cpu_works(int cpu);

#endif /* PMR_PMU_H */
