// SPDX-License-Identifier: GPL-2.0
/*
 * Sampling: a program of known length has exactly length / period samples, each at the
 * end of its period, with every field right.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		50000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)

/* in the order in which a sample holds them */
enum { IP, TID, TIME, ID, STREAM_ID, CPU, PERIOD, FIELDS };

#define ALL_FIELDS	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |		\
			 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |	\
			 PERF_SAMPLE_PERIOD)

/* properties of the samples of one run */
struct run {
	uint64_t period;
	uint64_t id;
	uint64_t last_time;
	uint64_t samples;
	uint64_t wrong_size;
	uint64_t wrong_ip;
	uint64_t outside;
	uint64_t wrong_task;
	uint64_t wrong_time;
	uint64_t wrong_id;
	uint64_t wrong_cpu;
	uint64_t wrong_period;
	uint64_t wrong_mode;
};

static uint64_t task_word(void)
{
	return (uint32_t)getpid() | (uint64_t)gettid() << 32;
}

static void check_sample(const struct record *rec, void *data)
{
	const uint64_t *field = rec->field;
	struct run *run = data;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	run->samples++;
	if (rec->header.size != sizeof(rec->header) + FIELDS * 8) {
		run->wrong_size++;
		return;
	}
	run->wrong_ip += field[IP] != work_counted_ip(run->samples * run->period);
	run->outside += !work_counted_has_ip(field[IP]);
	run->wrong_task += field[TID] != task_word();
	run->wrong_time += field[TIME] <= run->last_time;
	run->wrong_id += field[ID] != run->id || field[STREAM_ID] != run->id;
	run->wrong_cpu += field[CPU] != 0;
	run->wrong_period += field[PERIOD] != run->period;
	run->wrong_mode += (rec->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
			   PERF_RECORD_MISC_USER;
	run->last_time = field[TIME];
}

static void sample_run(struct perf_event_attr attr)
{
	struct run run = { .period = attr.sample_period };
	uint64_t want = LENGTH / attr.sample_period;
	int fd = open_self(&attr);
	struct ring ring;
	struct tally tally;

	run.id = event_id(fd);
	map_ring(&ring, fd, 64);
	work_counted(fd, ROUNDS);
	tally = drain(&ring, check_sample, &run);
	between(run.samples, want, want + machine_slack(LENGTH) / attr.sample_period + 1 -
		machine_is_exact(), "period %llu: length / period samples",
		(unsigned long long)attr.sample_period);
	is(tally.lost + tally.throttles + tally.others + tally.broken, 0,
	   "the ring holds only samples");
	if (machine_is_exact())
		is(run.wrong_ip, 0, "each ip is the instruction after the overflow");
	else
		/* skid: a sample may be late, but no sample can be early */
		between(run.outside, 0, want / 10 + 2, "nearly all samples are in the loop");
	is(run.wrong_size, 0, "header.size is right");
	is(run.wrong_task, 0, "pid and tid are right");
	is(run.wrong_time, 0, "the time grows");
	is(run.wrong_id, 0, "id and stream id are right");
	is(run.wrong_cpu, 0, "cpu is right");
	is(run.wrong_period, 0, "period is right");
	is(run.wrong_mode, 0, "the cpumode is user");
	between(read_value(fd), LENGTH, LENGTH + machine_slack(LENGTH),
		"sampling does not change the count");
	ring_unmap(&ring);
	close(fd);
}

#define RUN_CHECKS 11

/* The time of a sample is from sched_clock, the clock that the ABI names. */
static void time_base(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 100003,
					       PERF_SAMPLE_TIME);
	int fd = open_self(&attr), n = 0;
	const struct perf_event_header *header;
	uint64_t first = 0, last = 0, start;
	struct ring ring;

	map_ring(&ring, fd, 8);
	start = now_ns();
	work_counted(fd, ROUNDS);
	start = now_ns() - start;
	while (ring_next(&ring, &header) > 0) {
		last = ((const struct record *)header)->field[0];
		first = n++ ? first : last;
	}
	ok(n > 1 && last - first < start, "the times of %d samples fit into the %llu ns elapsed",
	   n, (unsigned long long)start);
	if (machine_is_exact())
		/* an instruction is a nanosecond, which other vCPUs may stretch */
		between(last - first, (n - 1) * 100003ULL, (n - 1) * 400000ULL,
			"the samples are one period apart");
	else
		skip(1, "instructions have no fixed duration on this machine");
	ring_unmap(&ring);
	close(fd);
}

/* PERIOD takes effect at once, in the middle of the old period. */
static void change_period(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 1ULL << 40,
					       PERF_SAMPLE_PERIOD);
	const struct perf_event_header *header;
	uint64_t period = 50021, n = 0, wrong = 0;
	int fd = open_self(&attr);
	struct ring ring;

	map_ring(&ring, fd, 8);
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 0, "a period of 2^40: no sample");
	ok(!ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), "PERIOD to %llu",
	   (unsigned long long)period);
	work_counted(fd, ROUNDS);
	while (ring_next(&ring, &header) > 0) {
		wrong += ((const struct record *)header)->field[0] != period;
		n++;
	}
	between(n, LENGTH / period, (LENGTH + machine_slack(LENGTH)) / period,
		"samples start with the first new period");
	is(wrong, 0, "each sample carries the new period");
	ring_unmap(&ring);
	close(fd);
}

/* DISABLE keeps the remainder of a period, so two halves make one sample. */
static void split_period(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, LENGTH + LENGTH / 2,
					       PERF_SAMPLE_IP);
	int fd = open_self(&attr);
	struct ring ring;

	map_ring(&ring, fd, 8);
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 0, "two thirds of a period: no sample");
	work_counted(fd, ROUNDS);
	is(drain(&ring, NULL, NULL).samples, 1, "four thirds of a period: one sample");
	work_counted(fd, ROUNDS);
	if (machine_is_exact())
		is(drain(&ring, NULL, NULL).samples, 1, "exactly two periods: the second sample");
	else
		skip(1, "two periods: exact on the PMU QEMU only");
	ring_unmap(&ring);
	close(fd);
}

/* An overflow in the last instruction is sampled, even if it is a system call. */
static void last_instruction(void)
{
	for (uint64_t period = LENGTH - 1; period <= LENGTH + 1; period++) {
		struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period,
						       PERF_SAMPLE_IP);
		int fd = open_self(&attr);
		struct ring ring;

		map_ring(&ring, fd, 1);
		work_counted(fd, ROUNDS);
		if (machine_is_exact())
			is(drain(&ring, NULL, NULL).samples, period <= LENGTH,
			   "period of the length %+d", (int)(period - LENGTH));
		else
			skip(1, "the last instruction is known on the PMU QEMU only");
		ring_unmap(&ring);
		close(fd);
	}
}

/* Several sampling events at once do not disturb each other. */
static void together(void)
{
	static const uint64_t periods[] = { 20011, 20021, 30011, 40009 };
	struct pmuring_info info = module_info();
	/* one of them may run on the fixed counter of instructions */
	size_t n = info.gp_counters + (info.fixed_mask & 1);
	int fds[ARRAY_SIZE(periods)];
	struct ring rings[ARRAY_SIZE(periods)];
	struct perf_event_attr attr;
	uint64_t value, samples;

	if (n > ARRAY_SIZE(periods))
		n = ARRAY_SIZE(periods);
	for (size_t i = 0; i < n; i++) {
		attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, periods[i], PERF_SAMPLE_IP);
		fds[i] = open_self(&attr);
		map_ring(&rings[i], fds[i], 64);
	}
	for (size_t i = 0; i < n; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	work(4 * ROUNDS);
	for (size_t i = 0; i < n; i++)
		switch_event(fds[i], PERF_EVENT_IOC_DISABLE);
	for (size_t i = 0; i < n; i++) {
		value = read_value(fds[i]);
		samples = drain(&rings[i], NULL, NULL).samples;
		ok(value >= 4 * ROUNDS * WORK_ROUND && samples == value / periods[i],
		   "several events at once, period %llu: %llu samples of %llu instructions",
		   (unsigned long long)periods[i], (unsigned long long)samples,
		   (unsigned long long)value);
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	skip(ARRAY_SIZE(periods) - n, "this PMU has %zu counters for instructions", n);
}

int main(void)
{
	/* none so short that an event would be throttled: see throttle_test.c */
	static const uint64_t periods[] = { 20011, 65536, 100003, ROUNDS * WORK_ROUND - 1 };

	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(ARRAY_SIZE(periods) * RUN_CHECKS + 2 + 4 + 3 + 3 + 4);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++)
		sample_run(sampling(PERF_COUNT_HW_INSTRUCTIONS, periods[i], ALL_FIELDS));
	time_base();
	change_period();
	split_period();
	last_instruction();
	together();
	return done();
}
