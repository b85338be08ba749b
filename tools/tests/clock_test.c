// SPDX-License-Identifier: GPL-2.0
/*
 * cpu-clock and task-clock: they count the time for which they are on, and
 * sample it evenly.
 */
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define MS		1000000ULL
#define RUN		(50 * MS)

static const uint64_t clocks[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK };
static const char *const names[] = { "cpu-clock", "task-clock" };

/* Return: how often it did some work in that time */
static uint64_t spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns, rounds;

	for (rounds = 0; now_ns() < end; rounds++)
		work(100);
	return rounds;
}

/* What a checking kernel does once comes between the starts of two clocks. */
static void warm_up(const struct perf_event_attr *attr)
{
	int fd = open_self(attr);

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	read_count(fd);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	close(fd);
}

static uint64_t own_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

/*
 * Opened with both times: the clock runs for as long as the event does, which is as
 * long as the scheduler lets the task run.
 */
static void time_of_a_task(int i)
{
	struct perf_event_attr attr = software(clocks[i]);
	struct count spun, slept;
	uint64_t inside, outside;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	warm_up(&attr);
	fd = open_self(&attr);
	outside = now_ns();
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	inside = own_time();
	spin(RUN);
	inside = own_time() - inside;
	spun = read_count(fd);
	outside = now_ns() - outside;
	between(spun.value, inside - MS, outside + outside / 100, "%s of a busy task", names[i]);
	between(spun.value, spun.running - spun.running / 1000, spun.running + spun.running / 1000,
		"%s: the time for which it runs", names[i]);
	is(spun.running, spun.enabled, "%s: it never waits", names[i]);
	sleep_ms(50);
	slept = read_count(fd);
	between(slept.value - spun.value, 0, 5 * MS, "%s of a sleeping task", names[i]);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	slept = read_count(fd);
	spin(5 * MS);
	is(read_value(fd), slept.value, "%s: stands still when disabled", names[i]);
	close(fd);
}

static void time_of_a_cpu(int i)
{
	struct perf_event_attr attr = software(clocks[i]);
	int fd = open_event(&attr, -1, cpu_possible() - 1);
	uint64_t outside = now_ns();

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	sleep_ms(50);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	outside = now_ns() - outside;
	between(read_value(fd), 49 * MS, outside + outside / 100, "%s of an idle CPU", names[i]);
	close(fd);
}

/* Their own copies: a timer or a list that two events shared would show. */
static void time_of_children(int i)
{
	struct perf_event_attr attr = software(clocks[i]);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.inherit = 1;
	attr.sample_period = MS;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.disabled = 0;
	fd = open_event(&attr, 0, 0);
	map_ring(&ring, fd, 16);
	for (int child = 0; child < 3; child++) {
		if (!fork()) {
			spin(10 * MS);
			_exit(0);
		}
	}
	for (int child = 0; child < 3; child++)
		wait(NULL);
	spin(10 * MS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	tally = drain(&ring, NULL, NULL);
	/* on one CPU the three share 10 ms */
	between(read_value(fd), 19 * MS, 500 * MS, "%s: the time of children as well", names[i]);
	between(tally.samples + 6, read_value(fd) / MS, read_value(fd) / MS + 9,
		"%s: and samples of all", names[i]);
	ring_unmap(&ring);
	close(fd);
}

struct clock_samples {
	uint64_t user;
	uint64_t kernel;
	uint64_t periods;
	uint64_t wrong;
	uint64_t ran;
};

/* ip, period */
static void check_clock(const struct record *rec, void *data)
{
	struct clock_samples *samples = data;
	bool kernel = rec->field[0] >> 63;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	samples->user += !kernel;
	samples->kernel += kernel;
	samples->periods += rec->field[1];
	samples->wrong += (rec->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
			  (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
}

/* Another task of the machine may need the CPU meanwhile. */
static uint64_t cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static struct clock_samples sample_spin(struct perf_event_attr *attr, uint64_t *value)
{
	struct clock_samples samples = { 0 };
	struct ring ring;
	int fd;

	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	fd = open_self(attr);
	map_ring(&ring, fd, 16);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	samples.ran = cpu_time();
	spin(RUN);
	samples.ran = cpu_time() - samples.ran;
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	*value = read_value(fd);
	drain(&ring, check_clock, &samples);
	ring_unmap(&ring);
	close(fd);
	return samples;
}

static void samples_of_a_task(int i)
{
	struct perf_event_attr attr = software(clocks[i]);
	struct clock_samples samples;
	uint64_t value;

	attr.sample_period = MS;
	samples = sample_spin(&attr, &value);
	between(samples.periods, value - 2 * MS, value, "%s: periods add up to the count",
		names[i]);
	between(samples.user, value / MS * 8 / 10, value / MS, "%s: a sample every ms",
		names[i]);
	is(samples.wrong, 0, "%s: of the mode that the address is in", names[i]);

	attr.sample_freq = 2000;
	attr.freq = 1;
	samples = sample_spin(&attr, &value);
	between(samples.periods, value - 2 * MS, value, "%s: a frequency is a fixed period",
		names[i]);
	is(samples.periods % (MS / 2), 0, "%s: of 1/frequency", names[i]);

	attr.exclude_kernel = 1;
	samples = sample_spin(&attr, &value);
	is(samples.kernel, 0, "%s:u: no sample in the kernel", names[i]);
	between(samples.user, value / MS, 2 * value / MS, "%s:u: those of user mode", names[i]);
	between(value, samples.ran - MS, UINT64_MAX >> 1, "%s:u counts all time, as perf", names[i]);
}

/* 1 ns is served as 10 us, and a throttled clock still counts */
static void shortest_period(int i)
{
	struct perf_event_attr attr = software(clocks[i]);
	struct clock_samples samples;
	uint64_t value;

	attr.sample_period = 1;
	samples = sample_spin(&attr, &value);
	between(samples.user + samples.kernel, 10, value / 10000 + 2, "%s: not above 100 kHz",
		names[i]);
	between(value, samples.ran - MS, UINT64_MAX >> 1, "%s: counts all time", names[i]);
	diag("%llu of %llu us", (unsigned long long)samples.ran / 1000, RUN / 1000ULL);
}

/*
 * Timers that are due faster than they can be served, and that no limit of samples
 * stops, since there are none: in user mode, which is excluded.
 */
static void beside_short_periods(int clocks)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t alone, beside;
	int fds[16];

	attr.sample_period = 1;
	attr.exclude_user = 1;
	alone = spin(RUN);
	for (int i = 0; i < clocks; i++)
		fds[i] = open_self(&attr);
	for (int i = 0; i < clocks; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	beside = spin(RUN);
	for (int i = 0; i < clocks; i++)
		close(fds[i]);
	between(beside, alone / 4, alone, "%d clocks of 10 us leave a task its time", clocks);
	diag("%llu %% of it", (unsigned long long)(beside * 100 / alone));
}

static uint64_t samples_of_idle(bool exclude)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.sample_period = MS;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.exclude_idle = exclude;
	fd = open_event(&attr, -1, cpu_possible() - 1);
	map_ring(&ring, fd, 16);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	sleep_ms(50);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	tally = drain(&ring, NULL, NULL);
	ring_unmap(&ring);
	close(fd);
	return tally.samples;
}

int main(void)
{
	plan(2 * (5 + 1 + 2 + 8 + 2) + 5 + 2);
	cpu_pin(0);
	for (int i = 0; i < 2; i++) {
		time_of_a_task(i);
		time_of_a_cpu(i);
		time_of_children(i);
		samples_of_a_task(i);
		shortest_period(i);
	}
	for (int clocks = 1; clocks <= 16; clocks *= 2)
		beside_short_periods(clocks);
	between(samples_of_idle(false), 40, 60, "an idle CPU is sampled");
	between(samples_of_idle(true), 0, 20, "exclude_idle: only while it has something to do");
	return done();
}
