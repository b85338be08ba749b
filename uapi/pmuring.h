/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The requests of /dev/pmuring, see pmuring(4). An event that is opened by one of
 * them has perf's own ABI: attributes, event ioctls, read formats, the mmap page
 * and all record layouts are those of <linux/perf_event.h>.
 */
#ifndef _UAPI_PMURING_H
#define _UAPI_PMURING_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** PMURING_ABI_VERSION - grows when a request changes its meaning */
#define PMURING_ABI_VERSION	1

/** PMURING_DEVICE - the device node that the module creates */
#define PMURING_DEVICE		"/dev/pmuring"

/**
 * struct pmuring_open - the arguments of perf_event_open(2)
 * @attr_ptr: address of a struct perf_event_attr; its @size field is read and,
 *	on E2BIG, written as by perf_event_open(2)
 * @pid: 0 for the caller, > 0 for that task in the caller's pid namespace,
 *	-1 for all tasks of @cpu
 * @cpu: CPU number, or -1 for every CPU that the task runs on
 * @group_fd: -1, or an event of pmuring: the leader of the group that the new
 *	one joins (flags permitting)
 * @reserved: 0, else EINVAL
 * @flags: PERF_FLAG_FD_CLOEXEC, PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT or
 *	0; all 64 bits are checked
 *
 * The request returns a file descriptor, or -1 with the errno that
 * perf_event_open(2) would set.
 */
struct pmuring_open {
	__u64 attr_ptr;
	__s32 pid;
	__s32 cpu;
	__s32 group_fd;
	__u32 reserved;
	__u64 flags;
};

/**
 * enum pmuring_vendor - vendor of the PMU
 * @PMURING_VENDOR_NONE: no usable PMU: hardware events get ENOENT
 * @PMURING_VENDOR_INTEL: Intel architectural performance monitoring
 *	(SDM vol. 3B, chapter 20.2)
 * @PMURING_VENDOR_AMD: AMD core performance counters (APM vol. 2, 13.2)
 */
enum pmuring_vendor {
	PMURING_VENDOR_NONE = 0,
	PMURING_VENDOR_INTEL = 1,
	PMURING_VENDOR_AMD = 2,
};

/**
 * enum pmuring_holder - which side holds the counters
 * @PMURING_HOLDER_NOBODY: the next hardware event can take them
 * @PMURING_HOLDER_PMURING: at least one hardware event of pmuring is open
 * @PMURING_HOLDER_KERNEL: the kernel's perf, which includes the NMI watchdog:
 *	hardware events get EBUSY until it lets go
 *	(sysctl kernel.nmi_watchdog=0; end running perf sessions)
 *
 * The only way to find out is to try to take the counters, and perf would fail to
 * open an event at that moment. So only a caller that sees the machine, see struct
 * pmuring_info, gets a current answer; others may get one that is up to a second old.
 */
enum pmuring_holder {
	PMURING_HOLDER_NOBODY = 0,
	PMURING_HOLDER_PMURING = 1,
	PMURING_HOLDER_KERNEL = 2,
};

/**
 * struct pmuring_info - the PMU, the limits, and statistics
 *
 * @events, @task_hooks, @nmis and all fields after them cover the events of all users. A
 * caller that may open events on a CPU (@paranoid below 1, or CAP_PERFMON) and is in the
 * initial pid namespace sees them; for others they are 0.
 *
 * @size: in: bytes that the caller has room for; out: bytes that the module knows. The
 *	module fills min(in, out) bytes and never more
 * @abi_version: PMURING_ABI_VERSION of the module
 * @vendor: enum pmuring_vendor
 * @pmu_version: Intel: CPUID.0AH:EAX[7:0]; 0 without a PMU
 * @gp_counters: general-purpose counters of one logical CPU that events can use
 * @gp_width: their width in bits
 * @fixed_counters: fixed counters of one logical CPU
 * @fixed_width: their width in bits
 * @fixed_mask: bit i is set if fixed counter i exists
 * @hardware_events: bit i is set if PERF_TYPE_HARDWARE config i can be opened
 * @max_period: longest period that a counter can hold; longer ones take several
 *	rounds
 * @full_width_write: 1 if the counters can be written in full width
 *	(IA32_PERF_CAPABILITIES[13])
 * @holder: enum pmuring_holder
 * @mlock_kb: ring memory that each user may pin per online CPU, in KiB, before
 *	RLIMIT_MEMLOCK is charged
 * @max_sample_rate: samples per second and event beyond which it is throttled
 * @max_stack: default of sample_max_stack
 * @paranoid: the module's counterpart of kernel.perf_event_paranoid
 * @events: events that are open now
 * @task_hooks: 1 while the context-switch hook is registered
 * @nmis: NMIs that pmuring claimed, all CPUs, since the module was loaded
 * @samples: samples written to a ring
 * @lost: records that found no room in a ring
 * @throttled: times that an event was throttled
 * @late_nmis: NMIs that found their counter already stopped
 * @not_inherited: events that a fork could not inherit, because no memory was
 *	available without waiting: those tasks are not counted
 * @recovered: overflows whose PMI was lost, or whose status something else
 *	acknowledged; they were served late
 * @repaired: times that a PMU register had changed and was restored
 * @storms: times that the PMU of a CPU was silenced because of a storm of NMIs
 * @failures: times that the PMU of a CPU did not keep what was written to it, so that
 *	its events went into error
 * @misplaced: entries in a CPU's table of counters that did not belong there; any other
 *	value than 0 is a bug of the module
 */
struct pmuring_info {
	__u32 size;
	__u32 abi_version;
	__u32 vendor;
	__u32 pmu_version;
	__u32 gp_counters;
	__u32 gp_width;
	__u32 fixed_counters;
	__u32 fixed_width;
	__u64 fixed_mask;
	__u64 hardware_events;
	__u64 max_period;
	__u32 full_width_write;
	__u32 holder;
	__u32 mlock_kb;
	__u32 max_sample_rate;
	__u32 max_stack;
	__s32 paranoid;
	__u32 events;
	__u32 task_hooks;
	__u64 nmis;
	__u64 samples;
	__u64 lost;
	__u64 throttled;
	__u64 late_nmis;
	__u64 not_inherited;
	__u64 recovered;
	__u64 repaired;
	__u64 storms;
	__u64 failures;
	__u64 misplaced;
};

#define PMURING_IOC_MAGIC	0xB5

/**
 * PMURING_IOC_OPEN - open an event, as perf_event_open(2)
 *
 * Takes a struct pmuring_open, returns a file descriptor.
 */
#define PMURING_IOC_OPEN	_IOW(PMURING_IOC_MAGIC, 1, struct pmuring_open)

/**
 * PMURING_IOC_INFO - describe the PMU, the limits, and statistics
 *
 * Takes a struct pmuring_info with @size set. The number is the same for
 * every size of the struct, so old clients work with new modules.
 */
#define PMURING_IOC_INFO	_IOC(_IOC_READ | _IOC_WRITE, PMURING_IOC_MAGIC, 2, 0)

/**
 * PMURING_IOC_TASK_ENABLE - enable all events that the calling task opened
 *
 * As prctl(PR_TASK_PERF_EVENTS_ENABLE), for the events of pmuring: those that
 * this task opened, whatever task or CPU they count and through whichever file
 * of the device. Takes no argument, returns 0.
 */
#define PMURING_IOC_TASK_ENABLE		_IO(PMURING_IOC_MAGIC, 3)

/**
 * PMURING_IOC_TASK_DISABLE - disable all events that the calling task opened
 *
 * As prctl(PR_TASK_PERF_EVENTS_DISABLE); see PMURING_IOC_TASK_ENABLE.
 */
#define PMURING_IOC_TASK_DISABLE	_IO(PMURING_IOC_MAGIC, 4)

#endif /* _UAPI_PMURING_H */
