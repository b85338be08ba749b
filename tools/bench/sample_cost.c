// SPDX-License-Identifier: GPL-2.0
/*
 * sample_cost: the cost of one sample in NMI context.
 *
 *	sample_cost perf|pmuring
 *
 * One event on the calling task: cycles, IP|TID|TIME|PERIOD, period 100003,
 * over a loop in user mode. The numbers come from the instrumentation MSRs of
 * the PMU-modelling QEMU, read before and after, and are printed per NMI; run
 * as root with the msr driver loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"
#include "ring_reader.h"

#define PERIOD		100003
#define SAMPLES		1000
#define RING_PAGES	64

#define QPMU_SIGNATURE	0x51504d5500000001ULL
#define QPMU_ID		0x40005000
#define QPMU_NMIS	0x40005005

/* what is counted while NMIs are handled */
static const struct {
	const char *row;
	uint32_t msr;
} numbers[] = {
	{ "sample: instructions", 0x40005007 },
	{ "sample: RDMSR", 0x4000500d },
	{ "sample: WRMSR", 0x4000500e },
	{ "sample: RDPMC", 0x4000500f },
	{ "sample: APIC reads", 0x40005012 },
	{ "sample: APIC writes", 0x40005013 },
	{ "sample: LVTPC writes", 0x40005014 },
};

/**
 * struct reading - the instrumentation at one moment
 * @nmis: NMIs taken so far
 * @values: of the @numbers
 */
struct reading {
	uint64_t nmis;
	uint64_t values[ARRAY_SIZE(numbers)];
};

static uint64_t read_msr(int cpu_msr, uint32_t msr)
{
	uint64_t value;

	if (pread(cpu_msr, &value, sizeof(value), msr) != sizeof(value))
		bench_fail("cannot read an MSR");
	return value;
}

static struct reading read_numbers(int cpu_msr)
{
	struct reading reading = { .nmis = read_msr(cpu_msr, QPMU_NMIS) };

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++)
		reading.values[i] = read_msr(cpu_msr, numbers[i].msr);
	return reading;
}

static int open_instrumentation(void)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		bench_fail("/dev/cpu/0/msr (modprobe msr, as root)");
	if (read_msr(fd, QPMU_ID) != QPMU_SIGNATURE) {
		errno = 0;
		bench_fail("this machine does not count what an NMI costs: run it in the PMU-modelling QEMU (make bench)");
	}
	return fd;
}

static void spin(uint64_t rounds)
{
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (rounds));
}

static uint64_t count_samples(struct ring *ring)
{
	const struct perf_event_header *header;
	uint64_t samples = 0;

	while (ring_next(ring, &header) > 0)
		samples += header->type == PERF_RECORD_SAMPLE;
	ring_release(ring);
	return samples;
}

static void print(const struct reading *before, const struct reading *after)
{
	uint64_t nmis = after->nmis - before->nmis;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++)
		bench_result(numbers[i].row,
			     (double)(after->values[i] - before->values[i]) / nmis);
}

static void measure(struct ring *ring, int cpu_msr)
{
	struct reading before, after;
	uint64_t samples;

	/* the first samples also pay for kernel setup, such as page tables */
	spin(10 * PERIOD / 2);
	count_samples(ring);
	before = read_numbers(cpu_msr);
	spin((uint64_t)SAMPLES * PERIOD / 2);
	after = read_numbers(cpu_msr);
	samples = count_samples(ring);
	/* the cost is valid only if no sample is lost */
	errno = 0;
	if (samples < SAMPLES || after.nmis - before.nmis < SAMPLES)
		bench_fail("samples are missing");
	print(&before, &after);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD,
		.sample_period = PERIOD,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct ring ring;
	int cpu_msr, fd;

	bench_begin(argc, argv);
	cpu_msr = open_instrumentation();
	fd = bench_open(&attr, -1);
	if (fd < 0)
		bench_fail("cannot open the event");
	if (ring_map(&ring, fd, RING_PAGES))
		bench_fail("cannot map the ring");
	measure(&ring, cpu_msr);
	ring_unmap(&ring);
	close(fd);
	return 0;
}
