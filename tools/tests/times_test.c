// SPDX-License-Identifier: GPL-2.0
/*
 * Threads on another CPU read the times of rotating events: running never exceeds
 * enabled, and neither the times nor the count go back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define EVENTS	12
#define READERS	40
#define READS	200

/**
 * struct watched - shared with the readers
 * @fds: events
 * @last: what each had when it was last read
 * @beyond: running was more than enabled
 * @backward: something went back
 */
static struct watched {
	int fds[EVENTS];
	struct count last[EVENTS];
	uint64_t beyond;
	uint64_t backward;
} watched;

static atomic_bool stop;

static void *busy(void *unused)
{
	cpu_pin(0);
	while (!stop)
		work(10000);
	return unused;
}

static void read_one(unsigned int i)
{
	struct count now = read_count(watched.fds[i]), *last = &watched.last[i];

	watched.beyond += now.running > now.enabled;
	watched.backward += now.running < last->running || now.enabled < last->enabled ||
			    now.value < last->value;
	*last = now;
}

static void *read_all(void *unused)
{
	cpu_pin(cpu_possible() - 1);
	for (unsigned int n = 0; n < READS; n++)
		read_one(n % EVENTS);
	return unused;
}

static void run_thread(pthread_t *thread, void *(*fn)(void *unused))
{
	if (pthread_create(thread, NULL, fn, NULL))
		bail_out("pthread_create");
}

/* The events are of a whole CPU, or of this task and what it starts. */
static void watch(bool of_cpu)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	pthread_t worker, reader;
	uint64_t waited = 0;

	watched = (struct watched) { 0 };
	stop = false;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.inherit = !of_cpu;
	attr.disabled = 0;
	for (int i = 0; i < EVENTS; i++)
		watched.fds[i] = open_event(&attr, of_cpu ? -1 : 0, of_cpu ? 0 : -1);
	run_thread(&worker, busy);
	for (int n = 0; n < READERS; n++) {
		run_thread(&reader, read_all);
		pthread_join(reader, NULL);
		sleep_ms(1);
	}
	stop = true;
	pthread_join(worker, NULL);
	for (int i = 0; i < EVENTS; i++) {
		waited += watched.last[i].enabled - watched.last[i].running;
		close(watched.fds[i]);
	}
	ok(waited > 0, "%d events of %s rotate", EVENTS, of_cpu ? "a CPU" : "a process");
	is(watched.beyond, 0, "running is at most enabled in all reads of %d threads", READERS);
	is(watched.backward, 0, "no time and no count goes back");
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(2 * 3);
	watch(true);
	watch(false);
	return done();
}
