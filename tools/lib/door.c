// SPDX-License-Identifier: GPL-2.0
/*
 * Access to the module: opens the node once per process, opens events, calls INFO, and
 * explains the errno of either. Any
 * thread may call; the node's fd lives as long as the process.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"

static pthread_mutex_t door_lock = PTHREAD_MUTEX_INITIALIZER;
static int door = -1;

/**
 * door_fd - the process's file descriptor of the device node
 *
 * Opened on first use. A test that unloads the module closes it by close();
 * the next call then opens it again.
 *
 * Return: the descriptor, or -1 with errno
 */
int door_fd(void)
{
	int fd;

	pthread_mutex_lock(&door_lock);
	if (door < 0 || fcntl(door, F_GETFD) < 0)
		door = open(PMURING_DEVICE, O_RDWR | O_CLOEXEC);
	fd = door;
	pthread_mutex_unlock(&door_lock);
	return fd;
}

/**
 * door_open_event - perf_event_open(2) through the module
 * @attr: what to count or sample; on E2BIG its size field is rewritten, as by
 *	perf_event_open(2)
 * @pid: 0 for the caller, > 0 for that task, -1 for all tasks of @cpu
 * @cpu: CPU, or -1 for wherever the task runs
 * @group_fd: group leader, or -1
 * @flags: PERF_FLAG_*
 *
 * Return: the event's file descriptor, or -1 with errno
 */
int door_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu,
		    int group_fd, uint64_t flags)
{
	struct pmuring_open args = {
		.attr_ptr = (uintptr_t)attr,
		.pid = pid,
		.cpu = cpu,
		.group_fd = group_fd,
		.flags = flags,
	};
	int fd = door_fd();

	return fd < 0 ? -1 : ioctl(fd, PMURING_IOC_OPEN, &args);
}

/**
 * door_info - PMU and state of the module
 * @info: filled in; fields that an older module does not know are 0
 *
 * Return: 0, or -1 with errno
 */
int door_info(struct pmuring_info *info)
{
	int fd = door_fd();

	if (fd < 0)
		return -1;
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return ioctl(fd, PMURING_IOC_INFO, info) < 0 ? -1 : 0;
}

/**
 * door_explain_node - why the node did not open, and what to do
 * @err: the errno of door_fd()
 *
 * Return: a sentence for the user
 */
const char *door_explain_node(int err)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return "the module is not loaded: insmod build/$(uname -r)/pmuring.ko as root";
	case EACCES:
	case EPERM:
		return "only root may open " PMURING_DEVICE
		       ": run as root, or give the node to a group (chgrp, chmod g+rw)";
	case EMFILE:
	case ENFILE:
		return "too many open files: raise ulimit -n";
	default:
		return strerror(err);
	}
}

static const char *explain_enoent(const struct perf_event_attr *attr)
{
	struct pmuring_info info;

	if (attr->type != PERF_TYPE_HARDWARE && attr->type != PERF_TYPE_RAW &&
	    attr->type != PERF_TYPE_SOFTWARE)
		return "only hardware, raw and software events are implemented: use the kernel's perf for others";
	if (attr->type == PERF_TYPE_SOFTWARE)
		return "the module does not implement this software event: use the kernel's perf";
	if (!door_info(&info) && info.vendor == PMURING_VENDOR_NONE)
		return "this machine shows no PMU that pmuring can drive (in a virtual machine: let the hypervisor pass it through, e.g. -cpu host,pmu=on)";
	return "this CPU does not have the event: choose another one; 'pmuring doctor' lists them";
}

static const char *explain_ebusy(void)
{
	struct pmuring_info info;

	if (!door_info(&info) && info.holder == PMURING_HOLDER_KERNEL)
		return "the kernel's perf or the NMI watchdog holds the PMU: sysctl kernel.nmi_watchdog=0, and end running perf sessions";
	return "something else holds the counters: stop it, or use fewer events";
}

static const char *explain_eacces(const struct perf_event_attr *attr, pid_t pid)
{
	struct pmuring_info info;
	int paranoid = door_info(&info) ? 2 : info.paranoid;

	if (paranoid > 2)
		return "the module's parameter paranoid is above 2, so events need CAP_SYS_ADMIN: run as root, or lower it";
	if (pid == -1)
		return "watching whole CPUs needs CAP_PERFMON, or the module's parameter paranoid at 0: run as root, or watch one command";
	if (!attr->exclude_kernel && paranoid > 1)
		return "watching the kernel needs CAP_PERFMON, or the module's parameter paranoid at 1: run as root, or add :u to the event";
	return "this process belongs to another user, has capabilities that the caller lacks, or runs a set-user-ID or unreadable program: run as root";
}

/* the kernel's limit on files, or one of the module's on events */
static const char *explain_emfile(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == EMFILE)
		return "too many open files: raise ulimit -n, or watch fewer CPUs, threads or events";
	if (fd >= 0)
		close(fd);
	return "too many events: the module's parameter max_events limits those of each user without CAP_PERFMON, max_inherited those that the children of a task inherit, and a task or CPU may have 2048, plus 32 for each CPU of the machine: watch fewer threads or events, end other sessions of this user, or raise the parameter";
}

/* the module writes its known size into an attr of an unknown size */
static const char *explain_e2big(const struct perf_event_attr *attr)
{
	if (attr->size != sizeof(*attr))
		return "the module is older than this program: build both from one tree";
	return "the group has more events than read() can return: make it smaller";
}

static const char *explain_einval(const struct perf_event_attr *attr, int cpu)
{
	if (cpu >= 0 && cpu >= sysconf(_SC_NPROCESSORS_CONF))
		return "there is no such CPU: see /sys/devices/system/cpu/present";
	if (attr->precise_ip)
		return "precise sampling (:p) is not implemented: drop the p";
	if (attr->freq)
		return "the module refuses these attributes: the frequency may be above its parameter max_sample_rate";
	return "the module refuses these attributes; 'dmesg | tail' may say more";
}

/**
 * door_explain_event - why an event did not open, and what to do
 * @err: the errno of door_open_event()
 * @attr: as it was given
 * @pid: as it was given
 * @cpu: as it was given
 *
 * Return: a sentence for the user
 */
const char *door_explain_event(int err, const struct perf_event_attr *attr,
			       pid_t pid, int cpu)
{
	switch (err) {
	case ENOENT:
		return explain_enoent(attr);
	case EBUSY:
		return explain_ebusy();
	case EACCES:
	case EPERM:
		return explain_eacces(attr, pid);
	case EINVAL:
	case EOPNOTSUPP:
		return explain_einval(attr, cpu);
	case E2BIG:
		return explain_e2big(attr);
	case ESRCH:
		return "the process has exited";
	case ENODEV:
		return cpu >= 0 ? "this CPU is offline or does not exist: see /sys/devices/system/cpu/online" :
				  strerror(err);
	case EMFILE:
		return explain_emfile();
	case ENFILE:
		return "too many open files on this machine: raise sysctl fs.file-max";
	default:
		return strerror(err);
	}
}
