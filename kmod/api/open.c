// SPDX-License-Identifier: GPL-2.0
/*
 * Owns PMURING_IOC_OPEN: what perf_event_open(2) does, in its order, since
 * which error wins is part of the ABI (see attr.c). Task context, may sleep;
 * holds the target's exec_update_lock while its rights are looked at.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "api/account.h"
#include "api/api.h"
#include "core/context.h"
#include "core/output.h"
#include "core/sideband.h"
#include "hooks/hooks.h"
#include "sample/sample.h"

#define KNOWN_FLAGS (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
		     PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)

/**
 * struct opening - an open in progress
 * @attr: checked attr
 * @rights: of the caller, decided before anything is looked at
 * @cpu: as given
 * @flags: PERF_FLAG_*
 * @task: task to follow, or NULL; a reference
 * @group: event of group_fd, or NULL; its file is held
 * @accounts: what the event is charged to, until it is open
 */
struct opening {
	struct perf_event_attr attr;
	struct pmr_rights rights;
	int cpu;
	u64 flags;
	struct task_struct *task;
	struct pmr_event *group;
	struct pmr_account *accounts[2];
};

/* Return: the leader that is to be joined, or NULL. */
static struct pmr_event *leader_of(const struct opening *opening)
{
	return opening->flags & PERF_FLAG_FD_NO_GROUP ? NULL : opening->group;
}

static struct task_struct *find_task(pid_t pid)
{
	struct task_struct *task;

	if (!pid)
		return get_task_struct(current);
	rcu_read_lock();
	task = get_pid_task(find_vpid(pid), PIDTYPE_PID);
	rcu_read_unlock();
	return task ?: ERR_PTR(-ESRCH);
}

static bool valid_cpu(int cpu, const struct task_struct *task)
{
	return cpu == -1 ? !!task : cpu >= 0 && cpu < nr_cpu_ids;
}

/* A copy's sample has the copy's count, so it must tell whose that is. */
static bool hides_whose_count(const struct perf_event_attr *attr)
{
	return attr->inherit && attr->sample_type & PERF_SAMPLE_READ &&
	       !(attr->sample_type & PERF_SAMPLE_TID);
}

static int check_target(const struct opening *opening)
{
	const struct pmr_event *leader = leader_of(opening);

	if (opening->task && leader && leader->attr.inherit != opening->attr.inherit)
		return -EINVAL;
	if (!valid_cpu(opening->cpu, opening->task))
		return -EINVAL;
	if (opening->attr.sigtrap && !opening->task)
		return -EINVAL;
	return hides_whose_count(&opening->attr) ? -EINVAL : 0;
}

static struct pmr_event *make_event(const struct opening *opening)
{
	struct pmr_event *event = pmr_event_alloc(&opening->attr, opening->cpu);
	int err;

	if (IS_ERR(event))
		return event;
	if (opening->task)
		event->task = get_task_struct(opening->task);
	err = pmr_attr_supported(&event->attr, &opening->rights);
	if (!err && event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		err = pmr_callchain_reserve(event->attr.sample_max_stack);
	if (!err && leader_of(opening))
		err = pmr_group_may_grow(leader_of(opening), event);
	if (err) {
		pmr_event_put(event);
		return ERR_PTR(err);
	}
	event->plan.hide_kernel = !opening->rights.kernel;
	return event;
}

/* The rules of groups that need both events; in perf's order. */
static int check_group(const struct pmr_event *event, const struct pmr_event *leader,
		       const struct pmr_context *context)
{
	if (!leader)
		return 0;
	if (leader->leader != leader || leader->plan.clock != event->plan.clock)
		return -EINVAL;
	if (leader->cpu != event->cpu || leader->context != context)
		return -EINVAL;
	if (event->attr.exclusive || event->attr.pinned)
		return -EINVAL;
	return 0;
}

/*
 * A fork copies the inherited events of its task while it cannot be preempted, so their
 * number bounds the delay of other tasks. As with max_events, the right to exceed it is
 * looked for, and noted by the audit, only when it is needed.
 */
static unsigned int max_inherited(const struct opening *opening, const struct pmr_context *context)
{
	unsigned int max = pmr_inherited_max();

	if (!opening->attr.inherit || !opening->task)
		return UINT_MAX;
	return READ_ONCE(context->inherited) >= max && perfmon_capable() ? UINT_MAX : max;
}

/* Takes over the caller's reference to @context, whatever happens. */
static int install(struct pmr_event *event, const struct opening *opening,
		   struct pmr_context *context)
{
	struct pmr_event *leader = leader_of(opening);
	int err = check_group(event, leader, context);

	if (!err && opening->group && opening->flags & PERF_FLAG_FD_OUTPUT)
		err = pmr_set_output(event, opening->group);
	if (err) {
		pmr_context_put(context);
		return err;
	}
	return pmr_event_install(event, leader, context, max_inherited(opening, context));
}

/* A CPU may have come later than the module, with a PMU that does not work. */
static bool may_ever_count(const struct pmr_event *event)
{
	return event->cpu < 0 || event->hw.pmu->software || pmr_pmu_cpu_works(event->cpu);
}

static int install_for_task(struct pmr_event *event, const struct opening *opening)
{
	struct task_struct *task = opening->task;
	struct pmr_context *context;
	int err;

	if (!may_ever_count(event))
		return -ENOENT;
	err = down_read_interruptible(&task->signal->exec_update_lock);
	if (err)
		return err;
	/* The lock keeps an exec from changing the answer; its CPU may be offline. */
	err = -EACCES;
	if (!pmr_may_see_task(&opening->rights, task))
		goto unlock;
	do {
		context = pmr_task_context_get(task);
		err = PTR_ERR_OR_ZERO(context) ?: install(event, opening, context);
	} while (err == -EAGAIN);
	if (!err)
		pmr_task_context_load(task);
unlock:
	up_read(&task->signal->exec_update_lock);
	return err;
}

static int install_on_cpu(struct pmr_event *event, const struct opening *opening)
{
	int err = -ENODEV;

	if (!opening->rights.cpu)
		return -EACCES;
	cpus_read_lock();	/* or it could go offline behind the check */
	if (cpu_online(event->cpu) && !may_ever_count(event))
		err = -ENOENT;
	else if (cpu_online(event->cpu))
		err = install(event, opening, per_cpu_ptr(&pmr_cpu_context, event->cpu));
	cpus_read_unlock();
	return err;
}

/* Return: an event that counts, or ERR_PTR. */
static struct pmr_event *open_event(const struct opening *opening)
{
	struct pmr_event *event;
	int err = check_target(opening);

	if (err)
		return ERR_PTR(err);
	event = make_event(opening);
	if (IS_ERR(event))
		return event;
	err = pmr_hooks_get(event);
	if (err)
		goto put_event;
	pmr_sideband_account(event, 1);
	err = opening->task ? install_for_task(event, opening) : install_on_cpu(event, opening);
	if (!err)
		return event;

	pmr_sideband_account(event, -1);
	pmr_hooks_put(event);
put_event:
	pmr_output_detach(event);
	pmr_event_put(event);
	return ERR_PTR(err);
}

static int publish(struct pmr_event *event, int fd)
{
	struct file *file = pmr_event_file(event);

	if (IS_ERR(file)) {
		pmr_event_file_close(event);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

static int open_with_group(struct opening *opening, const struct pmuring_open *open, int fd)
{
	struct pmr_event *event;

	if (open->pid != -1) {
		opening->task = find_task(open->pid);
		if (IS_ERR(opening->task))
			return PTR_ERR(opening->task);
	}
	event = open_event(opening);
	if (opening->task)
		put_task_struct(opening->task);
	if (IS_ERR(event))
		return PTR_ERR(event);
	memcpy(event->accounts, opening->accounts, sizeof(event->accounts));
	memset(opening->accounts, 0, sizeof(opening->accounts));
	return publish(event, fd);
}

static int open_for(struct opening *opening, const struct pmuring_open *open, int fd)
{
	struct file *group = NULL;
	int err;

	opening->cpu = open->cpu;
	opening->flags = open->flags;
	if (open->group_fd != -1) {
		group = pmr_event_fget(open->group_fd);
		if (!group)
			return -EBADF;
		opening->group = group->private_data;
		if (READ_ONCE(opening->group->state) <= PMR_STATE_EXIT) {
			fput(group);
			return -ENODEV;
		}
	}
	err = open_with_group(opening, open, fd);
	if (group)
		fput(group);
	return err;
}

/* Not built; pid is a descriptor of a cgroup's directory. */
static int refuse_cgroup(const struct pmuring_open *open)
{
	struct cgroup *cgroup;

	if (open->pid == -1 || open->cpu == -1)
		return -EINVAL;
	cgroup = cgroup_get_from_fd(open->pid);
	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup);
	cgroup_put(cgroup);
	return -EOPNOTSUPP;
}

/**
 * pmr_open() - PMURING_IOC_OPEN
 * @open: its argument
 *
 * Return: a file descriptor or the errno of perf_event_open(2).
 */
int pmr_open(const struct pmuring_open *open)
{
	struct opening opening = {};
	int err, fd;

	might_sleep();
	if (open->flags & ~(u64)KNOWN_FLAGS || open->reserved)
		return -EINVAL;
	pmr_rights_decide(&opening.rights);
	err = pmr_attr_copy(u64_to_user_ptr(open->attr_ptr), &opening.attr, &opening.rights);
	if (err)
		return err;
	err = pmr_attr_check_rights(&opening.attr, &opening.rights);
	if (err)
		return err;
	if (open->flags & PERF_FLAG_PID_CGROUP)
		return refuse_cgroup(open);

	fd = get_unused_fd_flags(O_RDWR | (open->flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0));
	if (fd < 0)
		return fd;
	err = pmr_account_charge_event(opening.accounts);
	if (!err)
		err = open_for(&opening, open, fd);
	if (err < 0) {
		pmr_account_uncharge_event(opening.accounts);
		put_unused_fd(fd);
	}
	return err;
}
