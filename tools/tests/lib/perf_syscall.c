// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own perf. Called by the tests.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		100000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define PERIOD		100003

/**
 * perf_open - perf_event_open(2)
 * @attr: what to count or sample
 * @pid: as there
 * @cpu: as there
 *
 * Return: the event's descriptor, or -1 with errno
 */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool counts(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_open(&attr, 0, -1);
	uint64_t value;

	if (fd < 0)
		return false;
	work_counted(fd, ROUNDS);
	value = read_value(fd);
	close(fd);
	return value >= LENGTH && value <= LENGTH + machine_slack(LENGTH);
}

static bool samples(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	int fd = perf_open(&attr, 0, -1);
	struct tally tally;
	struct ring ring;

	if (fd < 0)
		return false;
	map_ring(&ring, fd, 8);
	work_counted(fd, ROUNDS);
	tally = drain(&ring, NULL, NULL);
	ring_unmap(&ring);
	close(fd);
	return tally.samples == LENGTH / PERIOD;
}

/**
 * perf_works - whether perf counts and samples right on a CPU
 * @cpu: where the caller runs from now on
 *
 * Sampling needs the local APIC's counter entry as perf has left it.
 *
 * Return: whether it does
 */
bool perf_works(int cpu)
{
	cpu_pin(cpu);
	return counts() && samples();
}
