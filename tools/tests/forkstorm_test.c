// SPDX-License-Identifier: GPL-2.0
/*
 * Process trees fork, exec and exit as fast as they can, while threads open, read,
 * command, map, share and close inherited events on them. Software events are
 * included, so the test also runs on truly parallel CPUs without a PMU. The test
 * checks that the kernel log is clean, that no event is left, and that no read fails.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "storm.h"
#include "tap.h"
#include "workload.h"

#define PAGE		4096UL
#define FAMILIES	3
#define THREADS		3
#define SLOTS		16

static atomic_ulong opened, wrong;
static bool has_pmu;

/**
 * struct family - seen by all its members
 * @pids: the first, and the latest of each generation below
 */
static struct family {
	atomic_int pids[4];
} *families;

static void leave(uint64_t *seed)
{
	if (next(seed) % 4 == 0)
		execl("/proc/self/exe", "forkstorm_test", "--leave", NULL);
	_exit(0);
}

static void *end_thread(void *data)
{
	work(1 + (uintptr_t)data);
	return NULL;
}

/* a child that has a child or a thread of its own, and waits for it or not */
static void live(struct family *family, uint64_t seed)
{
	pid_t pid = 0;

	for (int depth = 1; !pid; depth++) {
		family->pids[depth] = getpid();
		work(1 + next(&seed) % 2000);
		pid = depth < 3 && next(&seed) % 3 ? fork() : -1;
		seed += !pid;
	}
	if (pid < 0) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, end_thread, (void *)(next(&seed) % 2000)) &&
		    next(&seed) % 2)
			pthread_join(thread, NULL);
	} else if (next(&seed) % 2) {
		waitpid(pid, NULL, 0);
	}
	leave(&seed);
}

static pid_t found(struct family *family, uint64_t seed)
{
	pid_t pid = fork(), child;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* orphans are reparented to this process and end with it */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	family->pids[0] = getpid();
	for (;;) {
		child = fork();
		if (!child)
			live(family, seed);
		next(&seed);
		if (next(&seed) % 4)
			waitpid(child, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static struct perf_event_attr any_event(uint64_t *seed)
{
	static const uint64_t software[] = {
		PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_DUMMY,
	};
	struct perf_event_attr attr = hardware(next(seed) % 2);

	if (!has_pmu || next(seed) % 2) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = software[next(seed) % ARRAY_SIZE(software)];
		attr.exclude_kernel = 0;
	}
	attr.inherit = next(seed) % 4 != 0;
	attr.inherit_thread = attr.inherit && next(seed) % 4 == 0;
	attr.inherit_stat = next(seed) % 4 == 0;
	attr.disabled = next(seed) % 2;
	attr.enable_on_exec = next(seed) % 4 == 0;
	attr.remove_on_exec = !attr.enable_on_exec && next(seed) % 4 == 0;
	attr.read_format = next(seed) % 16;
	attr.sample_id_all = next(seed) % 2;
	attr.task = next(seed) % 2;
	attr.comm = next(seed) % 2;
	attr.context_switch = next(seed) % 4 == 0;
	if (next(seed) % 2) {
		attr.sample_period = attr.type == PERF_TYPE_SOFTWARE &&
				     attr.config >= PERF_COUNT_SW_PAGE_FAULTS ? 1 : 50000;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				   PERF_SAMPLE_ID | PERF_SAMPLE_READ;
	}
	return attr;
}

static int slot(uint64_t *seed)
{
	return storm_fd(next(seed) % SLOTS);
}

static void open_one(uint64_t *seed)
{
	struct perf_event_attr attr = any_event(seed);
	struct family *family = &families[next(seed) % FAMILIES];
	pid_t pid = next(seed) % 8 ? family->pids[next(seed) % 4] : 0;
	int group = next(seed) % 2 ? slot(seed) : -1;
	int cpu = next(seed) % 2 ? -1 : (int)(next(seed) % cpu_possible());
	int fd;

	fd = door_open_event(&attr, pid, cpu, group, next(seed) % 4 ? 8 : 8 | 2);
	if (fd < 0)
		return;
	opened++;
	storm_put(fd, slot(seed));
}

/* mapped, shared with others, and unmapped, whatever became of the descriptor */
static void map_one(uint64_t *seed)
{
	size_t pages = 1 + (1UL << next(seed) % 3);
	int fd = slot(seed);
	void *page;

	page = mmap(NULL, pages * PAGE, PROT_READ | (next(seed) % 4 ? PROT_WRITE : 0), MAP_SHARED,
		    fd, 0);
	if (page == MAP_FAILED)
		return;
	for (int i = 0; i < 4; i++)
		ioctl(slot(seed), PERF_EVENT_IOC_SET_OUTPUT, next(seed) % 4 ? fd : -1);
	if (next(seed) % 4 == 0)
		close(fd);
	work(1 + next(seed) % 3000);
	ioctl(slot(seed), PERF_EVENT_IOC_PAUSE_OUTPUT, next(seed) % 2);
	munmap(page, pages * PAGE);
}

static void command_one(uint64_t *seed)
{
	static const unsigned long requests[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET,
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_REFRESH,
	};

	ioctl(slot(seed), requests[next(seed) % ARRAY_SIZE(requests)], next(seed) % 2);
	if (next(seed) % 16 == 0)
		ioctl(door_fd(), next(seed) % 2 ? PMURING_IOC_TASK_ENABLE :
						  PMURING_IOC_TASK_DISABLE);
}

static void read_one(uint64_t *seed)
{
	uint64_t words[64];

	/* ECHILD: the group has grown since; 0: pinned, and there was no counter */
	if (read(slot(seed), words, sizeof(words)) < 0 && errno != EBADF && errno != ECHILD &&
	    errno != ENOSPC)
		wrong++;
}

static void close_one(uint64_t *seed)
{
	close(slot(seed));
}

static void play(unsigned int seconds)
{
	static struct storm storm = {
		.step = { open_one, open_one, close_one, map_one, read_one, read_one,
			  command_one, command_one },
		.threads = THREADS,
		.slots = SLOTS,
	};
	pid_t pids[FAMILIES];
	int alive[2];
	char byte;

	/* all members hold the pipe; it breaks when the last one exits */
	if (pipe(alive))
		bail_out("no pipe");
	for (int i = 0; i < FAMILIES; i++)
		pids[i] = found(&families[i], i + 1);
	storm_start(&storm);
	storm_wait(&storm, seconds);
	storm_stop(&storm);
	for (int i = 0; i < FAMILIES; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	storm_close(&storm);
	close(alive[1]);
	is(read(alive[0], &byte, 1), 0, "all process trees have exited");
	ok(opened > 4 * seconds, "%lu steps, %lu events opened", storm.steps, opened);
}

int main(int argc, char **argv)
{
	unsigned int seconds = storm_seconds(5);
	int log;

	(void)argv;
	if (argc > 1)
		return 0;
	log = kernel_log_open();
	has_pmu = pmu_is_there();
	families = mmap(NULL, FAMILIES * sizeof(*families), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (families == MAP_FAILED)
		bail_out("no shared memory");
	plan(5);
	play(seconds);
	is(wrong, 0, "no read fails");
	for (int i = 0; i < 100 && module_info().events; i++)
		sleep_ms(20);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
