/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The API layer: what user space can ask for. Everything here runs in task
 * context, may sleep, and takes all it is given for hostile.
 */
#ifndef PMR_API_H
#define PMR_API_H

#include <linux/fs.h>
#include <linux/perf_event.h>
#include <uapi/pmuring.h>

#include "core/event.h"

/**
 * struct pmr_knobs - the module parameters
 * @paranoid: as kernel.perf_event_paranoid
 * @mlock_kb: as kernel.perf_event_mlock_kb
 * @max_stack: as kernel.perf_event_max_stack
 * @max_events: events that a user may have open; perf has no such limit
 * @max_inherited: events with attr.inherit that a task may have, beyond 16 for each CPU
 */
struct pmr_knobs {
	int paranoid;
	unsigned int mlock_kb;
	unsigned int max_stack;
	unsigned int max_events;
	unsigned int max_inherited;
};

extern struct pmr_knobs pmr_knobs;

unsigned int pmr_inherited_max(void);

/**
 * struct pmr_rights - what the caller may do, decided once per request
 * @open: open any event
 * @kernel: profile the kernel
 * @cpu: count what others run on a CPU
 * @perfmon: it has CAP_PERFMON
 * @max_stack: deepest call chain
 */
struct pmr_rights {
	bool open;
	bool kernel;
	bool cpu;
	bool perfmon;
	unsigned int max_stack;
};

void pmr_rights_decide(struct pmr_rights *rights);
bool pmr_may_see_task(const struct pmr_rights *rights, struct task_struct *task);

int pmr_attr_copy(struct perf_event_attr __user *user, struct perf_event_attr *attr,
		  const struct pmr_rights *rights);
int pmr_attr_check(struct perf_event_attr *attr, const struct pmr_rights *rights);
int pmr_attr_check_rights(const struct perf_event_attr *attr, const struct pmr_rights *rights);
int pmr_attr_supported(const struct perf_event_attr *attr, const struct pmr_rights *rights);

int pmr_open(const struct pmuring_open *open);

struct file *pmr_event_file(struct pmr_event *event);
struct file *pmr_event_fget(int fd);
void pmr_event_file_close(struct pmr_event *event);
ssize_t pmr_event_file_read(struct file *file, char __user *buffer, size_t count, loff_t *pos);
long pmr_event_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long pmr_event_file_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int pmr_event_mmap(struct file *file, struct vm_area_struct *vma);
int pmr_set_output(struct pmr_event *event, struct pmr_event *target);

struct pmr_mlock *pmr_mlock_charge(unsigned long pages);
void pmr_mlock_uncharge(struct pmr_mlock *charge);

int pmr_device_init(void);
void pmr_device_exit(void);

#endif /* PMR_API_H */
