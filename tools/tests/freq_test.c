// SPDX-License-Identifier: GPL-2.0
/*
 * Frequency mode: the sample rate is the requested one even if the event rate changes,
 * and the periods add up to the count.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define MS	1000000ULL

/* in the order in which a sample holds them, with the times in its read format */
enum { TIME, PERIOD, VALUE, ENABLED, RUNNING, FIELDS };

#define SAMPLE_TYPE	(PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ)
#define TIMES		(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* when an event has to have found its period, in ns of running */
#define SETTLED		(20 * MS)

static struct perf_event_attr frequent(uint64_t freq)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	attr.freq = 1;
	attr.sample_freq = freq;
	attr.sample_type = SAMPLE_TYPE;
	attr.read_format = TIMES;
	return attr;
}

/* what the samples of an event say */
struct story {
	uint64_t samples;
	uint64_t interval;
	uint64_t rate;
	uint64_t calm;
	uint64_t settled;
	uint64_t checked;
	uint64_t early;
	uint64_t late;
	uint64_t sum;
	uint64_t wrong_sum;
	uint64_t wrong_size;
	uint64_t last_time;
	uint64_t last_running;
	uint64_t longest_silence;
	uint64_t longest_period;
};

static bool differs(uint64_t a, uint64_t b, unsigned int percent)
{
	return a > b + b * percent / 100 || a < b - b * percent / 100;
}

/*
 * Once it had some samples' time to find the period, they come when they should.
 * Others on this CPU, and busy CPUs of a virtual machine, change the rate.
 */
static void check_interval(struct story *story, uint64_t period, uint64_t ns)
{
	/* in a switch of tasks, which has one time, there may be several */
	uint64_t rate = ns ? period * 1000 / ns : UINT64_MAX;

	story->calm = differs(rate, story->rate, 3) ? 0 : story->calm + 1;
	story->rate = rate;
	if (story->calm < 10)
		return;
	story->checked++;
	story->early += ns < story->interval * 9 / 10;
	story->late += ns > story->interval * 11 / 10;
}

static void check_sample(const struct record *rec, void *data)
{
	const uint64_t *field = rec->field;
	struct story *story = data;
	uint64_t silence;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	if (rec->header.size != sizeof(rec->header) + FIELDS * 8) {
		story->wrong_size++;
		return;
	}
	story->sum += field[PERIOD];
	/* a sample may be late, and none can be early */
	story->wrong_sum += field[VALUE] < story->sum ||
			    field[VALUE] - story->sum > machine_slack(field[PERIOD]);
	silence = story->samples++ ? field[TIME] - story->last_time : 0;
	if (silence > story->longest_silence)
		story->longest_silence = silence;
	story->last_time = field[TIME];
	if (field[PERIOD] > story->longest_period)
		story->longest_period = field[PERIOD];
	story->settled += field[RUNNING] >= SETTLED;
	check_interval(story, field[PERIOD], field[RUNNING] - story->last_running);
	story->last_running = field[RUNNING];
}

/* steady work for so many ns of running */
static void work_for(int fd, uint64_t ns)
{
	uint64_t until = read_count(fd).running + ns;

	while (read_count(fd).running < until)
		work(20000);
}

/* as many as asked for, within 5 % */
static bool about(uint64_t got, uint64_t want, const char *what)
{
	return between(got, want - want / 20 - 1, want + want / 20 + 1, "%s", what);
}

static void steady(uint64_t freq)
{
	struct perf_event_attr attr = frequent(freq);
	struct story story = { .interval = 1000 * MS / freq };
	struct count count;
	struct tally tally;
	struct ring ring;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 128);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 300 * MS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	count = read_count(fd);
	tally = drain(&ring, check_sample, &story);
	diag("freq %llu: %llu samples in %llu us; of %llu checked %llu early, %llu late",
	     (unsigned long long)freq, (unsigned long long)story.samples,
	     (unsigned long long)count.running / 1000, (unsigned long long)story.checked,
	     (unsigned long long)story.early, (unsigned long long)story.late);
	about(story.samples, count.running * freq / (1000 * MS),
	      "steady work is sampled at the requested rate");
	about(story.settled, (count.running - SETTLED) * freq / (1000 * MS),
	      "the rate is right from 20 ms on");
	if (story.checked >= 10)
		is(story.early + story.late, 0,
		   "no sample of %llu at a steady rate is 10 %% early or late",
		   (unsigned long long)story.checked);
	else
		skip(1, "the rate was never steady");
	is(story.wrong_sum + story.wrong_size, 0, "the periods add up to the count at each sample");
	between(count.value - story.sum, 0, story.longest_period,
		"the periods add up to the final count except the last, open period");
	is(tally.lost + tally.throttles + tally.others + tally.broken, 0,
	   "the ring holds only samples");
	ring_unmap(&ring);
	close(fd);
}

#define STEADY_CHECKS 6

/* time while the task is off the CPU does not count for the event */
static void with_pauses(void)
{
	struct perf_event_attr attr = frequent(4000);
	struct story story = { 0 };
	struct count count;
	struct ring ring;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 128);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 20 * MS);
	drain(&ring, check_sample, &story);
	count = read_count(fd);
	story.samples = 0;
	for (int i = 0; i < 60; i++) {
		work_for(fd, 2 * MS);
		sleep_ms(3);
	}
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	drain(&ring, check_sample, &story);
	about(story.samples, (read_count(fd).running - count.running) * 4000 / (1000 * MS),
	      "2 ms of work, 3 ms of sleep: only the work is sampled");
	is(story.wrong_sum, 0, "the periods add up to the count");
	ring_unmap(&ring);
	close(fd);
}

/*
 * An event of both modes may overflow in the middle of the switch to its task:
 * the sleep before is not the time in which it has counted so little.
 */
static void overflows_at_the_switch(void)
{
	struct perf_event_attr attr = frequent(100000);
	long limit = module_parameter("max_sample_rate");
	struct story story = { 0 };
	struct count before, after;
	uint64_t most = 0, due;
	struct ring ring;
	int fd;

	module_set_parameter("max_sample_rate", 1000000);
	attr.exclude_kernel = 0;
	fd = open_self(&attr);
	map_ring(&ring, fd, 128);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 20 * MS);
	drain(&ring, check_sample, &story);
	diag("%u samples in 20 ms", (unsigned int)story.samples);
	if (story.samples < 1000) {
		skip(1, "a sample takes longer here than the 10 us of a period");
		goto close;
	}
	for (int i = 0; i < 400; i++) {
		drain(&ring, check_sample, &story);
		story.samples = 0;
		before = read_count(fd);
		sleep_ms(5);
		work(30000);
		after = read_count(fd);
		drain(&ring, check_sample, &story);
		due = (after.running - before.running) * attr.sample_freq / (1000 * MS);
		if (story.samples > due && story.samples - due > most)
			most = story.samples - due;
	}
	between(most, 0, 6, "no burst of samples after any of 400 sleeps of 5 ms");
close:
	ring_unmap(&ring);
	close(fd);
	module_set_parameter("max_sample_rate", limit);
}

/* some 20 instructions of user mode for each some 10,000 of the kernel */
static void work_in_kernel(int fd, uint64_t ns)
{
	static char text[1 << 18];
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t until = read_count(fd).running + ns;

	while (read_count(fd).running < until)
		if (read(zero, text, sizeof(text)) < 0)
			bail_out("/dev/zero");
	close(zero);
}

/* no long gap while the old period is too long for the new rate */
static void rate_falls_and_rises(void)
{
	struct perf_event_attr attr = frequent(1000);
	struct story story = { 0 };
	struct ring ring;
	struct count before, after;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 128);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 100 * MS);
	drain(&ring, check_sample, &story);
	before = read_count(fd);
	story.longest_silence = 0;
	story.samples = 0;
	work_in_kernel(fd, 100 * MS);
	drain(&ring, check_sample, &story);
	after = read_count(fd);
	diag("%llu instructions a ms, %llu samples, longest silence %llu us",
	     (unsigned long long)((after.value - before.value) * MS / (after.running - before.running)),
	     (unsigned long long)story.samples, (unsigned long long)story.longest_silence / 1000);
	ok((after.value - before.value) * 50 < after.running - before.running,
	   "the event rate falls to less than a fiftieth");
	between(story.longest_silence, 0, 20 * MS, "no gap between samples exceeds 20 ms");
	between(story.samples, 75, 125, "100 ms at the low rate have the requested samples");
	story.samples = 0;
	work_for(fd, 100 * MS);
	drain(&ring, check_sample, &story);
	between(story.samples, 90, 130, "no burst when the event rate rises again");
	is(story.wrong_sum, 0, "the periods add up to the count");
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	ring_unmap(&ring);
	close(fd);
}

/* more events than counters: each has its samples while it counts */
static void multiplexed(void)
{
	struct perf_event_attr attr = frequent(4000);
	struct story stories[12] = { 0 };
	int fds[ARRAY_SIZE(stories)];
	struct ring rings[ARRAY_SIZE(stories)];
	uint64_t running = 0, samples = 0, wrong = 0, away = 0;
	struct count count;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = open_self(&attr);
		map_ring(&rings[i], fds[i], 32);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	for (uint64_t begin = now_ns(); now_ns() - begin < 300 * MS;)
		work(20000);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		switch_event(fds[i], PERF_EVENT_IOC_DISABLE);
		count = read_count(fds[i]);
		drain(&rings[i], check_sample, &stories[i]);
		running += count.running;
		away += count.enabled - count.running;
		samples += stories[i].samples;
		wrong += stories[i].wrong_sum;
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	ok(away > running / 10, "12 events at once take turns");
	about(samples, running * 4000 / (1000 * MS), "each event has samples for the time it runs");
	is(wrong, 0, "the periods add up to the counts");
}

static void new_frequency(void)
{
	struct perf_event_attr attr = frequent(1000);
	struct pmuring_info info = module_info();
	uint64_t freq = 5000, too_high = info.max_sample_rate + 1;
	struct story story = { 0 };
	struct count before;
	struct ring ring;
	int fd;

	attr.sample_freq = too_high;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL,
	      "a frequency above max_sample_rate is refused");
	attr.sample_freq = 1000;
	fd = open_self(&attr);
	map_ring(&ring, fd, 128);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 50 * MS);
	gives(ioctl(fd, PERF_EVENT_IOC_PERIOD, &too_high), EINVAL,
	      "PERIOD refuses a frequency above max_sample_rate");
	ok(!ioctl(fd, PERF_EVENT_IOC_PERIOD, &freq), "PERIOD sets a frequency");
	drain(&ring, check_sample, &story);
	before = read_count(fd);
	story.samples = 0;
	work_for(fd, 100 * MS);
	drain(&ring, check_sample, &story);
	about(story.samples, (read_count(fd).running - before.running) * freq / (1000 * MS),
	      "the new frequency takes effect at once");
	is(story.wrong_sum, 0, "the periods add up to the count");
	ring_unmap(&ring);
	close(fd);
}

/* a clock has a fixed rate, so a frequency is a fixed period */
static void clocks(void)
{
	struct perf_event_attr attr = frequent(2000);
	struct tally tally;
	struct ring ring;
	struct count count;
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.sample_type = PERF_SAMPLE_TIME;
	fd = open_self(&attr);
	map_ring(&ring, fd, 32);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work_for(fd, 100 * MS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	count = read_count(fd);
	tally = drain(&ring, NULL, NULL);
	/* what is in the kernel when the clock ticks gives no sample */
	between(tally.samples, count.running * 2000 / (1000 * MS) * 9 / 10,
		count.running * 2000 / (1000 * MS) + 1, "task-clock at 2000 Hz");
	ring_unmap(&ring);
	close(fd);
}

/* a software event: its first period is a guess, too */
static void page_faults(void)
{
	struct perf_event_attr attr = frequent(2000);
	size_t size = sysconf(_SC_PAGESIZE), pages = 64;
	struct story story = { 0 };
	struct ring ring;
	struct count count;
	char *memory = untouched_pages(pages);
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	fd = open_self(&attr);
	map_ring(&ring, fd, 64);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	while (read_count(fd).running < 100 * MS) {
		for (size_t i = 0; i < pages; i++)
			*(volatile char *)(memory + i * size) = 1;
		madvise(memory, pages * size, MADV_DONTNEED);
	}
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	count = read_count(fd);
	drain(&ring, check_sample, &story);
	diag("%llu page faults in %llu us", (unsigned long long)count.value,
	     (unsigned long long)count.running / 1000);
	ok(count.value > 10 * story.samples, "there are ten times as many page faults as samples");
	between(story.samples, 180, 230, "page faults are sampled at 2000 Hz");
	is(story.wrong_sum + story.wrong_size, 0, "the periods add up to the count");
	ring_unmap(&ring);
	munmap(memory, pages * size);
	close(fd);
}

/* the event and its frequency timer come back with their CPU */
static void cpu_that_was_away(void)
{
	struct perf_event_attr attr = frequent(4000);
	struct story story = { 0 };
	struct count before, after;
	struct ring ring;
	int fd;

	if (cpu_possible() < 2 || !cpu_is_online(1)) {
		skip(2, "no second CPU");
		return;
	}
	attr.disabled = 0;
	fd = open_event(&attr, -1, 1);
	map_ring(&ring, fd, 128);
	cpu_pin(1);
	work_for(fd, 20 * MS);
	cpu_pin(0);
	if (!cpu_set_online(1, false) || !cpu_set_online(1, true)) {
		skip(2, "CPU 1 cannot go offline");
	} else {
		cpu_pin(1);
		/* a rate that takes a tick to be found */
		work_in_kernel(fd, 20 * MS);
		drain(&ring, check_sample, &story);
		story.samples = 0;
		before = read_count(fd);
		work_in_kernel(fd, 100 * MS);
		after = read_count(fd);
		drain(&ring, check_sample, &story);
		cpu_pin(0);
		between(story.samples, (after.running - before.running) * 4000 / (1000 * MS) * 3 / 4,
			(after.running - before.running) * 4000 / (1000 * MS) * 5 / 4,
			"after its CPU was offline: the rate is the requested one");
		is(story.wrong_sum, 0, "the periods add up to the count");
	}
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	static const uint64_t freqs[] = { 1000, 4000, 10000 };

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(ARRAY_SIZE(freqs) * STEADY_CHECKS + 2 + 1 + 5 + 3 + 5 + 1 + 3 + 2);
	cpu_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(freqs); i++)
		steady(freqs[i]);
	with_pauses();
	overflows_at_the_switch();
	rate_falls_and_rises();
	multiplexed();
	new_frequency();
	clocks();
	page_faults();
	cpu_that_was_away();
	return done();
}
