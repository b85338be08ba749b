/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event: one per open, from PMURING_IOC_OPEN to the last close, and one
 * per inherited copy, from fork until its task has ended and been accounted.
 */
#ifndef PMR_EVENT_H
#define PMR_EVENT_H

#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

#include "pmu/pmu.h"
#include "ring/ring.h"

struct fasync_struct;
struct pmr_context;
struct pmr_account;
struct pmr_mlock;
struct pmr_owner;

/**
 * enum pmr_state - state of an event; the order carries meaning
 * @PMR_STATE_DEAD: closed, an inherited copy may still name it
 * @PMR_STATE_EXIT: its task has ended; the counts stay readable
 * @PMR_STATE_ERROR: pinned, and there was no counter for it; or the PMU has failed
 * @PMR_STATE_OFF: disabled by the user
 * @PMR_STATE_INACTIVE: enabled, but not counting
 * @PMR_STATE_ACTIVE: counting
 */
enum pmr_state {
	PMR_STATE_DEAD = -4,
	PMR_STATE_EXIT = -3,
	PMR_STATE_ERROR = -2,
	PMR_STATE_OFF = -1,
	PMR_STATE_INACTIVE = 0,
	PMR_STATE_ACTIVE = 1,
};

/**
 * struct pmr_plan - what the records of an event consist of, decided at open
 * @sample_type: PERF_SAMPLE_* of the attr
 * @sample_header: header of a sample in the kernel that has only the fixed part
 * @sample_size: bytes of the fixed part of a sample, header included
 * @id_size: bytes of the sample_id trailer of other records, or 0
 * @lost_size: bytes of a LOST record
 * @throttle_size: bytes of a THROTTLE or UNTHROTTLE record
 * @wakeup_events: samples after which the reader is woken, 0 for never
 * @variable: it has fields that few samples have, some of them of a size that
 *	is known only when the sample is taken
 * @hide_kernel: the owner may not see kernel addresses, not even by skid
 * @init_pid_ns: pids are those of the initial namespace
 * @clock: source of TIME, NULL for the scheduler's clock
 */
struct pmr_plan {
	u64 sample_type;
	u64 sample_header;
	u16 sample_size;
	u16 id_size;
	u16 lost_size;
	u16 throttle_size;
	u32 wakeup_events;
	bool variable;
	bool hide_kernel;
	bool init_pid_ns;
	u64 (*clock)(void);
};

/**
 * enum pmr_place - where a flexible group is among those of its context
 * @PMR_PLACE_NONE: off, or for another CPU
 * @PMR_PLACE_SOFTWARE: enabled, and needs no counters
 * @PMR_PLACE_HOLDERS: has had counters in this turn
 * @PMR_PLACE_QUEUE: waits for counters
 */
enum pmr_place {
	PMR_PLACE_NONE,
	PMR_PLACE_SOFTWARE,
	PMR_PLACE_HOLDERS,
	PMR_PLACE_QUEUE,
};

/**
 * struct pmr_throttle - how many samples the rate limit leaves to an event
 * @tick: jiffies of its last sample
 * @samples: its samples in that tick
 * @allowed: samples that the limit allows in that tick
 * @credit: the same when the tick began, times HZ, so that a limit that is no
 *	multiple of HZ loses nothing; negative after more than the limit allowed
 * @told: a THROTTLE record was due for it, and no UNTHROTTLE yet
 */
struct pmr_throttle {
	unsigned long tick;
	u32 samples;
	u32 allowed;
	s64 credit;
	bool told;
};

/* What an event's irq_work has to do, out of NMI context: pmr_event.pending */
#define PMR_PENDING_WAKE	0	/* wake the readers of its ring, send SIGIO */
#define PMR_PENDING_DISABLE	1	/* the last overflow that REFRESH granted */
#define PMR_PENDING_HUP		2	/* SIGIO says POLL_HUP */
#define PMR_PENDING_POLL	3	/* poll() has another answer; no signal */

/**
 * struct pmr_event - an event
 * @hw: what the PMU knows of it; @hw comes first, the NMI starts from it
 * @plan: see struct pmr_plan
 * @top: the event that user space opened: itself, or what it is an inherited
 *	copy of. Records carry its id and go into its ring
 * @ring: where its samples go, or NULL; changed under the lock of the ring that it
 *	leads to; a copy has none
 * @user_page: where its count and times are published, or NULL; under the
 *	context's lock
 * @id: unique since load, never 0; STREAM_ID of records
 * @task: the task it follows, NULL for a CPU's event; holds a reference
 * @lost: samples that found no room, those of copies included
 * @throttle: see struct pmr_throttle; written by the CPU that it counts on
 * @limit: overflows until it is disabled (PERF_EVENT_IOC_REFRESH), 0 for no
 *	limit
 * @freq_stamp: clock when frequency mode last looked, or 0, see sample/freq.h
 * @freq_count: count at that time
 * @freq_period: period that gives sample_freq, in fractions, or 0
 * @pending: PMR_PENDING_* bits for @work
 * @work: does what an overflow cannot, in hard IRQ on the same CPU
 * @state: enum pmr_state, under the context's lock
 * @cpu: the only CPU it counts on, or -1
 * @context: where it is scheduled; holds a reference
 * @leader: leader of its group, itself in a group of one
 * @siblings: leader: its siblings; sibling: its place among them
 * @nr_siblings: leader: how many
 * @generation: leader: grows when the group changes; a copy has its
 *	original's of the moment of fork
 * @wait_offset: flexible leader: makes @enabled - @running its wait for counters,
 *	see core/wait.c
 * @wait_key: its wait in the context's queue, as of time 0
 * @wait_node: its place in that queue
 * @place: which of the context's containers it is in
 * @placed: its place in the context's holders or software
 * @entry: leader: in one of the context's lists of groups
 * @all: in the context's list of all events
 * @sideband: in the context's list of those that ask for sideband records
 * @since: the context's time when @enabled and @running were last brought
 *	up to date
 * @enabled: ns enabled while the context was in
 * @running: ns of these counting
 * @children: top: its inherited copies
 * @child: copy: in @children of @top
 * @children_lock: protects @children against forks on several CPUs. To remove
 *	takes the context's mutex as well
 * @orphaned: top: being closed: forks need not copy it any more
 * @reaping: copy: it has ended, and @reap is linked; under its context's lock
 * @reap: copy: in the list of ended copies of its top's context, see core/reap.c
 * @read_due: copy: the reaper writes its READ record on the CPU of the ring
 * @end_pid: copy: pid of its task when it ended, for that record
 * @end_tid: copy: likewise
 * @forked: the last fork of its task that has copied it, see core/inherit.c
 * @picked: in a list that a holder of the context's mutex makes of a group
 * @child_count: top: counts of copies whose tasks have ended
 * @child_enabled: top: and their times
 * @child_running: top: and their times
 * @attr: as given at open
 * @owner: the task that opened it, for prctl(PR_TASK_PERF_EVENTS_ENABLE)
 * @owned: in the owner's list
 * @pid_ns: namespace of the opener; holds a reference
 * @waitq: readers in poll()
 * @fasync: who gets SIGIO
 * @mmap_mutex: protects @mappings, @charge and @rdpmc_mm; held to set @ring, which
 *	the lock of the ring protects
 * @polled: poll() has been called for it; under @mmap_mutex
 * @mappings: VMAs of the ring
 * @rdpmc_mm: the process that may read its counter while it maps the event, or NULL;
 *	a reference to the struct, so that its address is not reused
 * @charge: what the ring's memory was charged to
 * @accounts: the users that it is charged to as an open event
 * @attached: in the list of events that write into its ring, see
 *	core/output.c
 * @ref: the file holds one, each copy one on its @top
 * @rcu: the NMI and the hooks may still look when the last reference goes
 */
struct pmr_event {
	struct pmr_hw hw;
	struct pmr_plan plan;
	struct pmr_event *top;
	struct pmr_ring __rcu *ring;
	struct perf_event_mmap_page *user_page;
	u64 id;
	struct task_struct *task;
	u64 lost;
	struct pmr_throttle throttle;
	atomic_t limit;
	u64 freq_stamp;
	u64 freq_count;
	u64 freq_period;
	unsigned long pending;
	struct irq_work work;

	int state;
	int cpu;
	struct pmr_context *context;
	struct pmr_event *leader;
	struct list_head siblings;
	u32 nr_siblings;
	u32 generation;
	u64 wait_offset;
	u64 wait_key;
	struct rb_node wait_node;
	enum pmr_place place;
	struct list_head placed;
	struct list_head entry;
	struct list_head all;
	struct list_head sideband;
	u64 since;
	u64 enabled;
	u64 running;

	struct list_head children;
	struct list_head child;
	raw_spinlock_t children_lock;	/* protects children against forks */
	bool orphaned;
	bool reaping;
	struct list_head reap;
	bool read_due;
	u32 end_pid;
	u32 end_tid;
	u64 forked;
	struct list_head picked;
	u64 child_count;
	u64 child_enabled;
	u64 child_running;

	struct perf_event_attr attr;
	struct pmr_owner *owner;
	struct list_head owned;
	struct pid_namespace *pid_ns;
	wait_queue_head_t waitq;
	struct fasync_struct *fasync;
	struct mutex mmap_mutex;	/* protects mappings, charge, rdpmc_mm */
	bool polled;
	unsigned int mappings;
	struct mm_struct *rdpmc_mm;
	struct pmr_mlock *charge;
	struct pmr_account *accounts[2];
	struct list_head attached;
	struct kref ref;
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

static inline bool pmr_event_is_leader(const struct pmr_event *event)
{
	return event->leader == event;
}

static inline bool pmr_event_is_copy(const struct pmr_event *event)
{
	return event->top != event;
}

/* core/members.c */
extern struct list_head pmr_no_siblings;

/*
 * Only leaders have siblings. What a sibling has in @siblings is its place in its
 * leader's list; an exec may have made a leader of an event whose copy is a sibling still.
 */
static inline const struct list_head *pmr_siblings_of(const struct pmr_event *leader)
{
	lockdep_assert_irqs_disabled();
	return pmr_event_is_leader(leader) ? &leader->siblings : &pmr_no_siblings;
}

/* Under the context's lock, or on the CPU where the group counts, interrupts off. */
#define pmr_for_each_sibling(sibling, group_leader)				\
	list_for_each_entry(sibling, pmr_siblings_of(group_leader), siblings)

/* core/event.c */
struct pmr_event *pmr_event_alloc(const struct perf_event_attr *attr, int cpu);
void pmr_event_init_common(struct pmr_event *event);
void pmr_event_put(struct pmr_event *event);
int pmr_event_install(struct pmr_event *event, struct pmr_event *leader,
		      struct pmr_context *context);
void pmr_event_close(struct pmr_event *event);
u32 pmr_events_open(void);

/* core/control.c */
void pmr_event_enable(struct pmr_event *event, bool group);
void pmr_event_disable(struct pmr_event *event, bool group);
void pmr_event_disable_locked(struct pmr_event *event);
void pmr_event_reset(struct pmr_event *event, bool group);
int pmr_event_refresh(struct pmr_event *event, int overflows);
void pmr_event_set_period(struct pmr_event *event, u64 period);

/* core/count.c */
void pmr_event_read(struct pmr_event *event, struct pmr_value *value);
ssize_t pmr_group_read(struct pmr_event *event, u64 **words, size_t size);
unsigned int pmr_read_words(u64 format, unsigned int members);
int pmr_group_check_size(struct pmr_event *leader, struct pmr_event *event);

/* core/user_page.c */
void pmr_event_publish(struct pmr_event *event, u64 now);
void pmr_event_init_user_page(struct perf_event_mmap_page *page);
void pmr_event_map_user_page(struct pmr_event *event, struct perf_event_mmap_page *page,
			     bool counter);
void pmr_event_unmap_user_page(struct pmr_event *event);
void pmr_user_page_init(void);

/**
 * pmr_event_update_user_page() - publish count and times, if the event has a user page
 * @event: event on its CPU or out, interrupts off, its context locked
 * @now: pmr_context_time() of its context
 *
 * Inline, since each switch passes here twice for each event, and few have a page.
 */
static inline void pmr_event_update_user_page(struct pmr_event *event, u64 now)
{
	if (unlikely(event->user_page))
		pmr_event_publish(event, now);
}

#endif /* PMR_EVENT_H */
