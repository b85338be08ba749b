// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes that PMURING_IOC_OPEN refuses, the errno, and which of two errors is
 * reported first. Clients choose their fallback by the errno.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"

#define USER(...)							\
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,	\
	  .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, __VA_ARGS__ }

/* the initializers above are overridden on purpose */
#pragma GCC diagnostic ignored "-Woverride-init"

/* pid and cpu of a case; 0 is the caller, and any CPU */
enum { PID_SELF, PID_ALL, PID_DEAD, PID_NEVER, PID_NEGATIVE };
enum { CPU_ANY, CPU_0, CPU_NONE, CPU_HUGE, CPU_NEGATIVE };

struct refusal {
	const char *what;
	struct perf_event_attr attr;
	int pid;
	int cpu;
	uint64_t flags;
	int want;
};

static const struct refusal refusals[] = {
	/* flags: before everything else */
	{ "flag bit 4", USER(), .flags = 1 << 4, .want = EINVAL },
	{ "flag bit 31", USER(), .flags = 1ULL << 31, .want = EINVAL },
	{ "flag bit 32", USER(), .flags = 1ULL << 32, .want = EINVAL },
	{ "flag bit 47", USER(), .flags = 1ULL << 47, .want = EINVAL },
	{ "flag bit 63", USER(), .flags = 1ULL << 63, .want = EINVAL },
	{ "flag bit 63 before a dead pid", USER(), PID_DEAD, .flags = 1ULL << 63,
	  .want = EINVAL },

	/* reserved bits and fields */
	{ "__reserved_2", USER(.__reserved_2 = 1), .want = EINVAL },
	{ "__reserved_2 before a dead pid", USER(.__reserved_2 = 1), PID_DEAD, .want = EINVAL },

	/* unknown bits */
	{ "sample_type bit 25", USER(.sample_type = 1ULL << 25), .want = EINVAL },
	{ "sample_type bit 31", USER(.sample_type = 1ULL << 31), .want = EINVAL },
	{ "sample_type bit 63", USER(.sample_type = 1ULL << 63), .want = EINVAL },
	{ "sample_type bit 25 before a dead pid", USER(.sample_type = 1ULL << 25), PID_DEAD,
	  .want = EINVAL },
	{ "read_format bit 5", USER(.read_format = 1 << 5), .want = EINVAL },
	{ "read_format bit 63", USER(.read_format = 1ULL << 63), .want = EINVAL },
	{ "read_format bit 5 before an unknown type", USER(.read_format = 1 << 5, .type = 999),
	  .want = EINVAL },

	/* branch stacks */
	{ "branch_sample_type of privilege bits only",
	  USER(.sample_type = PERF_SAMPLE_BRANCH_STACK,
	       .branch_sample_type = PERF_SAMPLE_BRANCH_USER), .want = EINVAL },
	{ "branch_sample_type 0", USER(.sample_type = PERF_SAMPLE_BRANCH_STACK), .want = EINVAL },
	{ "branch_sample_type bit 20",
	  USER(.sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = 1ULL << 20 | 1 << 3),
	  .want = EINVAL },
	{ "branch_sample_type bit 63",
	  USER(.sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = 1ULL << 63 | 1 << 3),
	  .want = EINVAL },

	/* registers: DS, ES, FS, GS are bits 12 to 15 */
	{ "REGS_USER mask 0", USER(.sample_type = PERF_SAMPLE_REGS_USER), .want = EINVAL },
	{ "REGS_USER with DS",
	  USER(.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1 << 12 | 1),
	  .want = EINVAL },
	{ "REGS_USER with GS",
	  USER(.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1 << 15 | 1),
	  .want = EINVAL },
	{ "REGS_USER bit 24",
	  USER(.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1 << 24), .want = EINVAL },
	{ "REGS_INTR mask 0", USER(.sample_type = PERF_SAMPLE_REGS_INTR), .want = EINVAL },
	{ "REGS_INTR with ES",
	  USER(.sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 1 << 13 | 1),
	  .want = EINVAL },

	/* user stacks */
	{ "STACK_USER size 65535",
	  USER(.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65535), .want = EINVAL },
	{ "STACK_USER size 65536",
	  USER(.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536), .want = EINVAL },
	{ "STACK_USER size 12",
	  USER(.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 12), .want = EINVAL },

	/* combinations */
	{ "WEIGHT with WEIGHT_STRUCT",
	  USER(.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT), .want = EINVAL },
	{ "inherit_thread without inherit", USER(.inherit_thread = 1), .want = EINVAL },
	{ "remove_on_exec with enable_on_exec", USER(.remove_on_exec = 1, .enable_on_exec = 1),
	  .want = EINVAL },
	{ "sigtrap without remove_on_exec", USER(.sigtrap = 1), .want = EINVAL },
	{ "sigtrap of a CPU", USER(.sigtrap = 1, .remove_on_exec = 1), PID_ALL, CPU_0,
	  .want = EINVAL },
	{ "use_clockid 99", USER(.use_clockid = 1, .clockid = 99), .want = EINVAL },
	{ "use_clockid REALTIME, which no NMI can read", USER(.use_clockid = 1, .clockid = 0),
	  .want = EINVAL },

	/* periods */
	{ "sample_period 0xc0000000000000bd", USER(.sample_period = 0xc0000000000000bdULL),
	  .want = EINVAL },
	{ "sample_period bit 63", USER(.sample_period = 1ULL << 63), .want = EINVAL },
	{ "sample_period bit 63 before a dead pid", USER(.sample_period = 1ULL << 63), PID_DEAD,
	  .want = EINVAL },
	{ "sample_freq of 4 GHz", USER(.freq = 1, .sample_freq = 4000000000ULL), .want = EINVAL },
	{ "sample_freq of 4 GHz before a dead pid", USER(.freq = 1, .sample_freq = 4000000000ULL),
	  PID_DEAD, .want = EINVAL },

	/* pid and cpu */
	{ "a dead pid", USER(), PID_DEAD, .want = ESRCH },
	{ "a pid that does not exist", USER(), PID_NEVER, .want = ESRCH },
	{ "pid -2", USER(), PID_NEGATIVE, CPU_0, .want = ESRCH },
	{ "a dead pid before an unknown type", USER(.type = 999), PID_DEAD, .want = ESRCH },
	{ "a dead pid before a CPU that does not exist", USER(), PID_DEAD, CPU_HUGE,
	  .want = ESRCH },
	{ "pid -1 and cpu -1", USER(), PID_ALL, CPU_ANY, .want = EINVAL },
	{ "a CPU beyond all", USER(), PID_ALL, CPU_HUGE, .want = EINVAL },
	{ "a CPU beyond all, for a task", USER(), PID_SELF, CPU_HUGE, .want = EINVAL },
	{ "cpu -2", USER(), PID_SELF, CPU_NEGATIVE, .want = EINVAL },
	{ "pid -1 and cpu -1 before an unknown type", USER(.type = 999), PID_ALL, CPU_ANY,
	  .want = EINVAL },
	{ "PID_CGROUP with cpu -1", USER(), PID_SELF, CPU_ANY, PERF_FLAG_PID_CGROUP, EINVAL },
	{ "PID_CGROUP with pid -1", USER(), PID_ALL, CPU_0, PERF_FLAG_PID_CGROUP, EINVAL },

	/* events that do not exist */
	{ "an unknown type", USER(.type = 999), .want = ENOENT },
	{ "type 0xffffffff", USER(.type = 0xffffffff), .want = ENOENT },
	{ "HARDWARE 10", USER(.config = 10), .want = EINVAL },
	{ "HARDWARE 1 << 31", USER(.config = 1ULL << 31), .want = EINVAL },
	{ "SOFTWARE 0xffffffffffffffff",
	  USER(.type = PERF_TYPE_SOFTWARE, .config = 0xffffffffffffffffULL), .want = ENOENT },
	{ "SOFTWARE 0x80000000", USER(.type = PERF_TYPE_SOFTWARE, .config = 0x80000000),
	  .want = ENOENT },
	{ "HW_CACHE of an unknown cache", USER(.type = PERF_TYPE_HW_CACHE, .config = 7),
	  .want = EINVAL },
	{ "HW_CACHE of an unknown operation", USER(.type = PERF_TYPE_HW_CACHE, .config = 0x300),
	  .want = EINVAL },
	{ "HW_CACHE of an unknown result", USER(.type = PERF_TYPE_HW_CACHE, .config = 0x20000),
	  .want = EINVAL },
	{ "precise_ip 1 on an event that does not sample", USER(.precise_ip = 1),
	  .want = EOPNOTSUPP },
};

static pid_t dead_pid;

static pid_t make_dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static int open_case(const struct refusal *c)
{
	const pid_t pids[] = { 0, -1, dead_pid, 0x3fffffff, -2 };
	const int cpus[] = { -1, 0, 0, 1 << 20, -2 };
	struct perf_event_attr attr = c->attr;

	attr.size = sizeof(attr);
	return door_open_event(&attr, pids[c->pid], cpus[c->cpu], -1, c->flags);
}

static void table(void)
{
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		fd = open_case(&refusals[i]);
		gives(fd, refusals[i].want, "%s: %s", refusals[i].what,
		      strerrorname_np(refusals[i].want));
		if (fd >= 0)
			close(fd);
	}
}

/* attr->size is the size of the structure; bytes beyond the known size must be 0 */

/* room for an attribute of any size, ended by a page that faults */
static struct perf_event_attr *attr_of_size(uint32_t size, uint32_t room)
{
	static unsigned char *page;
	struct perf_event_attr *attr;
	struct perf_event_attr user = USER();

	if (!page) {
		page = mmap(NULL, 2 * 4096 + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(page + 2 * 4096, 4096, PROT_NONE);
	}
	memset(page, 0, 2 * 4096);
	attr = (void *)(page + 2 * 4096 - room);
	user.size = size;
	memcpy(attr, &user, room < sizeof(user) ? room : sizeof(user));
	return attr;
}

static void opens_with_size(uint32_t size)
{
	struct perf_event_attr *attr = attr_of_size(size, size ? size : PERF_ATTR_SIZE_VER0);
	int fd = door_open_event(attr, 0, -1, -1, 0);

	gives(fd, 0, "size %u", size);
	if (fd >= 0)
		close(fd);
}

/* E2BIG returns the known size, so that the client can retry */
static void refuses_size(uint32_t size, uint32_t room)
{
	struct perf_event_attr *attr = attr_of_size(size, room);

	gives(door_open_event(attr, 0, -1, -1, 0), E2BIG, "size %u: E2BIG", size);
	between(attr->size, PERF_ATTR_SIZE_VER7, 256, "E2BIG writes back the known size");
}

static void tail_of_ones(uint32_t size, uint32_t offset)
{
	struct perf_event_attr *attr = attr_of_size(size, size);

	((unsigned char *)attr)[offset] = 1;
	gives(door_open_event(attr, 0, -1, -1, 0), E2BIG,
	      "size %u with byte %u set: E2BIG", size, offset);
	between(attr->size, PERF_ATTR_SIZE_VER7, 256, "E2BIG writes back the known size");
}

#define SIZE_CHECKS (9 + 2 * 4 + 2 * 3 + 3)

static void sizes(void)
{
	static const uint32_t good[] = { 0, 64, 72, 80, 96, 104, 112, 120, 4096 };
	struct perf_event_attr *attr;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		opens_with_size(good[i]);
	refuses_size(1, 64);
	refuses_size(63, 64);
	refuses_size(4097, 4096);
	refuses_size(0xffffffff, 4096);
	tail_of_ones(4096, 4095);
	tail_of_ones(4096, 200);
	tail_of_ones(256, 200);
	/* the tail is checked before the fields */
	attr = attr_of_size(4096, 4096);
	attr->sample_type = 1ULL << 63;
	((unsigned char *)attr)[4000] = 1;
	gives(door_open_event(attr, 0, -1, -1, 0), E2BIG, "a tail before sample_type: E2BIG");
	attr = attr_of_size(120, 64);
	gives(door_open_event(attr, 0, -1, -1, 0), EFAULT, "a page missing behind byte 64: EFAULT");
	attr = attr_of_size(4096, 128);
	gives(door_open_event(attr, 0, -1, -1, 0), EFAULT,
	      "a page missing in the zero tail: EFAULT");
}

static void addresses(void)
{
	struct perf_event_attr *bad = (void *)8;
	struct perf_event_attr *kernel = (void *)0xffffffff81000000ULL;

	gives(door_open_event(NULL, 0, -1, -1, 0), EFAULT, "attr NULL: EFAULT");
	gives(door_open_event(bad, 0, -1, -1, 0), EFAULT, "attr 8: EFAULT");
	gives(door_open_event(kernel, 0, -1, -1, 0), EFAULT, "attr in the kernel: EFAULT");
	gives(door_open_event(bad, 0, -1, -1, 1 << 4), EINVAL, "flags before the attr: EINVAL");
}

static void reserved_bit(void)
{
	struct perf_event_attr attr = USER(.size = sizeof(attr));

	attr.__reserved_1 = 1 << 25;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL, "__reserved_1: EINVAL");
	attr.sample_type = 1ULL << 63;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL, "__reserved_1 and sample_type: EINVAL");
}

static void group_fds(void)
{
	struct perf_event_attr attr = USER(.size = sizeof(attr));
	int file = open("/proc/self/stat", 0);

	gives(door_open_event(&attr, 0, -1, 4711, 0), EBADF, "group_fd that is not open: EBADF");
	gives(door_open_event(&attr, 0, -1, file, 0), EBADF, "group_fd of a file: EBADF");
	gives(door_open_event(&attr, 0, -1, -2, 0), EBADF, "group_fd -2: EBADF");
	gives(door_open_event(&attr, dead_pid, -1, file, 0), EBADF,
	      "group_fd before a dead pid: EBADF");
	close(file);
}

/* selector bits outside of the event are ignored: rr sets some */
static void masked_raw(void)
{
	static const uint64_t configs[] = {
		0x5101c4, 0x4000c4, 0x1000c4, 0x300c4, 0xf000000000000c4,
	};

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct perf_event_attr attr = raw(configs[i]);
		int fd = door_open_event(&attr, 0, -1, -1, 0);

		gives(fd, 0, "RAW %#llx opens", (unsigned long long)configs[i]);
		if (fd >= 0)
			close(fd);
	}
}

/* the last online CPU but not CPU 0, stopped while it is asked for */
static void offline_cpu(void)
{
	struct perf_event_attr attr = USER(.size = sizeof(attr));
	int cpu = cpu_possible() - 1;

	if (cpu < 1 || !cpu_set_online(cpu, false)) {
		skip(3, "no CPU can go offline");
		return;
	}
	gives(door_open_event(&attr, -1, cpu, -1, 0), ENODEV, "an offline CPU: ENODEV");
	gives(door_open_event(&attr, 0, cpu, -1, 0), 0, "a task on an offline CPU opens");
	attr.type = 999;
	gives(door_open_event(&attr, -1, cpu, -1, 0), ENOENT,
	      "an unknown type before an offline CPU: ENOENT");
	cpu_set_online(cpu, true);
}

static void close_on_exec(void)
{
	struct perf_event_attr attr = USER(.size = sizeof(attr));
	int with = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int without = door_open_event(&attr, 0, -1, -1, 0);

	is(fcntl(with, F_GETFD), FD_CLOEXEC, "FD_CLOEXEC is set when asked for");
	is(fcntl(without, F_GETFD), 0, "FD_CLOEXEC is clear when not asked for");
	close(with);
	close(without);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU: see nopmu_test.c");
	dead_pid = make_dead_pid();
	plan(ARRAY_SIZE(refusals) + SIZE_CHECKS + 4 + 2 + 4 + 5 + 3 + 2);
	table();
	sizes();
	addresses();
	reserved_bit();
	group_fds();
	masked_raw();
	offline_cpu();
	close_on_exec();
	return done();
}
