/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event. An opened event lives from PMURING_IOC_OPEN to the last close. An
 * inherited copy (a child event) lives from the fork until its task has ended and
 * its count was added to the event that it was inherited from.
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
 * enum pmr_state - state of an event; code compares states with < and >
 * @PMR_STATE_DEAD: closed; a copy may still hold a reference
 * @PMR_STATE_EXIT: the task has ended; the counts stay readable
 * @PMR_STATE_ERROR: a pinned event found no counter, or the PMU has failed
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
 * struct pmr_plan - record layout of an event, decided at open
 * @sample_type: PERF_SAMPLE_* of the attr
 * @sample_header: header of a kernel-mode sample that has only the fixed part
 * @sample_size: bytes of the fixed part of a sample, header included
 * @id_size: bytes of the sample_id trailer of other records, or 0
 * @lost_size: bytes of a LOST record
 * @throttle_size: bytes of a THROTTLE or UNTHROTTLE record
 * @wakeup_events: samples per wake-up of the reader, 0 for none
 * @variable: samples have rare fields; the size of some is known only when the
 *	sample is taken
 * @hide_kernel: the owner may not see kernel addresses, even those due to skid
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
 * enum pmr_place - which container of its context a flexible group is in
 * @PMR_PLACE_NONE: none: off, or bound to another CPU
 * @PMR_PLACE_SOFTWARE: enabled, needs no counters
 * @PMR_PLACE_HOLDERS: has had counters since the last rotation
 * @PMR_PLACE_QUEUE: waits for counters
 */
enum pmr_place {
	PMR_PLACE_NONE,
	PMR_PLACE_SOFTWARE,
	PMR_PLACE_HOLDERS,
	PMR_PLACE_QUEUE,
};

/**
 * struct pmr_throttle - sample budget of an event under the rate limit
 * @tick: jiffies of the last sample
 * @samples: samples in that tick
 * @allowed: samples the limit allows in that tick
 * @credit: budget at the start of the tick, times HZ, so that a limit that does
 *	not divide by HZ is not rounded down; negative after an excess
 * @told: a THROTTLE record was due, and no UNTHROTTLE yet
 */
struct pmr_throttle {
	unsigned long tick;
	u32 samples;
	u32 allowed;
	s64 credit;
	bool told;
};

/* Bits of pmr_event.pending: work that the NMI leaves to the event's irq_work */
#define PMR_PENDING_WAKE	0	/* wake the readers of its ring, send SIGIO */
#define PMR_PENDING_DISABLE	1	/* disable: REFRESH's last overflow has occurred */
#define PMR_PENDING_HUP		2	/* send SIGIO with POLL_HUP */
#define PMR_PENDING_POLL	3	/* the answer of poll() changed; no signal */

/**
 * struct pmr_event - an event
 * @hw: the part that the PMU driver uses; first, because the NMI starts from it
 * @plan: see struct pmr_plan
 * @top: parent event, the one that user space opened; an opened event is its own.
 *	Records carry the parent's id and go into its ring
 * @ring: ring that samples go to, or NULL; changed under the lock of that ring.
 *	A copy has none
 * @user_page: page that count and times are published in, or NULL; under the
 *	context's lock
 * @id: unique since load, never 0; STREAM_ID of records
 * @task: the task it follows, NULL for a CPU's event; holds a reference
 * @lost: samples that found no room, including those of copies
 * @throttle: see struct pmr_throttle; written on the CPU that it counts on
 * @limit: overflows until it is disabled (PERF_EVENT_IOC_REFRESH), 0 for no
 *	limit
 * @freq_stamp: clock at the last frequency adjustment, or 0, see sample/freq.h
 * @freq_count: count at that time
 * @freq_period: period that gives sample_freq, in fractions, or 0
 * @pending: PMR_PENDING_* bits for @work
 * @work: finishes an overflow in hard IRQ on the same CPU, outside the NMI
 * @state: enum pmr_state, under the context's lock
 * @cpu: the only CPU it counts on, or -1
 * @context: context that it is scheduled in; holds a reference
 * @leader: leader of its group, itself in a group of one
 * @siblings: leader: list of its siblings; sibling: entry in that list
 * @nr_siblings: leader: number of siblings
 * @generation: leader: incremented when the group changes; a copy starts with
 *	its original's value at the fork
 * @wait_offset: flexible leader: added to @enabled - @running to get its wait for
 *	counters, see core/wait.c
 * @wait_key: key in the context's queue: its wait as of context time 0
 * @wait_node: node in that queue
 * @place: container of the context that it is in
 * @placed: entry in the context's holders or software
 * @entry: leader: entry in the context's pinned or flexible list
 * @all: entry in the context's list of all events; before a copy is attached, in
 *	the list of a fork's spare events
 * @sideband: entry in the context's sideband list
 * @since: context time at the last update of @enabled and @running
 * @enabled: ns enabled while the context was scheduled in
 * @running: the part of @enabled that it was active
 * @children: top: its copies
 * @child: copy: entry in @children of @top
 * @children_lock: protects @children against forks on several CPUs. Removal also
 *	requires the mutex of the context of @top
 * @orphaned: top: being closed, forks no longer copy it
 * @reaping: copy: it has ended and was given to the reaper; under its context's
 *	lock
 * @reap: copy: entry in the ended list of the context of @top, see core/reap.c
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
 * @owned: entry in the owner's list
 * @pid_ns: pid namespace of the opener; an opened event holds a reference
 * @waitq: readers in poll()
 * @fasync: receivers of SIGIO
 * @mmap_mutex: protects @mappings, @charge, @rdpmc_mm and @polled; also held to set
 *	@ring, which the lock of the ring protects
 * @polled: poll() has been called for it; under @mmap_mutex
 * @mappings: number of VMAs of the ring
 * @rdpmc_mm: the process that may read its counter while it maps the event, or NULL;
 *	a reference to the struct, so that its address is not reused
 * @charge: what the ring's memory was charged to
 * @accounts: the users that it is charged to as an open event
 * @attached: entry in the list of events that write into its ring, see
 *	core/output.c
 * @ref: held by the file, and by each copy on its @top
 * @rcu: the NMI and the hooks may still read it after the last put
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
	struct mutex mmap_mutex;	/* protects mappings, charge, rdpmc_mm, polled */
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
 * struct pmr_value - count and times of an event
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
 * Only leaders have siblings; in a sibling, @siblings is the entry in its leader's list.
 * An exec may turn an event into a leader while a copy of it is still a sibling.
 */
static inline const struct list_head *pmr_siblings_of(const struct pmr_event *leader)
{
	lockdep_assert_irqs_disabled();
	return pmr_event_is_leader(leader) ? &leader->siblings : &pmr_no_siblings;
}

/* Requires the context's lock, or interrupts off on the CPU where the group counts. */
#define pmr_for_each_sibling(sibling, group_leader)				\
	for (const struct list_head *siblings_ = pmr_siblings_of(group_leader);	\
	     siblings_; siblings_ = NULL)					\
		list_for_each_entry(sibling, siblings_, siblings)

/* core/event.c */
struct pmr_event *pmr_event_alloc(const struct perf_event_attr *attr, int cpu);
void pmr_event_init_common(struct pmr_event *event);
void pmr_event_put(struct pmr_event *event);
int pmr_event_install(struct pmr_event *event, struct pmr_event *leader,
		      struct pmr_context *context, unsigned int max_inherited);
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
/* A group of 8 with all of read_format, and more. */
#define PMR_READ_FEW	32
ssize_t pmr_group_read(struct pmr_event *event, u64 *few, u64 **words, size_t size);
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
