// SPDX-License-Identifier: GPL-2.0
/*
 * Tests core/owner.c: a task that enables its events does not wait for another that
 * does the same. Called by KUnit in task context while no event is open.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>

#include "core/context.h"
#include "core/owner.h"

/**
 * struct world - two events, each in a context of its own
 * @contexts: their contexts, which are out
 * @events: the events; the first one is opened by @other
 * @opened: @other has opened it
 * @done: @other has enabled it
 */
struct world {
	struct pmr_context contexts[2];
	struct pmr_event events[2];
	struct completion opened;
	struct completion done;
};

static int owner_init(struct kunit *test)
{
	struct world *world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	int i;

	if (!world)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		pmr_context_init(&world->contexts[i]);
		pmr_event_init_common(&world->events[i]);
		world->events[i].top = &world->events[i];
		world->events[i].context = &world->contexts[i];
		world->events[i].state = PMR_STATE_EXIT;	/* nothing is left to enable */
	}
	init_completion(&world->opened);
	init_completion(&world->done);
	test->priv = world;
	return 0;
}

static int other(void *arg)
{
	struct world *world = arg;
	int err = pmr_owner_set(&world->events[0]);

	if (!err)
		pmr_owner_add(&world->events[0]);
	complete(&world->opened);
	if (!err) {
		pmr_owner_control(true);
		pmr_owner_remove(&world->events[0]);
	}
	complete(&world->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return err;
}

static void wait_until_asleep(struct kunit *test, struct task_struct *task)
{
	int i;

	for (i = 0; i < 1000 && READ_ONCE(task->__state) != TASK_UNINTERRUPTIBLE; i++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(task->__state), (unsigned int)TASK_UNINTERRUPTIBLE);
}

static void one_does_not_wait_for_another(struct kunit *test)
{
	struct world *world = test->priv;
	struct task_struct *task;

	KUNIT_ASSERT_EQ(test, pmr_owner_set(&world->events[1]), 0);
	pmr_owner_add(&world->events[1]);
	/* of another class for lockdep: under it, another owner takes another context's */
	mutex_lock_nested(&world->contexts[0].mutex, SINGLE_DEPTH_NESTING);
	task = kthread_run(other, world, "owner_test");
	if (IS_ERR(task)) {
		KUNIT_FAIL(test, "no thread");
		goto unlock;
	}
	wait_for_completion(&world->opened);
	wait_until_asleep(test, task);		/* for the mutex of its event's context */
	pmr_owner_control(true);
	KUNIT_EXPECT_FALSE(test, completion_done(&world->done));
unlock:
	mutex_unlock(&world->contexts[0].mutex);
	pmr_owner_remove(&world->events[1]);
	if (IS_ERR(task))
		return;
	wait_for_completion(&world->done);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
}

static void all_of_a_task_are_its_own(struct kunit *test)
{
	struct world *world = test->priv;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, pmr_owner_set(&world->events[i]), 0);
		pmr_owner_add(&world->events[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, world->events[0].owner, world->events[1].owner);
	for (i = 0; i < 2; i++) {
		pmr_owner_remove(&world->events[i]);
		KUNIT_EXPECT_PTR_EQ(test, world->events[i].owner, (struct pmr_owner *)NULL);
	}
}

static struct kunit_case owner_cases[] = {
	KUNIT_CASE(one_does_not_wait_for_another),
	KUNIT_CASE(all_of_a_task_are_its_own),
	{}
};

static struct kunit_suite owner_suite = {
	.name = "pmuring_owner",
	.init = owner_init,
	.test_cases = owner_cases,
};

kunit_test_suite(owner_suite);
