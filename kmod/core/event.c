// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the event: its making and its end, and what a user can do to one that
 * may be running anywhere.
 *
 * All functions: task context, may sleep, no locks held, unless stated.
 * Those static ones that get a context run where pmr_context_call() puts them:
 * on the event's CPU, interrupts off, context locked.
 */
#include <linux/err.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "core/context.h"
#include "core/event.h"
#include "pmu/period.h"
#include "sample/sample.h"

static atomic64_t last_id;
static atomic_t events_open;

static void wake_readers(struct irq_work *work)
{
	struct pmr_event *event = container_of(work, struct pmr_event, wake);

	wake_up_all(&event->waitq);
}

static void init_hw(struct pmr_hw *hw, const struct perf_event_attr *attr)
{
	hw->idx = -1;
	hw->last_idx = -1;
	hw->sampling = attr->sample_period;
	if (hw->sampling)
		pmr_period_set(hw, attr->sample_period);
}

/**
 * pmr_event_alloc() - make an event that is in no context
 * @attr: checked attr
 * @cpu: the only CPU it counts on, or -1
 *
 * Holds the PMU from here to pmr_event_free().
 *
 * Return: the event, or ERR_PTR of the errno of perf_event_open(2): -ENOENT,
 * -EINVAL and -EACCES from the driver, -EBUSY, -ENOMEM.
 */
struct pmr_event *pmr_event_alloc(const struct perf_event_attr *attr, int cpu)
{
	struct pmr_event *event;
	int err;

	if (!pmr_pmu)
		return ERR_PTR(-ENOENT);
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return ERR_PTR(-ENOMEM);
	init_hw(&event->hw, attr);
	err = pmr_pmu->init_event(&event->hw, attr);
	if (!err)
		err = pmr_pmu_get();
	if (err) {
		kfree(event);
		return ERR_PTR(err);
	}

	event->attr = *attr;
	event->cpu = cpu;
	event->id = atomic64_inc_return(&last_id);
	event->state = PMR_STATE_OFF;
	event->pid_ns = get_pid_ns(task_active_pid_ns(current));
	pmr_sample_plan(&event->plan, attr, event->pid_ns);
	INIT_LIST_HEAD(&event->entry);
	init_waitqueue_head(&event->waitq);
	init_irq_work(&event->wake, wake_readers);
	mutex_init(&event->mmap_mutex);
	atomic_inc(&events_open);
	return event;
}

/**
 * pmr_event_free() - end an event that is in no context and has no mapping
 * @event: event
 */
void pmr_event_free(struct pmr_event *event)
{
	irq_work_sync(&event->wake);
	pmr_ring_put(rcu_dereference_protected(event->ring, true));
	put_pid_ns(event->pid_ns);
	if (event->task)
		put_task_struct(event->task);
	pmr_pmu_put();
	atomic_dec(&events_open);
	kfree_rcu(event, rcu);
}

/**
 * pmr_events_open() - number of events that are open now
 */
u32 pmr_events_open(void)
{
	return atomic_read(&events_open);
}

struct install {
	struct pmr_event *event;
	int err;
};

static void install(struct pmr_context *context, void *arg)
{
	struct install *install = arg;
	struct pmr_event *event = install->event;

	if (context->exited) {
		install->err = -ESRCH;
		return;
	}
	list_add_tail(&event->entry, &context->events);
	event->since = pmr_context_time(context);
	if (event->attr.disabled)
		return;
	event->state = PMR_STATE_INACTIVE;
	pmr_event_try_start(event, event->since);
}

/**
 * pmr_event_install() - put an event into its context; it starts to count
 * unless attr.disabled
 * @event: event in no context
 * @context: context to which the caller holds a reference for the event
 *
 * Return: 0, or -ESRCH if the context's task has ended.
 */
int pmr_event_install(struct pmr_event *event, struct pmr_context *context)
{
	struct install arg = { .event = event };

	event->context = context;
	if (context->task)
		event->task = get_task_struct(context->task);
	pmr_context_call(context, install, &arg);
	return arg.err;
}

static void remove(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	pmr_event_stop(event, pmr_context_time(context));
	list_del_init(&event->entry);
}

/**
 * pmr_event_remove() - take an event out of its context
 * @event: event
 *
 * Afterwards no CPU touches it any more, its NMI handler included: that runs
 * on the same CPU as the removal.
 */
void pmr_event_remove(struct pmr_event *event)
{
	pmr_context_call(event->context, remove, event);
}

static void enable(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event = arg;

	if (event->state != PMR_STATE_OFF)
		return;
	pmr_event_update_times(event, now);
	event->state = PMR_STATE_INACTIVE;
	pmr_event_try_start(event, now);
	pmr_event_update_user_page(event);
}

/**
 * pmr_event_enable() - PERF_EVENT_IOC_ENABLE
 * @event: event
 */
void pmr_event_enable(struct pmr_event *event)
{
	pmr_context_call(event->context, enable, event);
}

static void disable(struct pmr_context *context, void *arg)
{
	u64 now = pmr_context_time(context);
	struct pmr_event *event = arg;

	if (event->state < PMR_STATE_INACTIVE)
		return;
	pmr_event_stop(event, now);
	pmr_event_update_times(event, now);
	event->state = PMR_STATE_OFF;
	pmr_event_update_user_page(event);
}

/**
 * pmr_event_disable() - PERF_EVENT_IOC_DISABLE
 * @event: event
 */
void pmr_event_disable(struct pmr_event *event)
{
	pmr_context_call(event->context, disable, event);
}

static u64 total_count(const struct pmr_event *event)
{
	return event->state == PMR_STATE_ACTIVE ? pmr_pmu->count(&event->hw) : event->hw.count;
}

static void reset(struct pmr_context *context, void *arg)
{
	struct pmr_event *event = arg;

	event->base = total_count(event);
	pmr_event_update_user_page(event);
}

/**
 * pmr_event_reset() - PERF_EVENT_IOC_RESET: the count begins at 0 again, times
 * and losses do not
 * @event: event
 */
void pmr_event_reset(struct pmr_event *event)
{
	pmr_context_call(event->context, reset, event);
}

struct set_period {
	struct pmr_event *event;
	u64 period;
};

static void set_period(struct pmr_context *context, void *arg)
{
	struct set_period *new = arg;
	struct pmr_event *event = new->event;
	u64 now = pmr_context_time(context);

	pmr_event_stop(event, now);
	event->attr.sample_period = new->period;
	pmr_period_set(&event->hw, new->period);
	pmr_event_try_start(event, now);
}

/**
 * pmr_event_set_period() - PERF_EVENT_IOC_PERIOD: a new period begins now,
 * and throttling ends
 * @event: sampling event
 * @period: 1 to 2^63 - 1
 */
void pmr_event_set_period(struct pmr_event *event, u64 period)
{
	struct set_period arg = { .event = event, .period = period };

	pmr_context_call(event->context, set_period, &arg);
}

struct read {
	struct pmr_event *event;
	struct pmr_value *value;
};

static void read_here(struct pmr_context *context, void *arg)
{
	struct read *read = arg;
	struct pmr_event *event = read->event;

	pmr_event_update_times(event, pmr_context_time(context));
	read->value->count = total_count(event) - event->base;
	read->value->enabled = event->enabled;
	read->value->running = event->running;
	pmr_event_update_user_page(event);
}

/**
 * pmr_event_read() - the count and its times, all of one moment
 * @event: event
 * @value: filled in
 */
void pmr_event_read(struct pmr_event *event, struct pmr_value *value)
{
	struct read arg = { .event = event, .value = value };

	pmr_context_call(event->context, read_here, &arg);
}

/**
 * pmr_event_lost() - samples of this event that found no room in the ring
 * @event: event
 */
u64 pmr_event_lost(const struct pmr_event *event)
{
	return READ_ONCE(event->lost);
}
