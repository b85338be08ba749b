/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event: one per open, from PMURING_IOC_OPEN to the last close.
 */
#ifndef PMR_EVENT_H
#define PMR_EVENT_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

#include "pmu/pmu.h"
#include "ring/ring.h"

struct pmr_context;
struct pmr_mlock;

/**
 * enum pmr_state - state of an event; the order carries meaning
 * @PMR_STATE_EXIT: its task has ended; the counts stay readable
 * @PMR_STATE_OFF: disabled by the user
 * @PMR_STATE_INACTIVE: enabled, but not on a counter
 * @PMR_STATE_ACTIVE: on a counter
 */
enum pmr_state {
	PMR_STATE_EXIT = -3,
	PMR_STATE_OFF = -1,
	PMR_STATE_INACTIVE = 0,
	PMR_STATE_ACTIVE = 1,
};

/**
 * struct pmr_plan - what a sample of an event consists of, decided at open
 * @sample_type: PERF_SAMPLE_* of the attr
 * @sample_size: bytes of a sample, header included
 * @id_size: bytes of the sample_id trailer of other records, or 0
 * @lost_size: bytes of a LOST record
 * @throttle_size: bytes of a THROTTLE or UNTHROTTLE record
 * @hide_kernel: the owner may not see kernel addresses, not even by skid
 * @init_pid_ns: pids are those of the initial namespace
 * @clock: source of TIME, NULL for the scheduler's clock
 */
struct pmr_plan {
	u64 sample_type;
	u16 sample_size;
	u16 id_size;
	u16 lost_size;
	u16 throttle_size;
	bool hide_kernel;
	bool init_pid_ns;
	u64 (*clock)(void);
};

/**
 * struct pmr_event - an event
 * @hw: what the PMU knows of it; @hw comes first, the NMI starts from it
 * @plan: see struct pmr_plan
 * @ring: where its samples go, or NULL; changed under @mmap_mutex
 * @id: unique since load, never 0
 * @base: count at the last PERF_EVENT_IOC_RESET
 * @task: the task it follows, NULL for a CPU's event; holds a reference
 * @lost: samples that found no room
 * @tick: jiffies of the last sample, for throttling
 * @tick_samples: samples in that tick
 * @wake: wakes the readers, out of NMI context
 * @state: enum pmr_state, under the context's lock
 * @cpu: the only CPU it counts on, or -1
 * @context: where it is scheduled; holds a reference
 * @entry: in the context's list, under its lock
 * @since: the context's time when @enabled and @running were last brought
 *	up to date
 * @enabled: ns enabled while the context was in
 * @running: ns of these on a counter
 * @attr: as given at open
 * @pid_ns: namespace of the opener; holds a reference
 * @waitq: readers in poll()
 * @mmap_mutex: protects @ring, @mappings and @charge
 * @mappings: VMAs of the ring
 * @charge: what the ring's memory was charged to
 * @rcu: the NMI and the hooks may still look when the last reference goes
 */
struct pmr_event {
	struct pmr_hw hw;
	struct pmr_plan plan;
	struct pmr_ring __rcu *ring;
	u64 id;
	u64 base;
	struct task_struct *task;
	u64 lost;
	unsigned long tick;
	u32 tick_samples;
	struct irq_work wake;

	int state;
	int cpu;
	struct pmr_context *context;
	struct list_head entry;
	u64 since;
	u64 enabled;
	u64 running;

	struct perf_event_attr attr;
	struct pid_namespace *pid_ns;
	wait_queue_head_t waitq;
	struct mutex mmap_mutex;	/* protects ring, mappings and charge */
	unsigned int mappings;
	struct pmr_mlock *charge;
	struct rcu_head rcu;
};

/**
 * struct pmr_value - an event's count at one moment
 * @count: events
 * @enabled: ns enabled
 * @running: ns running
 */
struct pmr_value {
	u64 count;
	u64 enabled;
	u64 running;
};

struct pmr_event *pmr_event_alloc(const struct perf_event_attr *attr, int cpu);
void pmr_event_free(struct pmr_event *event);

int pmr_event_install(struct pmr_event *event, struct pmr_context *context);
void pmr_event_remove(struct pmr_event *event);
void pmr_event_enable(struct pmr_event *event);
void pmr_event_disable(struct pmr_event *event);
void pmr_event_reset(struct pmr_event *event);
void pmr_event_set_period(struct pmr_event *event, u64 period);
void pmr_event_read(struct pmr_event *event, struct pmr_value *value);
void pmr_event_update_user_page(struct pmr_event *event);
void pmr_event_init_user_page(struct pmr_ring *ring);
u64 pmr_event_lost(const struct pmr_event *event);

u32 pmr_events_open(void);

#endif /* PMR_EVENT_H */
