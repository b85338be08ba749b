// SPDX-License-Identifier: GPL-2.0
/*
 * Permissions of an unprivileged user with access to the device node: user mode of the
 * user's own tasks, within a memory budget, and nothing else.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define NOBODY		65534
#define PAGE		4096UL
#define ROUNDS		10000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define KERNEL_HALF	(1ULL << 63)

/* exit status of a child for "something else went wrong" */
#define BROKEN		254

#define MEMLOCK		(256UL << 20)

static void limit_locked(rlim_t bytes)
{
	struct rlimit limit = { bytes, MEMLOCK };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		_exit(BROKEN);
}

static void drop_privileges(void)
{
	/* while the hard limit can still be raised */
	limit_locked(MEMLOCK);
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ||
	    prctl(PR_SET_DUMPABLE, 1))
		_exit(BROKEN);
}

/* as_nobody - the errno of something that an unprivileged child does */
static int as_nobody(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		drop_privileges();
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

static int open_errno(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return door_open_event(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? errno : 0;
}

static int own_user_mode(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	return open_errno(&attr, 0, -1);
}

static int own_kernel_mode(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	attr.exclude_kernel = 0;
	return open_errno(&attr, 0, -1);
}

static int whole_cpu(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	return open_errno(&attr, -1, 0);
}

static int process_of_root(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	return open_errno(&attr, getppid(), -1);
}

static int sibling(bool dumpable)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int err, ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready))
		return BROKEN;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_DUMPABLE, dumpable);
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		return BROKEN;
	err = open_errno(&attr, pid, -1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

static int own_child(void)
{
	return sibling(true);
}

static int undumpable_child(void)
{
	return sibling(false);
}

static void who_may_what(void)
{
	is(as_nobody(own_user_mode), 0, "own task, user mode: allowed");
	is(as_nobody(own_child), 0, "own other task, user mode: allowed");
	is(as_nobody(own_kernel_mode), EACCES, "own task, kernel mode: EACCES");
	is(as_nobody(whole_cpu), EACCES, "a CPU: EACCES");
	is(as_nobody(process_of_root), EACCES, "a task of root: EACCES");
	is(as_nobody(undumpable_child), EACCES, "own task that may not be dumped: EACCES");
}

static int map_errno(size_t pages)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *map;

	if (fd < 0)
		return BROKEN;
	map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	munmap(map, pages * PAGE);
	return status_kb("VmPin") + status_kb("VmLck") ? BROKEN : 0;
}

static int small_ring(void)
{
	limit_locked(0);
	return map_errno(1 + 64);
}

static int huge_ring(void)
{
	limit_locked(0);
	return map_errno(1 + 16384);
}

static int huge_ring_with_limit(void)
{
	limit_locked(MEMLOCK);
	return map_errno(1 + 16384);
}

/* each ring fits, but not all of them: the budget is per user, not per event */
static int many_small_rings(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	limit_locked(0);
	for (int i = 0; i < 200; i++) {
		int fd = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			return BROKEN;
		if (mmap(NULL, 65 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
			return errno;
	}
	return 0;
}

static void memory(void)
{
	is(as_nobody(small_ring), 0, "a ring of 256 KiB without RLIMIT_MEMLOCK: allowed");
	is(as_nobody(huge_ring), EPERM, "a ring of 64 MiB: EPERM");
	is(as_nobody(huge_ring_with_limit), 0,
	   "a ring of 64 MiB with a matching RLIMIT_MEMLOCK: allowed");
	is(as_nobody(many_small_rings), EPERM, "200 rings of 256 KiB: EPERM at some point");
	/* the memory of dead processes is freed after a grace period */
	sleep_ms(100);
	is(as_nobody(small_ring), 0, "a ring fits again after that process exits");
}

/*
 * The period ends with the system call, so that the interrupt comes in the
 * kernel: an address there is nothing for this user.
 */
static int kernel_address(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, LENGTH, PERF_SAMPLE_IP);
	const struct perf_event_header *header;
	struct ring ring;
	int fd = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), n = 0;

	if (fd < 0 || ring_map(&ring, fd, 1))
		return BROKEN;
	work_counted(fd, ROUNDS);
	work_counted(fd, ROUNDS);
	while (ring_next(&ring, &header) > 0) {
		n++;
		if (((const struct record *)header)->field[0] & KERNEL_HALF)
			return 1;
	}
	return n == 2 ? 0 : BROKEN;
}

static void node(void)
{
	struct stat st;

	if (stat(PMURING_DEVICE, &st))
		bail_out("no " PMURING_DEVICE);
	ok(S_ISCHR(st.st_mode), PMURING_DEVICE " is a character device");
	ok(st.st_uid == 0 && !(st.st_mode & 0077), "by default only root can access the node");
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	if (module_info().paranoid < 2 && !module_set_parameter("paranoid", 2))
		return skip_all("the module was loaded with a paranoid level below 2");
	cpu_pin(0);
	plan(6 + 5 + 1 + 2);
	who_may_what();
	memory();
	if (machine_is_exact())
		is(as_nobody(kernel_address), 0, "a user mode sample has no kernel address");
	else
		skip(1, "where a period ends is known on the PMU QEMU only");
	node();
	return done();
}
