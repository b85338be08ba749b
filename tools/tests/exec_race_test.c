// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks exec, fork and exit while other threads open, grow, read, switch and close
 * their groups: software events, and hardware events if there is a PMU. The test
 * checks that each read is plausible, that no child is missed, that the kernel log is
 * clean, and that no event is left.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "storm.h"
#include "tap.h"
#include "workload.h"

#define THREADS		3
/* where a virtual second is long, so many steps are enough */
#define ENOUGH		60000
#define TARGETS		3
#define MEMBERS		6
#define WORDS_MAX	(3 + 2 * 64)
#define NOBODY		65534
#define TIMES		(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static const char secret[] = "/tmp/exec_race_test-program";

static atomic_ulong reads, lies;
static bool hardware_too;
static pid_t targets[TARGETS];

static int fd_of(unsigned int target, unsigned int member)
{
	return storm_fd(target * MEMBERS + member);
}

static int any_fd(uint64_t *seed)
{
	return fd_of(next(seed) % TARGETS, next(seed) % MEMBERS);
}

static struct perf_event_attr any_attr(uint64_t *seed)
{
	static const uint32_t kinds[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY,
	};
	struct perf_event_attr attr;

	if (hardware_too && next(seed) % 2)
		attr = raw(next(seed) % 2 ? 0xc0 : 0xc4);
	else
		attr = software(kinds[next(seed) % ARRAY_SIZE(kinds)]);
	attr.disabled = next(seed) % 2;
	attr.remove_on_exec = next(seed) % 2;
	attr.enable_on_exec = !attr.remove_on_exec && next(seed) % 2;
	attr.inherit_stat = next(seed) % 4 == 0;
	attr.comm = next(seed) % 4 == 0;
	attr.mmap = next(seed) % 4 == 0;
	attr.read_format = TIMES | PERF_FORMAT_GROUP | (next(seed) % 2 ? PERF_FORMAT_ID : 0);
	return attr;
}

/* A leader, or a sibling of whatever leads there now. */
static void open_one(uint64_t *seed)
{
	struct perf_event_attr attr = any_attr(seed);
	unsigned int target = next(seed) % TARGETS, member = next(seed) % MEMBERS;
	int fd;

	/* all but the first: copies, of groups, with a ring each on one CPU */
	attr.inherit = target > 0;
	attr.pinned = !member && next(seed) % 4 == 0;
	fd = door_open_event(&attr, targets[target], target > 1 ? 0 : -1,
			     member ? fd_of(target, 0) : -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	storm_put(fd, fd_of(target, member));
}

static void command_one(uint64_t *seed)
{
	static const unsigned long requests[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_ENABLE,
		PERF_EVENT_IOC_RESET,
	};

	ioctl(any_fd(seed), requests[next(seed) % 4], next(seed) % 2 ? PERF_IOC_FLAG_GROUP : 0);
}

/* number, enabled, running */
static void read_one(uint64_t *seed)
{
	uint64_t words[WORDS_MAX];
	ssize_t got = read(any_fd(seed), words, sizeof(words));

	if (got <= 0)
		return;
	reads++;
	if (!words[0] || words[2] > words[1] ||
	    (got != (ssize_t)(3 + words[0]) * 8 && got != (ssize_t)(3 + 2 * words[0]) * 8))
		lies++;
}

static void map_one(uint64_t *seed)
{
	struct ring ring;

	if (ring_map(&ring, fd_of(2, next(seed) % MEMBERS), 1))
		return;
	sched_yield();
	ring_unmap(&ring);
}

static void close_one(uint64_t *seed)
{
	close(any_fd(seed));
}

static struct storm storm = {
	.step = { open_one, open_one, open_one, close_one, read_one, read_one, command_one,
		  map_one },
	.threads = THREADS,
	.slots = TARGETS * MEMBERS,
	.enough = ENOUGH,
};

/* Execs itself in a loop; its children exec that program or an unreadable one. */
static void run_target(void)
{
	uint64_t seed = getpid() + now_ns() % 1000;
	cpu_set_t set;
	pid_t child;

	for (int i = 0; i < 8; i++) {
		CPU_ZERO(&set);
		CPU_SET(next(&seed) % cpu_possible(), &set);
		sched_setaffinity(0, sizeof(set), &set);
		work(1 + next(&seed) % 5000);
		child = fork();
		if (!child && next(&seed) % 2 && !setgid(NOBODY) && !setuid(NOBODY))
			execl(secret, "exec_race_test", "--end", NULL);
		if (!child)
			execl("/proc/self/exe", "exec_race_test", "--end", NULL);
		if (next(&seed) % 2)
			waitpid(child, NULL, 0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	execl("/proc/self/exe", "exec_race_test", "--target", NULL);
	_exit(1);
}

static void start_targets(void)
{
	for (int i = 0; i < TARGETS; i++) {
		targets[i] = fork();
		if (!targets[i])
			run_target();
	}
}

static void end_targets(void)
{
	for (int i = 0; i < TARGETS; i++) {
		kill(targets[i], SIGKILL);
		waitpid(targets[i], NULL, 0);
	}
}

static void play(unsigned int seconds)
{
	start_targets();
	storm_start(&storm);
	storm_wait(&storm, seconds);
	/* the tasks of the groups exit before the openers close them */
	end_targets();
	storm_stop(&storm);
	storm_close(&storm);
	ok(storm.steps > 20 * seconds && reads > seconds,
	   "%lu steps, %lu reads", storm.steps, reads);
	is(lies, 0, "each read is plausible");
}

static bool make_secret(void)
{
	char command[128];

	snprintf(command, sizeof(command), "cp -f /proc/%d/exe %s", getpid(), secret);
	return !system(command) && !chmod(secret, 0711);
}

int main(int argc, char **argv)
{
	unsigned int seconds = storm_seconds(4);
	struct pmuring_info info;
	uint64_t missed;
	int log;

	if (argc > 1 && !strcmp(argv[1], "--end"))
		return 0;
	if (argc > 1)
		run_target();
	log = kernel_log_open();
	hardware_too = pmu_is_there();
	if (!make_secret())
		bail_out("no program");
	plan(2 + 3);
	missed = module_info().not_inherited;
	play(seconds);
	unlink(secret);
	/* events of dead tasks are freed after a grace period */
	for (int i = 0; i < 50; i++) {
		info = module_info();
		if (!info.events)
			break;
		sleep_ms(100);
	}
	is(info.not_inherited, missed, "no child event is missed");
	is(info.events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
