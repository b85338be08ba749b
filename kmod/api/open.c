// SPDX-License-Identifier: GPL-2.0
/*
 * Owns PMURING_IOC_OPEN: what perf_event_open(2) does, in its order, since
 * which error wins is part of the ABI (see attr.c). Task context, may sleep;
 * holds the target's exec_update_lock while its rights are looked at.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/context.h"
#include "hooks/hooks.h"

#define KNOWN_FLAGS (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
		     PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)

static int check_group(int group_fd)
{
	struct file *file;
	int err;

	if (group_fd == -1)
		return 0;
	file = fget(group_fd);
	if (!file)
		return -EBADF;
	err = pmr_is_event_file(file) ? -EOPNOTSUPP : -EBADF;
	fput(file);
	return err;
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

static struct pmr_event *make_event(const struct perf_event_attr *attr, int cpu)
{
	struct pmr_event *event = pmr_event_alloc(attr, cpu);
	int err;

	if (IS_ERR(event))
		return event;
	err = pmr_attr_supported(attr);
	if (err) {
		pmr_event_free(event);
		return ERR_PTR(err);
	}
	event->plan.hide_kernel = !pmr_may_see_kernel();
	return event;
}

/* A task event: rights, then hooks, then context. */
static int install_task_event(struct pmr_event *event, struct task_struct *task)
{
	struct pmr_context *context;
	int err;

	err = pmr_sched_hooks_get();
	if (err)
		return err;
	context = pmr_task_context_get(task);
	if (IS_ERR(context)) {
		err = PTR_ERR(context);
		goto put_hooks;
	}
	err = pmr_event_install(event, context);
	if (err)
		goto put_context;
	pmr_task_context_load(context);
	return 0;

put_context:
	pmr_task_context_put(context);
put_hooks:
	pmr_sched_hooks_put();
	return err;
}

static int install_for_task(struct pmr_event *event, struct task_struct *task)
{
	int err = down_read_interruptible(&task->signal->exec_update_lock);

	if (err)
		return err;
	/* Its CPU may be offline: the event waits for it. */
	err = pmr_may_see_task(task) ? install_task_event(event, task) : -EACCES;
	up_read(&task->signal->exec_update_lock);
	return err;
}

static int install_on_cpu(struct pmr_event *event)
{
	int err = -ENODEV;

	if (!pmr_may_see_cpu())
		return -EACCES;
	cpus_read_lock();	/* or it could go offline behind the check */
	if (cpu_online(event->cpu))
		err = pmr_event_install(event, per_cpu_ptr(&pmr_cpu_context, event->cpu));
	cpus_read_unlock();
	return err;
}

/* Return: an event that counts, or ERR_PTR. */
static struct pmr_event *open_event(const struct perf_event_attr *attr,
				    const struct pmuring_open *open, struct task_struct *task)
{
	struct pmr_event *event;
	int err;

	if (!valid_cpu(open->cpu, task) || (attr->sigtrap && !task))
		return ERR_PTR(-EINVAL);
	event = make_event(attr, open->cpu);
	if (IS_ERR(event))
		return event;
	err = task ? install_for_task(event, task) : install_on_cpu(event);
	if (err) {
		pmr_event_free(event);
		return ERR_PTR(err);
	}
	return event;
}

static int publish(struct pmr_event *event, int fd)
{
	struct file *file = pmr_event_file(event);

	if (IS_ERR(file)) {
		pmr_event_close(event);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

static int open_for(const struct perf_event_attr *attr, const struct pmuring_open *open, int fd)
{
	struct task_struct *task = NULL;
	struct pmr_event *event;
	int err = check_group(open->group_fd);

	if (err)
		return err;
	if (open->pid != -1) {
		task = find_task(open->pid);
		if (IS_ERR(task))
			return PTR_ERR(task);
	}
	event = open_event(attr, open, task);
	if (task)
		put_task_struct(task);
	return IS_ERR(event) ? PTR_ERR(event) : publish(event, fd);
}

/**
 * pmr_open() - PMURING_IOC_OPEN
 * @open: its argument
 *
 * Return: a file descriptor or the errno of perf_event_open(2).
 */
int pmr_open(const struct pmuring_open *open)
{
	bool cgroup = open->flags & PERF_FLAG_PID_CGROUP;
	struct perf_event_attr attr;
	int err, fd;

	if (open->flags & ~(u64)KNOWN_FLAGS || open->reserved)
		return -EINVAL;
	err = pmr_attr_copy(u64_to_user_ptr(open->attr_ptr), &attr);
	if (err)
		return err;
	err = pmr_attr_check_rights(&attr);
	if (err)
		return err;
	if (cgroup)
		return open->pid == -1 || open->cpu == -1 ? -EINVAL : -EOPNOTSUPP;

	fd = get_unused_fd_flags(O_RDWR | (open->flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0));
	if (fd < 0)
		return fd;
	err = open_for(&attr, open, fd);
	if (err < 0)
		put_unused_fd(fd);
	return err;
}
