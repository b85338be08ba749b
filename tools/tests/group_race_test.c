// SPDX-License-Identifier: GPL-2.0
/*
 * Group races: threads on two CPUs open, close, switch, reset and read the members of
 * a few groups on a task that migrates, forks and execs, while one of the CPUs goes
 * offline and online. Software events, and hardware events if there is a PMU. The
 * test checks that each read is plausible, that the kernel log is clean, and that no
 * event is left.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
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
#define GROUPS		6
#define MEMBERS		5
#define TIMES		(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static atomic_ulong reads, lies;
static bool hardware_too;
static pid_t target;

static int fd_of(unsigned int group, unsigned int member)
{
	return storm_fd(group * MEMBERS + member);
}

static struct perf_event_attr any_attr(uint64_t *seed)
{
	static const uint32_t kinds[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY,
	};
	struct perf_event_attr attr;

	if (hardware_too && next(seed) % 2)
		attr = raw(next(seed) % 2 ? 0xc0 : 0xc4);
	else
		attr = software(kinds[next(seed) % ARRAY_SIZE(kinds)]);
	attr.disabled = next(seed) % 2;
	attr.read_format = TIMES | PERF_FORMAT_GROUP | (next(seed) % 2 ? PERF_FORMAT_ID : 0);
	return attr;
}

/* A leader, or a sibling of whatever leads there now. */
static void open_one(uint64_t *seed)
{
	struct perf_event_attr attr = any_attr(seed);
	unsigned int group = next(seed) % GROUPS, member = next(seed) % MEMBERS;
	pid_t pid = group % 3 ? target : -1;
	int fd;

	if (!member) {
		attr.pinned = next(seed) % 4 == 0;
		attr.exclusive = next(seed) % 8 == 0;
	}
	attr.inherit = group % 3 == 1;
	fd = door_open_event(&attr, pid, group % 3 ? -1 : (int)(group / 3 % cpu_possible()),
			     member ? fd_of(group, 0) : -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	storm_put(fd, fd_of(group, member));
}

static int any_fd(uint64_t *seed)
{
	return fd_of(next(seed) % GROUPS, next(seed) % MEMBERS);
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
	uint64_t words[3 + 2 * 32];
	ssize_t got = read(any_fd(seed), words, sizeof(words));

	if (got <= 0)
		return;
	reads++;
	if (!words[0] || words[0] > 32 || words[2] > words[1] ||
	    (got != (ssize_t)(3 + words[0]) * 8 && got != (ssize_t)(3 + 2 * words[0]) * 8))
		lies++;
}

static void close_one(uint64_t *seed)
{
	close(any_fd(seed));
}

static struct storm storm = {
	.step = { open_one, open_one, close_one, read_one, read_one, command_one, command_one,
		  command_one },
	.threads = THREADS,
	.slots = GROUPS * MEMBERS,
	.enough = ENOUGH,
};

/* Migrates, forks, and execs itself again. */
static void run_target(void)
{
	uint64_t seed = getpid();
	cpu_set_t set;
	pid_t child;

	for (int i = 0; i < 300; i++) {
		CPU_ZERO(&set);
		CPU_SET(next(&seed) % cpu_possible(), &set);
		sched_setaffinity(0, sizeof(set), &set);
		work(1 + next(&seed) % 20000);
		if (next(&seed) % 8)
			continue;
		child = fork();
		if (!child) {
			work(1 + next(&seed) % 20000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	execl("/proc/self/exe", "group_race_test", "--target", NULL);
	_exit(1);
}

static void *cpu_comes_and_goes(void *unused)
{
	(void)unused;
	while (!storm.stop) {
		cpu_set_online(1, false);
		sleep_ms(30);
		cpu_set_online(1, true);
		sleep_ms(100);
	}
	return NULL;
}

static void play(unsigned int seconds, bool hotplug)
{
	pthread_t plug;

	target = fork();
	if (!target)
		run_target();
	reads = 0;
	storm_start(&storm);
	if (hotplug)
		pthread_create(&plug, NULL, cpu_comes_and_goes, NULL);
	storm_wait(&storm, seconds);
	/* the task of the groups exits before the openers close them */
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	storm_stop(&storm);
	if (hotplug)
		pthread_join(plug, NULL);
	storm_close(&storm);
	ok(storm.steps > 20 * seconds && reads > seconds, "%lu steps, %lu reads%s", storm.steps,
	   reads, hotplug ? ", while a CPU comes and goes" : "");
	is(lies, 0, "each read is plausible");
}

int main(int argc, char **argv)
{
	unsigned int seconds = storm_seconds(4);
	struct pmuring_info info;
	int log;

	(void)argv;
	if (argc > 1)
		run_target();
	log = kernel_log_open();
	hardware_too = pmu_is_there();
	plan(2 * 2 + 2);
	play(seconds, false);
	if (cpu_possible() > 1 && cpu_is_online(1))
		play(seconds, true);
	else
		skip(2, "one CPU");
	/* events of dead tasks are freed after a grace period */
	for (int i = 0; i < 50; i++) {
		info = module_info();
		if (!info.events)
			break;
		sleep_ms(100);
	}
	is(info.events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
