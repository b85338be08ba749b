// SPDX-License-Identifier: GPL-2.0
/*
 * sample_cost: what one sample costs in NMI context, pmuring's beside that of
 * the kernel's own perf, in one boot.
 *
 *	sample_cost PMURING_KO
 *
 * The module is loaded after perf's turn: from then on every NMI passes its
 * handler too, which perf would have to pay for.
 *
 * One event on CPU 0: cycles, IP|TID|TIME|PERIOD, period 100003, over a loop in
 * user mode. The numbers come from the instrumentation MSRs of the PMU-modelling
 * QEMU, read before and after; run as root with the msr driver loaded. Started by
 * scripts/bench/run.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door.h"
#include "ring_reader.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define PERIOD		100003
#define SAMPLES		1000

#define QPMU_SIGNATURE	0x51504d5500000001ULL
#define QPMU_ID		0x40005000

/* what is counted, per NMI but for the NMIs themselves */
enum { NMIS, INSTRUCTIONS, RDMSR, WRMSR, RDPMC, APIC_READS, APIC_WRITES, LVTPC_WRITES, NUMBERS };

static const struct {
	uint32_t msr;
	const char *name;
} numbers[NUMBERS] = {
	[NMIS] = { 0x40005005, "NMIs" },
	[INSTRUCTIONS] = { 0x40005007, "instructions" },
	[RDMSR] = { 0x4000500d, "RDMSR" },
	[WRMSR] = { 0x4000500e, "WRMSR" },
	[RDPMC] = { 0x4000500f, "RDPMC" },
	[APIC_READS] = { 0x40005012, "APIC reads" },
	[APIC_WRITES] = { 0x40005013, "APIC writes" },
	[LVTPC_WRITES] = { 0x40005014, "LVTPC writes" },
};

/* one contestant: how it opens an event, and what its run cost */
struct contestant {
	const char *name;
	int (*open)(const struct perf_event_attr *attr);
	uint64_t cost[NUMBERS];
	uint64_t samples;
};

static void fail(const char *what)
{
	fprintf(stderr, "sample_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_perf(const struct perf_event_attr *attr)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_pmuring(const struct perf_event_attr *attr)
{
	return door_open_event(attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t read_msr(int cpu_msr, uint32_t msr)
{
	uint64_t value;

	if (pread(cpu_msr, &value, sizeof(value), msr) != sizeof(value))
		fail("cannot read an MSR");
	return value;
}

static void read_numbers(int cpu_msr, uint64_t *values)
{
	for (int i = 0; i < NUMBERS; i++)
		values[i] = read_msr(cpu_msr, numbers[i].msr);
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

static void measure(struct contestant *c, int cpu_msr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD,
		.sample_period = PERIOD,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	uint64_t before[NUMBERS], after[NUMBERS];
	struct ring ring;
	int fd = c->open(&attr);

	if (fd < 0) {
		fprintf(stderr, "sample_cost: %s: %s\n", c->name,
			door_explain_event(errno, &attr, 0, -1));
		exit(1);
	}
	if (ring_map(&ring, fd, 64))
		fail("cannot map the ring");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* the first samples fill caches that are the kernel's, such as page tables */
	spin(10 * PERIOD / 2);
	count_samples(&ring);
	read_numbers(cpu_msr, before);
	spin((uint64_t)SAMPLES * PERIOD / 2);
	read_numbers(cpu_msr, after);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	c->samples = count_samples(&ring);
	for (int i = 0; i < NUMBERS; i++)
		c->cost[i] = after[i] - before[i];
	ring_unmap(&ring);
	close(fd);
}

static double per_nmi(const struct contestant *c, int i)
{
	return c->cost[NMIS] ? (double)c->cost[i] / c->cost[NMIS] : 0;
}

static void print(const struct contestant *perf, const struct contestant *ours)
{
	printf("one sample of cycles:u, IP|TID|TIME|PERIOD, period %d, in NMI context\n\n", PERIOD);
	printf("%-14s %12s %12s %8s\n", "", perf->name, ours->name, "ratio");
	for (int i = INSTRUCTIONS; i < NUMBERS; i++) {
		double a = per_nmi(perf, i), b = per_nmi(ours, i);

		printf("%-14s %12.1f %12.1f", numbers[i].name, a, b);
		if (a > 0)
			printf(" %8.2f", b / a);
		putchar('\n');
	}
	printf("\nNMIs %llu and %llu, samples %llu and %llu\n",
	       (unsigned long long)perf->cost[NMIS], (unsigned long long)ours->cost[NMIS],
	       (unsigned long long)perf->samples, (unsigned long long)ours->samples);
}

static int open_cpu(void)
{
	cpu_set_t set;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("cannot run on CPU 0");
	fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("/dev/cpu/0/msr (modprobe msr, as root)");
	if (read_msr(fd, QPMU_ID) != QPMU_SIGNATURE) {
		fprintf(stderr, "sample_cost: this machine does not count what an NMI costs: run it in the PMU-modelling QEMU (make bench)\n");
		exit(1);
	}
	return fd;
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		fail(path);
	close(fd);
	/* devtmpfs makes the node in its own time */
	for (int i = 0; i < 100 && door_fd() < 0; i++)
		usleep(10000);
}

int main(int argc, char **argv)
{
	struct contestant perf = { .name = "perf", .open = open_perf };
	struct contestant ours = { .name = "pmuring", .open = open_pmuring };
	int cpu_msr;

	if (argc != 2) {
		fprintf(stderr, "usage: sample_cost PMURING_KO, the module not being loaded yet\n");
		return 1;
	}
	cpu_msr = open_cpu();
	measure(&perf, cpu_msr);
	load_module(argv[1]);
	measure(&ours, cpu_msr);
	print(&perf, &ours);
	/* a cheap handler that loses samples is no good one */
	return perf.samples < SAMPLES || ours.samples < SAMPLES;
}
