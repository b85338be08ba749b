// SPDX-License-Identifier: GPL-2.0
/*
 * Races: threads open, close, map, unmap, read, poll and command the same few events
 * in random order, while counted tasks die and readers are killed. The test checks
 * that the kernel log is clean and that no event is left.
 */
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "storm.h"
#include "tap.h"
#include "workload.h"

#define PAGE		4096UL
#define THREADS		4
#define SLOTS		12

static int slot(uint64_t *seed)
{
	return storm_fd(next(seed) % SLOTS);
}

static void open_one(uint64_t *seed)
{
	struct perf_event_attr attr = sampling(next(seed) % 2, 2000 + next(seed) % 50000,
					       PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					       PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD);
	bool of_cpu = next(seed) % 2;
	int fd;

	attr.disabled = next(seed) % 2;
	attr.exclude_kernel = next(seed) % 2;
	attr.wakeup_events = next(seed) % 8;
	attr.read_format = next(seed) % 4;
	fd = door_open_event(&attr, of_cpu ? -1 : 0,
			     of_cpu ? (int)(next(seed) % cpu_possible()) : -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	storm_put(fd, slot(seed));
}

/* map, read and unmap, even if another thread has closed the descriptor */
static void map_one(uint64_t *seed)
{
	size_t pages = 1 + (1UL << next(seed) % 4);
	struct perf_event_mmap_page *page;
	int fd = slot(seed);

	page = mmap(NULL, pages * PAGE, PROT_READ | (next(seed) % 4 ? PROT_WRITE : 0), MAP_SHARED,
		    fd, 0);
	if (page == MAP_FAILED)
		return;
	if (next(seed) % 4 == 0)
		close(fd);
	work(1 + next(seed) % 3000);
	munmap(page, pages * PAGE);
}

static void command_one(uint64_t *seed)
{
	static const unsigned long requests[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET,
	};
	uint64_t period = 1000 + next(seed) % 50000;
	uint64_t id;

	ioctl(slot(seed), requests[next(seed) % 3], 0);
	if (next(seed) % 4 == 0)
		ioctl(slot(seed), PERF_EVENT_IOC_PERIOD, &period);
	if (next(seed) % 4 == 0)
		ioctl(slot(seed), PERF_EVENT_IOC_ID, &id);
}

static void look_at_one(uint64_t *seed)
{
	struct pollfd pfd = { .fd = slot(seed), .events = POLLIN };
	uint64_t words[8];

	if (read(slot(seed), words, sizeof(words)) < 0)
		words[0] = 0;
	poll(&pfd, 1, 0);
}

static void close_one(uint64_t *seed)
{
	close(slot(seed));
}

static void work_a_while(uint64_t *seed)
{
	work(1 + next(seed) % 5000);
}

static void play(unsigned int seconds)
{
	static struct storm storm = {
		.step = { open_one, open_one, close_one, map_one, look_at_one, work_a_while,
			  command_one, command_one },
		.threads = THREADS,
		.slots = SLOTS,
	};

	storm_start(&storm);
	storm_wait(&storm, seconds);
	storm_stop(&storm);
	storm_close(&storm);
	ok(storm.steps > 100 * seconds, "%lu steps of %d threads on %d events", storm.steps,
	   THREADS, SLOTS);
}

/* kill the counted process and the one that counts it at any moment */
static void kill_both(int times)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 5003,
					       PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	struct ring ring;
	pid_t watched, watcher;

	attr.disabled = 0;
	for (int i = 0; i < times; i++) {
		watched = fork();
		if (!watched)
			for (;;)
				work(1000);
		watcher = fork();
		if (!watcher) {
			int fd = door_open_event(&attr, watched, -1, -1, 0);

			if (fd >= 0)
				map_ring(&ring, fd, 8);
			for (;;)
				drain(&ring, NULL, NULL);
		}
		usleep(i % 50 * 100);
		kill(i % 2 ? watched : watcher, SIGKILL);
		usleep(i % 3 * 500);
		kill(i % 2 ? watcher : watched, SIGKILL);
		waitpid(watched, NULL, 0);
		waitpid(watcher, NULL, 0);
	}
}

/* one thread samples itself while another closes, in any order of fd and ring */
static void close_in_any_order(int times)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 3001, PERF_SAMPLE_IP);
	struct ring rings[3];
	int fds[3];

	attr.disabled = 0;
	for (int i = 0; i < times; i++) {
		for (int n = 0; n < 3; n++) {
			fds[n] = open_event(&attr, n ? 0 : -1, n ? -1 : 0);
			map_ring(&rings[n], fds[n], 2);
		}
		work(1000);
		for (int n = 0; n < 3; n++) {
			int which = (n + i) % 3;

			if (i & 4)
				ring_unmap(&rings[which]);
			close(fds[which]);
		}
		for (int n = 0; n < 3; n++)
			if (!(i & 4))
				ring_unmap(&rings[n]);
	}
}

int main(void)
{
	unsigned int seconds = storm_seconds(5);
	struct pmuring_info info;
	int log;

	if (!pmu_is_there())
		return skip_all("no PMU");
	log = kernel_log_open();
	plan(1 + 3);
	play(seconds);
	kill_both(60);
	close_in_any_order(300);
	/* events are freed after a grace period, those of dead processes later */
	sleep_ms(200);
	info = module_info();
	is(info.events, 0, "no event is left");
	is(hooks_remain(), 0, "no context-switch hook is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
