// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the scheduler's tracepoints: sched_switch and sched_process_exit, which
 * are registered while a task event is open and at no other time.
 *
 * get and put: task context, take hooks_lock. The probes: sched_switch runs on
 * the switching CPU with interrupts off and the runqueue lock held, current is
 * still the previous task; sched_process_exit runs in the exiting task, after
 * its mm is gone.
 */
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "core/context.h"
#include "hooks/hooks.h"

/* Protects users, and with it whether the probes are registered. */
static DEFINE_MUTEX(hooks_lock);
static unsigned int users;

static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	pmr_task_switch(next);
}

static void on_exit(void *data, struct task_struct *task)
{
	pmr_task_exit(task);
}

/**
 * struct hook - a tracepoint and what it calls
 * @name: name of the tracepoint, which is not exported but can be found
 * @probe: function
 * @tracepoint: found at load
 */
struct hook {
	const char *name;
	void *probe;
	struct tracepoint *tracepoint;
};

static struct hook hooks[] = {
	{ .name = "sched_switch", .probe = on_switch },
	{ .name = "sched_process_exit", .probe = on_exit },
};

static void remember(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tracepoint->name, hooks[i].name))
			hooks[i].tracepoint = tracepoint;
}

static void unregister_first(unsigned int number)
{
	while (number--)
		tracepoint_probe_unregister(hooks[number].tracepoint, hooks[number].probe, NULL);
}

static int register_all(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		err = tracepoint_probe_register(hooks[i].tracepoint, hooks[i].probe, NULL);
		if (err) {
			unregister_first(i);
			return err;
		}
	}
	return 0;
}

/**
 * pmr_sched_hooks_get() - see context switches for one more task event
 *
 * Return: 0 or an error of tracepoint_probe_register().
 */
int pmr_sched_hooks_get(void)
{
	int err = 0;

	mutex_lock(&hooks_lock);
	if (!users)
		err = register_all();
	if (!err)
		users++;
	mutex_unlock(&hooks_lock);
	return err;
}

/**
 * pmr_sched_hooks_put() - one task event less
 */
void pmr_sched_hooks_put(void)
{
	mutex_lock(&hooks_lock);
	if (!--users)
		unregister_first(ARRAY_SIZE(hooks));
	mutex_unlock(&hooks_lock);
}

/**
 * pmr_sched_hooks_on() - are the probes registered?
 */
bool pmr_sched_hooks_on(void)
{
	return READ_ONCE(users);
}

/**
 * pmr_sched_hooks_init() - find the tracepoints
 *
 * Return: 0, or -ENOENT on a kernel that lacks one.
 */
int pmr_sched_hooks_init(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(remember, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!hooks[i].tracepoint)
			return -ENOENT;
	return 0;
}

/**
 * pmr_sched_hooks_exit() - wait until no CPU runs a probe any more
 */
void pmr_sched_hooks_exit(void)
{
	tracepoint_synchronize_unregister();
}
