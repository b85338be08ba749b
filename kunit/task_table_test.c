// SPDX-License-Identifier: GPL-2.0
/*
 * Tests core/task_table.c with tasks that do not run: whatever the table's size,
 * each finds its own context, and chains stay short. Called by KUnit in task
 * context while no event is open.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/task.h>

#include "core/context.h"
#include "core/task_table.h"

#define TASKS	3000

/**
 * struct world - tasks and their contexts
 * @tasks: where each task begins; of a task the table looks at @usage and @flags only
 * @contexts: the context of each, or NULL
 */
struct world {
	struct task_struct *tasks[TASKS];
	struct pmr_context *contexts[TASKS];
};

static void free_world(struct world *world)
{
	int i;

	for (i = 0; i < TASKS; i++)
		kvfree(world->tasks[i]);
	kvfree(world);
}

static int table_init(struct kunit *test)
{
	struct world *world = kvzalloc(sizeof(*world), GFP_KERNEL);
	int i;

	if (!world)
		return -ENOMEM;
	for (i = 0; i < TASKS; i++) {
		world->tasks[i] = kvzalloc(sizeof(*world->tasks[i]), GFP_KERNEL);
		if (!world->tasks[i]) {
			free_world(world);
			return -ENOMEM;
		}
		refcount_set(&world->tasks[i]->usage, 1);
	}
	test->priv = world;
	return 0;
}

static void add(struct kunit *test, int i)
{
	struct world *world = test->priv;

	world->contexts[i] = pmr_task_context_get(world->tasks[i]);
	if (!IS_ERR_OR_NULL(world->contexts[i]))
		return;
	world->contexts[i] = NULL;
	KUNIT_FAIL(test, "task %d has got no context", i);
}

static void remove(struct kunit *test, int i)
{
	struct world *world = test->priv;

	if (world->contexts[i])
		pmr_context_put(world->contexts[i]);
	world->contexts[i] = NULL;
}

static void table_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < TASKS; i++)
		remove(test, i);
	pmr_task_table_settle();
	rcu_barrier();
	free_world(test->priv);
}

static bool finds(struct world *world, int i)
{
	bool found;

	rcu_read_lock();
	found = pmr_task_context_find(world->tasks[i]) == world->contexts[i] &&
		(!world->contexts[i] || pmr_task_may_have_context(world->tasks[i]));
	rcu_read_unlock();
	return found;
}

static void expect_all_found(struct kunit *test)
{
	int i, wrong = 0;

	for (i = 0; i < TASKS; i++)
		wrong += !finds(test->priv, i);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static unsigned long chains(void)
{
	unsigned long number;

	rcu_read_lock();
	number = 1UL << (64 - rcu_dereference(pmr_task_table)->shift);
	rcu_read_unlock();
	return number;
}

static void each_task_finds_its_own(struct kunit *test)
{
	int i;

	expect_all_found(test);
	for (i = 0; i < TASKS; i += 2)
		add(test, i);
	expect_all_found(test);
	for (i = 0; i < TASKS; i++)
		i % 2 ? add(test, i) : remove(test, i);
	expect_all_found(test);
}

static void a_task_has_one_context(struct kunit *test)
{
	struct world *world = test->priv;
	struct pmr_context *again;

	add(test, 0);
	again = pmr_task_context_get(world->tasks[0]);
	KUNIT_EXPECT_PTR_EQ(test, again, world->contexts[0]);
	pmr_context_put(again);
	expect_all_found(test);
}

static void grows_and_shrinks(struct kunit *test)
{
	unsigned long empty = chains();
	int i;

	for (i = 0; i < TASKS; i++)
		add(test, i);
	pmr_task_table_settle();
	KUNIT_EXPECT_GE(test, chains(), 2UL * TASKS);
	expect_all_found(test);
	for (i = 0; i < TASKS; i++)
		remove(test, i);
	pmr_task_table_settle();
	KUNIT_EXPECT_EQ(test, chains(), empty);
	expect_all_found(test);
}

/* Looks all tasks up, again and again, while the table is changed under it. */
static int look(void *arg)
{
	struct world *world = arg;
	long missed = 0;
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < TASKS / 10; i++)
			missed += !finds(world, i);
		cond_resched();
	}
	return min(missed, 1000L);
}

static void nobody_is_missed_while_it_changes(struct kunit *test)
{
	struct task_struct *looker;
	int i, round;

	for (i = 0; i < TASKS / 10; i++)
		add(test, i);
	looker = kthread_run(look, test->priv, "table_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(looker));
	for (round = 0; round < 10; round++) {
		for (i = TASKS / 10; i < TASKS; i++)
			add(test, i);
		pmr_task_table_settle();
		for (i = TASKS / 10; i < TASKS; i++)
			remove(test, i);
		pmr_task_table_settle();
	}
	KUNIT_EXPECT_EQ(test, kthread_stop(looker), 0);
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(each_task_finds_its_own),
	KUNIT_CASE(a_task_has_one_context),
	KUNIT_CASE(grows_and_shrinks),
	KUNIT_CASE(nobody_is_missed_while_it_changes),
	{}
};

static struct kunit_suite table_suite = {
	.name = "pmuring_task_table",
	.init = table_init,
	.exit = table_exit,
	.test_cases = table_cases,
};

kunit_test_suite(table_suite);
