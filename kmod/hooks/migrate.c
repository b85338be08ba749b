// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the tasks that have been moved to another CPU and have not run there
 * yet, for cpu-migrations. As in perf a task that is moved several times
 * before it runs counts once, where it arrives.
 *
 * on_migrate(): tracepoint sched_migrate_task on any CPU, interrupts off, the
 * task's pi_lock or the lock of its runqueue held. pmr_migrate_arrived():
 * sched_switch, lock of the task's runqueue held. get and put: task context,
 * may sleep. No locks of our own: what is done to one task is ordered by the
 * scheduler's, and tasks that share a bucket take slots by cmpxchg.
 *
 * A task stays here only from being moved to its next switch, so that there
 * are few; a bucket is one cache line.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "hooks/hooks.h"
#include "hooks/tracepoint.h"

#define BUCKET_BITS	7
#define BUCKET_SIZE	8

struct bucket {
	struct task_struct *tasks[BUCKET_SIZE];
} ____cacheline_aligned;

static struct bucket moved[1 << BUCKET_BITS];
static atomic_t unseen;

static struct bucket *bucket_of(const struct task_struct *task)
{
	return &moved[hash_ptr(task, BUCKET_BITS)];
}

static struct task_struct **find(struct bucket *bucket, const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < BUCKET_SIZE; i++)
		if (READ_ONCE(bucket->tasks[i]) == task)
			return &bucket->tasks[i];
	return NULL;
}

/**
 * pmr_migrate_remember() - a task has been moved
 * @task: the task
 */
void pmr_migrate_remember(struct task_struct *task)
{
	struct bucket *bucket = bucket_of(task);
	unsigned int i;

	if (find(bucket, task))
		return;
	for (i = 0; i < BUCKET_SIZE; i++)
		if (!READ_ONCE(bucket->tasks[i]) && !cmpxchg(&bucket->tasks[i], NULL, task))
			return;
	atomic_inc(&unseen);
}

/**
 * pmr_migrate_arrived() - does a task run for the first time since it was moved?
 * @task: task that is being switched to
 */
bool pmr_migrate_arrived(const struct task_struct *task)
{
	struct task_struct **slot = find(bucket_of(task), task);

	if (likely(!slot))
		return false;
	WRITE_ONCE(*slot, NULL);
	return true;
}

/* The tracepoint also tells of tasks that stay where they are. */
static void on_migrate(void *data, struct task_struct *task, int cpu)
{
	lockdep_assert_irqs_disabled();
	if (task_cpu(task) != cpu)
		pmr_migrate_remember(task);
}

static struct pmr_tracepoint points[] = {
	{ .name = "sched_migrate_task", .probe = on_migrate },
};

static struct pmr_tracepoint_set migrate = {
	.points = points,
	.number = ARRAY_SIZE(points),
};

/* Protects users. */
static DEFINE_MUTEX(migrate_lock);
static unsigned int users;

/* Tasks that had not arrived at the end of the last use may be gone by now. */
static void forget_all(void)
{
	int missed = atomic_xchg(&unseen, 0);

	if (missed)
		pr_notice("%d migrations went uncounted: too many tasks on their way\n", missed);
	memset(moved, 0, sizeof(moved));
}

/**
 * pmr_migrate_init() - find the tracepoint at load
 *
 * Return: 0, or -ENOENT on a kernel that lacks it.
 */
int pmr_migrate_init(void)
{
	return pmr_tracepoints_init(&migrate);
}

/**
 * pmr_migrate_get() - report cpu-migrations for one more event
 *
 * The scheduler's hooks must be in place already, or arrivals would be missed.
 *
 * Return: 0, -ENOENT on a kernel that lacks the tracepoint, or an error of
 * tracepoint_probe_register().
 */
int pmr_migrate_get(void)
{
	int err;

	mutex_lock(&migrate_lock);
	if (!users)
		forget_all();
	/* Arrivals are looked for before anybody can be remembered. */
	WRITE_ONCE(users, users + 1);
	err = pmr_hook_get(&migrate.hook);
	if (err)
		WRITE_ONCE(users, users - 1);
	mutex_unlock(&migrate_lock);
	return err;
}

/**
 * pmr_migrate_put() - one event less
 */
void pmr_migrate_put(void)
{
	mutex_lock(&migrate_lock);
	pmr_hook_put(&migrate.hook);
	WRITE_ONCE(users, users - 1);
	mutex_unlock(&migrate_lock);
}

/**
 * pmr_migrate_exit() - remember nothing any more, at unload
 */
void pmr_migrate_exit(void)
{
	pmr_hook_exit(&migrate.hook);
}

/**
 * pmr_migrate_on() - may tasks be remembered?
 */
bool pmr_migrate_on(void)
{
	return READ_ONCE(users) || pmr_hook_placed(&migrate.hook);
}
