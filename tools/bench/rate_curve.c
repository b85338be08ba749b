// SPDX-License-Identifier: GPL-2.0
/*
 * rate_curve: samples received over samples requested, below and above the rate limit.
 *
 *	rate_curve perf|pmuring
 *
 * One event on the calling task, which is busy for a fifth of a second: the
 * cpu-clock, and user mode instructions. Prints a line for each rate:
 *
 *	EVENT <tab> CONTESTANT <tab> ASKED <tab> GOT
 *
 * both in parts of the limit, which has to be set to LIMIT.
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "ring_reader.h"

#define SECOND		1000000000ULL
#define RUN		(SECOND / 5)
#define LIMIT		4000
#define RING_PAGES	512

static const unsigned int percents[] = {
	50, 75, 90, 100, 102, 105, 110, 125, 150, 200, 300, 500, 1000, 2000,
};

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static void spin(void)
{
	uint64_t end = now() + RUN;

	while (now() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
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

static void measure(unsigned int which, unsigned int percent, const char *contestant)
{
	struct perf_event_attr attr = {
		.type = events[which].type,
		.config = events[which].config,
		.sample_type = PERF_SAMPLE_IP,
		.sample_period = SECOND * 100 / percent / LIMIT,
		.exclude_kernel = events[which].type == PERF_TYPE_HARDWARE,
		.disabled = 1,
	};
	struct ring ring;
	int fd = bench_open(&attr, -1);

	if (fd < 0)
		bench_fail("cannot open the event");
	if (ring_map(&ring, fd, RING_PAGES))
		bench_fail("cannot map the ring");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	printf("%s\t%s\t%.2f\t%.3f\n", events[which].name, contestant, percent / 100.0,
	       (double)count_samples(&ring) * SECOND / RUN / LIMIT);
	ring_unmap(&ring);
	close(fd);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv);
	for (size_t e = 0; e < ARRAY_SIZE(events); e++)
		for (size_t p = 0; p < ARRAY_SIZE(percents); p++)
			measure(e, percents[p], argv[1]);
	return 0;
}
