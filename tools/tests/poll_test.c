// SPDX-License-Identifier: GPL-2.0
/*
 * poll(2) of an event: hung up without a ring or without a task, readable after
 * wakeup_events samples or wakeup_watermark bytes, and only once for each.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		20011
/* rounds that complete n periods and not one more */
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

static int poll_now(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	/* the wake-up leaves NMI context by an interrupt that may be a moment away */
	poll(&pfd, 1, 0);
	return pfd.revents;
}

static void without_ring(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct ring ring;
	int fd = open_self(&attr);

	is(poll_now(fd), POLLHUP, "no ring: POLLHUP");
	map_ring(&ring, fd, 1);
	is(poll_now(fd), 0, "a ring without records: nothing");
	ring_unmap(&ring);
	is(poll_now(fd), POLLHUP, "unmapped again: POLLHUP");
	close(fd);
}

static void wakeup_events(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.wakeup_events = 3;
	fd = open_self(&attr);
	map_ring(&ring, fd, 8);
	work_counted(fd, SAMPLES(2));
	is(poll_now(fd), 0, "wakeup_events 3: two samples do not wake");
	work_counted(fd, SAMPLES(1));
	is(poll_now(fd), POLLIN, "  the third does");
	is(poll_now(fd), 0, "  once");
	is(drain(&ring, NULL, NULL).samples, 3, "  with three samples in the ring");
	work_counted(fd, SAMPLES(3));
	is(poll_now(fd), POLLIN, "  and so do the next three");
	ring_unmap(&ring);
	close(fd);
}

static void wakeup_watermark(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.watermark = 1;
	/* samples of 16 bytes: the third is the first one beyond */
	attr.wakeup_watermark = 40;
	fd = open_self(&attr);
	map_ring(&ring, fd, 8);
	work_counted(fd, SAMPLES(2));
	is(poll_now(fd), 0, "wakeup_watermark 40: 32 bytes do not wake");
	work_counted(fd, SAMPLES(1));
	is(poll_now(fd), POLLIN, "  48 do");
	is(poll_now(fd), 0, "  once");
	ring_unmap(&ring);
	close(fd);
}

/* without a word on it, a reader is woken when half of the ring is written */
static void half_a_ring(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 1);
	work_counted(fd, SAMPLES(128));
	is(poll_now(fd), 0, "no wakeup given: 2048 of 4096 bytes do not wake");
	work_counted(fd, SAMPLES(1));
	is(poll_now(fd), POLLIN, "  the record beyond them does");
	ring_unmap(&ring);
	close(fd);
}

struct sleeper {
	int fd;
	int revents;
};

static void *sleep_in_poll(void *data)
{
	struct sleeper *sleeper = data;
	struct pollfd pfd = { .fd = sleeper->fd, .events = POLLIN };

	poll(&pfd, 1, 10000);
	sleeper->revents = pfd.revents;
	return NULL;
}

static void sleeping_reader(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	struct sleeper sleeper = { 0 };
	struct ring ring;
	pthread_t thread;

	attr.wakeup_events = 1;
	sleeper.fd = open_self(&attr);
	map_ring(&ring, sleeper.fd, 1);
	pthread_create(&thread, NULL, sleep_in_poll, &sleeper);
	sleep_ms(20);
	work_counted(sleeper.fd, SAMPLES(1));
	pthread_join(thread, NULL);
	is(sleeper.revents, POLLIN, "a sample wakes a reader that sleeps in poll");
	ring_unmap(&ring);
	close(sleeper.fd);
}

/* after the end of its task an event has nothing more to tell, but can be read */
static void task_exit(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct sleeper sleeper = { 0 };
	struct ring ring;
	pthread_t thread;
	uint64_t value;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	attr.disabled = 0;
	sleeper.fd = open_event(&attr, pid, -1);
	map_ring(&ring, sleeper.fd, 1);
	is(poll_now(sleeper.fd), 0, "the task lives: nothing");
	pthread_create(&thread, NULL, sleep_in_poll, &sleeper);
	sleep_ms(20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pthread_join(thread, NULL);
	is(sleeper.revents, POLLHUP, "the end of the task wakes a sleeper: POLLHUP");
	is(poll_now(sleeper.fd), POLLHUP, "  and it stays so");
	value = read_value(sleeper.fd);
	is(read_value(sleeper.fd), value, "  the count can still be read");
	ring_unmap(&ring);
	close(sleeper.fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(3 + 5 + 3 + 2 + 1 + 4);
	without_ring();
	wakeup_events();
	wakeup_watermark();
	half_a_ring();
	sleeping_reader();
	task_exit();
	return done();
}
