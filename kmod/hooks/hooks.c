// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the question which hooks an event needs, so that none is in place that
 * nobody needs. Task context, may sleep; takes the locks of the hooks, one
 * after the other.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/tracepoint.h>

#include "core/context.h"
#include "hooks/hooks.h"

/**
 * struct hook - something that can be put in place and taken away
 * @get: one more event needs it; 0 or an error
 * @put: one event less
 */
struct hook {
	int (*get)(void);
	void (*put)(void);
};

/* No hook of its own: the scheduler's looks closer. */
static int switches_get(void)
{
	pmr_switch_watch(1);
	return 0;
}

static void switches_put(void)
{
	pmr_switch_watch(-1);
}

enum {
	SCHED,
	SWITCHES,
	MIGRATE,
	FAULTS,
	FAULTS_HANDLED,
	MMAP,
};

/* In this order: who counts arrivals must see switches first. */
static const struct hook hooks[] = {
	[SCHED] = { pmr_sched_get, pmr_sched_put },
	[SWITCHES] = { switches_get, switches_put },
	[MIGRATE] = { pmr_migrate_get, pmr_migrate_put },
	[FAULTS] = { pmr_faults_get, pmr_faults_put },
	[FAULTS_HANDLED] = { pmr_faults_handled_get, pmr_faults_handled_put },
	[MMAP] = { pmr_mmap_hook_get, pmr_mmap_hook_put },
};

static unsigned int needed_to_count(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return 0;
	switch (attr->config) {
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return BIT(SCHED) | BIT(SWITCHES);
	case PERF_COUNT_SW_CPU_MIGRATIONS:
		return BIT(SCHED) | BIT(SWITCHES) | BIT(MIGRATE);
	case PERF_COUNT_SW_PAGE_FAULTS:
		return BIT(FAULTS);
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		return BIT(FAULTS_HANDLED);
	default:
		return 0;
	}
}

/* The attr and the task of an event do not change, or put would not undo get. */
static unsigned int needed_by(const struct pmr_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	unsigned int needed = needed_to_count(attr);

	if (attr->mmap || attr->mmap2 || attr->mmap_data)
		needed |= BIT(SCHED) | BIT(MMAP);
	if (event->task || attr->comm || attr->task)
		needed |= BIT(SCHED);
	if (attr->context_switch)
		needed |= BIT(SCHED) | BIT(SWITCHES);
	return needed;
}

static void put(unsigned int held)
{
	int i;

	for (i = ARRAY_SIZE(hooks) - 1; i >= 0; i--)
		if (held & BIT(i))
			hooks[i].put();
}

/**
 * pmr_hooks_get() - put in place what an event needs
 * @event: event that is being opened, its task and attr known
 *
 * Return: 0 or the error of the hook that could not be had.
 */
int pmr_hooks_get(const struct pmr_event *event)
{
	unsigned int needed = needed_by(event), held = 0;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (!(needed & BIT(i)))
			continue;
		err = hooks[i].get();
		if (err) {
			put(held);
			return err;
		}
		held |= BIT(i);
	}
	return 0;
}

/**
 * pmr_hooks_put() - an event needs nothing any more
 * @event: event for which pmr_hooks_get() succeeded
 */
void pmr_hooks_put(const struct pmr_event *event)
{
	put(needed_by(event));
}

/**
 * pmr_hooks_init() - find what can be hooked
 *
 * Page faults and migrations are needed by events of their own only, which
 * cannot be opened on a kernel that lacks their tracepoints.
 *
 * Return: 0, or -ENOENT on a kernel that lacks the scheduler's tracepoints.
 */
int pmr_hooks_init(void)
{
	pmr_mmap_hook_init();
	pmr_migrate_init();
	pmr_faults_init();
	return pmr_sched_init();
}

/**
 * pmr_hooks_exit() - wait until no CPU runs a probe any more
 */
void pmr_hooks_exit(void)
{
	pmr_mmap_hook_exit();
	pmr_faults_exit();
	pmr_migrate_exit();
	pmr_sched_exit();
	tracepoint_synchronize_unregister();
}
