// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the event: allocation, installation, close and freeing. control.c and count.c have
 * the operations of user space.
 *
 * All functions: task context, may sleep, no locks held, unless stated. Static functions
 * with a context argument are context function calls: on the context's CPU, interrupts
 * off, context locked. on_work(): hard IRQ.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "core/context.h"
#include "core/event.h"
#include "core/inherit.h"
#include "core/output.h"
#include "core/owner.h"
#include "pmu/period.h"
#include "sample/freq.h"
#include "sample/sample.h"
#include "sample/throttle.h"

static atomic64_t last_id;
static atomic_t events_open;

/*
 * The last overflow of PERF_EVENT_IOC_REFRESH has occurred. If the context has moved to
 * another CPU since, may_count() disables the event when it starts there.
 */
static void disable_here(struct pmr_event *event)
{
	struct pmr_context *context = event->context;

	lockdep_assert_irqs_disabled();
	raw_spin_lock(&context->lock);
	if (context->on_cpu < 0 || context->on_cpu == smp_processor_id())
		pmr_event_disable_locked(event);
	raw_spin_unlock(&context->lock);
	pmr_schedule_fill();
}

static void on_work(struct irq_work *work)
{
	struct pmr_event *event = container_of(work, struct pmr_event, work);
	bool hup = test_and_clear_bit(PMR_PENDING_HUP, &event->pending);
	u32 began = pmr_cycles_now();

	lockdep_assert_irqs_disabled();
	if (test_bit(PMR_PENDING_DISABLE, &event->pending))
		disable_here(event);
	if (test_and_clear_bit(PMR_PENDING_POLL, &event->pending))
		wake_up_all(&event->waitq);
	if (test_and_clear_bit(PMR_PENDING_WAKE, &event->pending) || hup) {
		pmr_output_wake(event);
		if (event->fasync)
			kill_fasync(&event->fasync, SIGIO, hup ? POLL_HUP : POLL_IN);
	}
	pmr_throttle_charge(pmr_cycles_now() - began);
}

/**
 * pmr_event_init_common() - initialize the part that opened events and copies share
 * @event: zeroed event; the caller may have set other fields
 *
 * Context: any.
 */
void pmr_event_init_common(struct pmr_event *event)
{
	event->id = atomic64_inc_return(&last_id);
	event->leader = event;
	INIT_LIST_HEAD(&event->siblings);
	INIT_LIST_HEAD(&event->entry);
	INIT_LIST_HEAD(&event->all);
	INIT_LIST_HEAD(&event->sideband);
	INIT_LIST_HEAD(&event->children);
	INIT_LIST_HEAD(&event->child);
	INIT_LIST_HEAD(&event->reap);
	INIT_LIST_HEAD(&event->picked);
	INIT_LIST_HEAD(&event->attached);
	INIT_LIST_HEAD(&event->owned);
	raw_spin_lock_init(&event->children_lock);
	init_waitqueue_head(&event->waitq);
	init_irq_work(&event->work, on_work);
	mutex_init(&event->mmap_mutex);
	kref_init(&event->ref);
}

static void init_hw(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	hw->idx = -1;
	hw->last_idx = -1;
	hw->sampling = attr->sample_period;
	if (!hw->sampling)
		return;
	pmr_period_set(hw, attr->freq ? pmr_freq_first_period(attr) : attr->sample_period);
}

static const struct pmr_pmu *pmu_of(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE ? &pmr_software_pmu : pmr_pmu;
}

static int hold_pmu(const struct pmr_event *event)
{
	return event->hw.pmu->software ? 0 : pmr_pmu_get();
}

/**
 * pmr_event_alloc() - allocate an event that is in no context
 * @attr: checked attr
 * @cpu: the only CPU it counts on, or -1
 *
 * A hardware event holds the PMU until the last pmr_event_put().
 *
 * Return: the event, or ERR_PTR of the errno of perf_event_open(2): -ENOENT,
 * -EINVAL and -EACCES from the driver, -EBUSY, -ENOMEM.
 */
struct pmr_event *pmr_event_alloc(const struct perf_event_attr *attr, int cpu)
{
	const struct pmr_pmu *pmu = pmu_of(attr);
	struct pmr_event *event;
	int err;

	if (!pmu)
		return ERR_PTR(-ENOENT);
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return ERR_PTR(-ENOMEM);
	init_hw(&event->hw, attr);
	err = pmu->init_event(&event->hw, attr);
	if (!err)
		err = hold_pmu(event);
	if (err) {
		kfree(event);
		return ERR_PTR(err);
	}

	event->attr = *attr;
	event->top = event;
	event->cpu = cpu;
	WRITE_ONCE(event->state, PMR_STATE_OFF);
	event->pid_ns = get_pid_ns(task_active_pid_ns(current));
	pmr_sample_plan(&event->plan, attr, event->pid_ns);
	pmr_event_init_common(event);
	atomic_inc(&events_open);
	return event;
}

static bool is_in_use(const struct pmr_event *event)
{
	return event->state == PMR_STATE_ACTIVE || event->hw.idx >= 0 || !list_empty(&event->all);
}

static void free_event(struct kref *ref)
{
	struct pmr_event *event = container_of(ref, struct pmr_event, ref);
	struct pmr_event *top = event->top;

	/* Leak the event instead of letting an NMI use freed memory. */
	if (WARN_ON_ONCE(is_in_use(event)))
		return;
	irq_work_sync(&event->work);
	if (event->task)
		put_task_struct(event->task);
	if (event->context)
		pmr_context_put(event->context);
	if (event == top) {
		put_pid_ns(event->pid_ns);
		if (!event->hw.pmu->software)
			pmr_pmu_put();
		atomic_dec(&events_open);
	}
	kfree_rcu(event, rcu);
	if (event != top)
		pmr_event_put(top);
}

/**
 * pmr_event_put() - drop a reference
 * @event: event; at the last put it must be in no list and have no ring
 */
void pmr_event_put(struct pmr_event *event)
{
	kref_put(&event->ref, free_event);
}

u32 pmr_events_open(void)
{
	return atomic_read(&events_open);
}

struct install {
	struct pmr_event *event;
	struct pmr_event *leader;
	unsigned int max_inherited;
	int err;
};

static void install(struct pmr_context *context, void *arg)
{
	struct install *install = arg;
	struct pmr_event *event = install->event;

	if (context->task != event->task) {
		install->err = -EAGAIN;		/* swapped with a clone context meanwhile */
		return;
	}
	if (context->exited) {
		install->err = -ESRCH;
		return;
	}
	if (install->leader->state <= PMR_STATE_EXIT) {
		install->err = -ENODEV;		/* the leader was removed on exec */
		return;
	}
	if (context->number >= PMR_CONTEXT_EVENTS_MAX ||
	    (event->attr.inherit && context->inherited >= install->max_inherited)) {
		install->err = -EMFILE;
		return;
	}
	event->since = pmr_context_time(context);
	pmr_group_attach(event, install->leader);
	if (!event->attr.disabled)
		WRITE_ONCE(event->state, PMR_STATE_INACTIVE);
	pmr_event_start(event, event->since);
}

/**
 * pmr_event_install() - add an event to a context, and start it unless attr.disabled
 * @event: event in no context
 * @leader: group leader, or NULL for a group of its own
 * @context: context, the leader's if there is one; the caller's reference passes to the
 *	event, and is dropped on failure
 * @max_inherited: number of events with attr.inherit that the context may have
 *
 * Return: 0; -EAGAIN if the context now belongs to another task; -ESRCH if the
 * context's task has ended; -ENODEV if the leader has left it; -EMFILE if the
 * context is full; -EINVAL if the PMU can never count the group together; -E2BIG if
 * the group would be too big for one read(); -ENOMEM.
 */
int pmr_event_install(struct pmr_event *event, struct pmr_event *leader,
		      struct pmr_context *context, unsigned int max_inherited)
{
	struct install arg = {
		.event = event,
		.leader = leader ?: event,
		.max_inherited = max_inherited,
	};
	int err = pmr_owner_set(event);

	if (err) {
		pmr_context_put(context);
		return err;
	}
	event->context = context;
	mutex_lock(&context->mutex);
	err = pmr_group_fits(arg.leader, event);
	if (!err)
		err = pmr_group_check_size(arg.leader, event);
	if (!err) {
		pmr_context_call(context, install, &arg);
		err = arg.err;
	}
	mutex_unlock(&context->mutex);
	if (!err) {
		pmr_owner_add(event);
		return 0;
	}
	pmr_owner_clear(event);
	event->context = NULL;
	pmr_context_put(context);
	return err;
}

static void remove(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event = arg;

	pmr_group_update_times(event->leader, now);
	pmr_event_stop(event, now);
	WRITE_ONCE(event->state, PMR_STATE_DEAD);
	if (!list_empty(&event->all))
		pmr_group_detach(event);
}

/**
 * pmr_event_close() - end an event that user space has opened
 * @event: event without mappings
 *
 * Ends its copies too. Afterwards no CPU uses the event, not even in an NMI: the event is
 * removed on the CPU that takes its NMIs.
 */
void pmr_event_close(struct pmr_event *event)
{
	struct pmr_context *context = event->context;
	LIST_HEAD(doomed);

	might_sleep();
	pmr_owner_remove(event);
	mutex_lock(&context->mutex);
	pmr_context_call(context, remove, event);
	pmr_inherit_orphan(event, &doomed);
	mutex_unlock(&context->mutex);
	pmr_inherit_free(&doomed);
	pmr_output_detach(event);
	pmr_event_put(event);
}
