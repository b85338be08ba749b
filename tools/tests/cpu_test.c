// SPDX-License-Identifier: GPL-2.0
/*
 * CPU events count every task on their CPU and no task on another CPU.
 */
#include <errno.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		1000000
#define LENGTH		(1ULL * ROUNDS * WORK_ROUND)
#define PERIOD		50021

/* instructions of the test itself and of daemons on an idle CPU */
#define OTHERS		(LENGTH / 20)

struct place {
	int cpu;
};

static void work_there(uint64_t rounds, void *data)
{
	cpu_pin(((struct place *)data)->cpu);
	work(rounds);
}

static void sees_its_cpu(int cpu, int other)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct place here = { cpu }, there = { other };
	struct worker w;
	uint64_t before;
	int fd;

	attr.disabled = 0;
	fd = open_event(&attr, -1, cpu);
	worker_start(&w, work_there, &here);
	before = read_value(fd);
	worker_run(&w, ROUNDS);
	between(read_value(fd) - before, LENGTH, LENGTH + OTHERS,
		"CPU %d: the event counts a task on this CPU", cpu);
	worker_end(&w);
	if (other < 0) {
		skip(1, "one CPU");
	} else {
		worker_start(&w, work_there, &there);
		before = read_value(fd);
		worker_run(&w, ROUNDS);
		between(read_value(fd) - before, 0, OTHERS,
			"the event does not count a task on CPU %d", other);
		worker_end(&w);
	}
	close(fd);
}

struct seen {
	uint64_t cpu;
	pid_t pid;
	uint64_t in_loop;
	uint64_t wrong_cpu;
};

static void check_sample(const struct record *rec, void *data)
{
	struct seen *seen = data;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	/* ip, pid and tid, cpu */
	seen->in_loop += work_has_ip(rec->field[0]) &&
			 (uint32_t)rec->field[1] == (uint32_t)seen->pid;
	seen->wrong_cpu += rec->field[2] != seen->cpu;
}

static void samples_its_cpu(int cpu)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
	struct place here = { cpu };
	struct seen seen = { .cpu = cpu };
	struct tally tally;
	struct worker w;
	struct ring ring;
	uint64_t value;
	int fd = open_event(&attr, -1, cpu);

	map_ring(&ring, fd, 64);
	worker_start(&w, work_there, &here);
	seen.pid = w.pid;
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	worker_run(&w, ROUNDS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	tally = drain(&ring, check_sample, &seen);
	value = read_value(fd);
	if (machine_is_exact())
		is(tally.samples, value / PERIOD, "CPU %d: count / period samples", cpu);
	else
		between(tally.samples, value / PERIOD - 2, value / PERIOD + 2,
			"CPU %d: count / period samples", cpu);
	between(seen.in_loop, LENGTH / PERIOD - LENGTH / PERIOD / 50, LENGTH / PERIOD + 1,
		"the task has length / period samples");
	is(seen.wrong_cpu, 0, "all samples carry CPU %d", cpu);
	is(tally.lost + tally.broken, 0, "CPU event: no sample is lost");
	worker_end(&w);
	ring_unmap(&ring);
	close(fd);
}

/* a CPU event and a task event share the PMU of a CPU */
static void beside_a_task_event(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int all = open_event(&attr, -1, 0), self = open_self(&attr);
	uint64_t want = ROUNDS * WORK_ROUND + WORK_TAIL, got;

	switch_event(all, PERF_EVENT_IOC_ENABLE);
	work_counted(self, ROUNDS);
	switch_event(all, PERF_EVENT_IOC_DISABLE);
	got = read_value(self);
	between(got, want, want + machine_slack(want), "a task event beside a CPU event is exact");
	between(read_value(all), got + 1, got + OTHERS,
		"a CPU event counts more than the task event");
	close(all);
	close(self);
}

/* kernel mode includes the idle task */
static void kernel_and_idle(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 20011,
					       PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	const struct perf_event_header *header;
	uint64_t kernel = 0, user = 0, wrong = 0;
	struct ring ring;
	int fd;

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	fd = open_event(&attr, -1, 0);
	map_ring(&ring, fd, 64);
	for (int i = 0; i < 20; i++) {
		work(ROUNDS / 100);
		sleep_ms(5);
	}
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	while (ring_next(&ring, &header) > 0) {
		uint64_t ip = ((const struct record *)header)->field[0];
		unsigned int mode = header->misc & PERF_RECORD_MISC_CPUMODE_MASK;

		if (header->type != PERF_RECORD_SAMPLE)
			continue;
		kernel += mode == PERF_RECORD_MISC_KERNEL;
		user += mode == PERF_RECORD_MISC_USER;
		/* the upper half of the address space is the kernel's */
		wrong += mode != (ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	}
	ok(kernel && user, "both modes have samples (%llu user, %llu kernel)",
	   (unsigned long long)user, (unsigned long long)kernel);
	is(wrong, 0, "the cpumode of each sample matches its address");
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	int last = cpu_possible() - 1;

	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(2 * 2 + 2 * 4 + 2 + 2);
	sees_its_cpu(0, last > 0 ? last : -1);
	sees_its_cpu(last, last > 0 ? 0 : -1);
	samples_its_cpu(0);
	samples_its_cpu(last);
	beside_a_task_event();
	kernel_and_idle();
	return done();
}
