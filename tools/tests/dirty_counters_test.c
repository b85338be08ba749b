// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's perf leaves its counts in the counters of a CPU, and zeroes them
 * where a process that may execute RDPMC comes on that CPU. By then pmuring's events
 * may be on these counters: they count right and sample all the same, however often
 * perf and pmuring take turns, and though perf leaves the same values each time.
 */
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define TURNS		6
#define ROUNDS		100000
#define LENGTH		(1ULL * ROUNDS * WORK_ROUND)
#define PERIOD		50021

static int cpu;

static void work_there(uint64_t rounds, void *data)
{
	(void)data;
	cpu_pin(cpu);
	work(rounds);
}

/* run another address space in between, so that this one is switched in again */
static void run_another(void)
{
	struct worker w;

	worker_start(&w, work_there, NULL);
	worker_run(&w, 1);
	worker_end(&w);
}

static bool is_right(int fd, struct ring *ring)
{
	uint64_t value = read_value(fd);
	struct tally tally = drain(ring, NULL, NULL);

	ring_unmap(ring);
	close(fd);
	if (value >= LENGTH && value < 2 * LENGTH && tally.samples + tally.lost == value / PERIOD)
		return true;
	diag("count %llu, %u samples", (unsigned long long)value, (unsigned int)tally.samples);
	return false;
}

/* the ring of its own event lets this process execute RDPMC */
static bool turn(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_CPU);
	struct ring of_cpu, of_task;
	int fd, task;
	bool good;

	fd = open_event(&attr, -1, cpu);
	task = open_event(&attr, 0, cpu);
	map_ring(&of_cpu, fd, 16);
	map_ring(&of_task, task, 16);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	switch_event(task, PERF_EVENT_IOC_ENABLE);
	run_another();
	cpu_pin(cpu);
	work(ROUNDS);
	cpu_pin(0);
	good = is_right(fd, &of_cpu);
	return is_right(task, &of_task) && good;
}

int main(void)
{
	int perf = 0, good = 0;

	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu = cpu_possible() - 1;
	plan(2);
	for (int i = 0; i < TURNS; i++) {
		perf += perf_works(cpu);
		cpu_pin(0);
		good += turn();
	}
	is(perf, TURNS, "perf counts and samples correctly %d times", TURNS);
	is(good, TURNS, "pmuring counts and samples correctly after perf each time");
	return done();
}
