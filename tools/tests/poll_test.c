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

	is(poll_now(fd), POLLHUP, "POLLHUP without a ring");
	map_ring(&ring, fd, 1);
	is(poll_now(fd), 0, "no event for an empty ring");
	ring_unmap(&ring);
	is(poll_now(fd), POLLHUP, "POLLHUP after unmapping the ring");
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
	is(poll_now(fd), POLLIN, "wakeup_events 3: the third sample wakes");
	is(poll_now(fd), 0, "a wakeup is reported once");
	is(drain(&ring, NULL, NULL).samples, 3, "wakeup_events 3: the ring holds three samples");
	work_counted(fd, SAMPLES(3));
	is(poll_now(fd), POLLIN, "wakeup_events 3: the next three samples wake");
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
	is(poll_now(fd), POLLIN, "wakeup_watermark 40: 48 bytes wake");
	is(poll_now(fd), 0, "a wakeup is reported once");
	ring_unmap(&ring);
	close(fd);
}

/* by default a reader is woken when half of the ring is written */
static void half_a_ring(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 1);
	work_counted(fd, SAMPLES(128));
	is(poll_now(fd), 0, "default wakeup: 2048 of 4096 bytes do not wake");
	work_counted(fd, SAMPLES(1));
	is(poll_now(fd), POLLIN, "default wakeup: the next record wakes");
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

/* after its task exits an event reports POLLHUP, but is readable */
static void task_exit(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct sleeper sleeper = { 0 };
	struct ring ring;
	pthread_t thread;
	uint64_t counted, value;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			work(1000);
	attr.disabled = 0;
	sleeper.fd = open_event(&attr, pid, -1);
	map_ring(&ring, sleeper.fd, 1);
	is(poll_now(sleeper.fd), 0, "no POLLHUP while the task lives");
	pthread_create(&thread, NULL, sleep_in_poll, &sleeper);
	sleep_ms(20);
	counted = read_value(sleeper.fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pthread_join(thread, NULL);
	is(sleeper.revents, POLLHUP, "the task's exit wakes a sleeper with POLLHUP");
	is(poll_now(sleeper.fd), POLLHUP, "POLLHUP stays after the task's exit");
	value = read_value(sleeper.fd);
	between(value, counted ?: 1, UINT64_MAX, "the task's count stays after its exit");
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
