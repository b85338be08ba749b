// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU goes offline and comes back while events are open on it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		100000
#define LENGTH		(1ULL * ROUNDS * WORK_ROUND)
#define PERIOD		50021

static int cpu;

static void work_there(uint64_t rounds, void *data)
{
	cpu_pin(*(int *)data);
	work(rounds);
}

/* no pinning: it runs wherever there is a CPU for it */
static void work_anywhere(uint64_t rounds, void *data)
{
	(void)data;
	work(rounds);
}

static void go(bool online)
{
	if (!cpu_set_online(cpu, online))
		bail_out("CPU %d does not go %s", cpu, online ? "online" : "offline");
}

static void cpu_event(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_CPU);
	struct worker w;
	struct tally tally;
	struct ring ring;
	uint64_t value;
	int fd, again;

	attr.disabled = 0;
	fd = open_event(&attr, -1, cpu);
	map_ring(&ring, fd, 64);
	worker_start(&w, work_there, &cpu);
	worker_run(&w, ROUNDS);
	worker_end(&w);
	between(read_value(fd), LENGTH, UINT64_MAX >> 1, "CPU %d online: the event counts", cpu);

	go(false);
	value = read_value(fd);
	between(value, LENGTH, UINT64_MAX >> 1, "offline: the count is readable");
	work(ROUNDS);
	is(read_value(fd), value, "offline: the count stays the same");
	tally = drain(&ring, NULL, NULL);
	is(tally.samples + tally.lost, value / PERIOD,
	   "offline: the ring holds count / period samples");
	gives(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "offline: DISABLE succeeds");
	gives(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "offline: ENABLE succeeds");
	gives(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0, "offline: RESET succeeds");
	is(read_value(fd), 0, "offline: RESET clears the count");
	gives(door_open_event(&attr, -1, cpu, -1, 0), ENODEV, "offline: a new event gets ENODEV");

	go(true);
	again = open_event(&attr, -1, cpu);
	worker_start(&w, work_there, &cpu);
	worker_run(&w, ROUNDS);
	worker_end(&w);
	between(read_value(again), LENGTH, UINT64_MAX >> 1, "online again: a new event counts");
	between(read_value(fd), LENGTH, UINT64_MAX >> 1, "online again: the old event counts");
	tally = drain(&ring, NULL, NULL);
	between(tally.samples, LENGTH / PERIOD, UINT64_MAX, "online again: the old event samples");
	ring_unmap(&ring);
	close(fd);
	close(again);
}

static short revents(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	poll(&pfd, 1, ms);
	return pfd.revents;
}

static void *sleep_in_poll(void *data)
{
	int fd = *(int *)data;

	return (void *)(intptr_t)revents(fd, 20000);
}

/* poll() on a CPU event returns when the CPU goes offline, and works again when it is back */
static void poller(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_CPU);
	struct ring ring, of_task;
	pthread_t thread;
	void *told;
	int fd, task, more;

	attr.wakeup_events = 1;
	fd = open_event(&attr, -1, cpu);
	task = open_event(&attr, 0, cpu);
	map_ring(&ring, fd, 16);
	map_ring(&of_task, task, 16);
	is(revents(fd, 0), 0, "a new CPU event has nothing to report");
	pthread_create(&thread, NULL, sleep_in_poll, &fd);
	sleep_ms(20);
	go(false);
	pthread_join(thread, &told);
	is((intptr_t)told, POLLHUP, "offline: a sleeper in poll wakes with POLLHUP");
	is(revents(fd, 0), POLLHUP, "offline: poll keeps reporting POLLHUP");
	is(revents(task, 0), 0, "offline: a task event on that CPU reports no POLLHUP");
	more = door_open_event(&attr, 0, cpu, -1, 0);
	gives(more, 0, "offline: a task event on that CPU opens");
	close(more);
	go(true);
	is(revents(fd, 0), 0, "online again: no POLLHUP");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	switch_event(task, PERF_EVENT_IOC_ENABLE);
	cpu_pin(cpu);
	work(ROUNDS);
	cpu_pin(0);
	is(revents(fd, 1000), POLLIN, "online again: samples wake the CPU event's reader");
	is(revents(task, 1000), POLLIN, "online again: samples wake the task event's reader");
	ring_unmap(&ring);
	ring_unmap(&of_task);
	close(fd);
	close(task);
}

static void task_event(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t a, b, c, more;
	struct worker w;
	int fd;

	attr.disabled = 0;
	worker_start(&w, work_anywhere, NULL);
	fd = open_event(&attr, w.pid, -1);
	worker_run(&w, ROUNDS);
	a = read_value(fd);
	go(false);
	worker_run(&w, ROUNDS);
	b = read_value(fd);
	go(true);
	worker_run(&w, 3 * ROUNDS);
	c = read_value(fd);
	more = (c - b) - (b - a);
	between(more + machine_slack(LENGTH), 2 * LENGTH, 2 * LENGTH + 2 * machine_slack(LENGTH),
		"a task event is exact before, during and after hotplug");
	close(fd);
	worker_end(&w);
}

static atomic_bool stop;

/* a task that prefers the CPU that is switched off and on */
static void *hop(void *data)
{
	(void)data;
	while (!stop)
		work(2000);
	return NULL;
}

/* a clean kernel log and a live machine are the only evidence that this worked */
static void many_times(int times)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 10007, PERF_SAMPLE_IP);
	pthread_t threads[3];
	struct ring ring;
	int fds[2], good = 0;

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	stop = false;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, hop, NULL);
	for (int i = 0; i < times; i++) {
		fds[0] = open_event(&attr, -1, cpu);
		fds[1] = open_event(&attr, 0, -1);
		map_ring(&ring, fds[0], 8);
		good += cpu_set_online(cpu, false);
		/* closed while it is away, or after it is back */
		if (i % 2)
			close(fds[0]);
		good += cpu_set_online(cpu, true);
		if (!(i % 2))
			close(fds[0]);
		ring_unmap(&ring);
		close(fds[1]);
	}
	stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	is(good, 2 * times, "offline and online %d times while sampled at a high rate", times);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu = cpu_possible() - 1;
	if (cpu < 1 || !cpu_set_online(cpu, false))
		return skip_all("no CPU can go offline");
	go(true);
	cpu_pin(0);
	plan(12 + 8 + 1 + 1 + 1 + 2);
	cpu_event();
	poller();
	task_event();
	many_times(15);
	is(module_info().events, 0, "no event is left");
	ok(perf_works(0) && perf_works(cpu), "perf counts and samples right, on CPU %d too", cpu);
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
