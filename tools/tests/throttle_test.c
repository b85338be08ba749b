// SPDX-License-Identifier: GPL-2.0
/*
 * Throttling: a very short period loses samples, marked by THROTTLE and UNTHROTTLE
 * records, but does not take over the machine.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TIME)
#define CPUS_MAX	64

/* throttling of one event, from its records */
struct story {
	uint64_t id;
	uint64_t last_time;
	uint64_t throttles;
	uint64_t unthrottles;
	uint64_t wrong_layout;
	uint64_t wrong_order;
	uint64_t samples_meanwhile;
	bool throttled;
};

static void check_record(const struct record *rec, void *data)
{
	bool begins = rec->header.type == PERF_RECORD_THROTTLE;
	struct story *story = data;

	if (rec->header.type == PERF_RECORD_SAMPLE)
		story->samples_meanwhile += story->throttled;
	if (!begins && rec->header.type != PERF_RECORD_UNTHROTTLE)
		return;
	/* time, id, stream id */
	story->wrong_layout += rec->header.size != sizeof(rec->header) + 24 ||
			       rec->field[0] < story->last_time ||
			       rec->field[1] != story->id || rec->field[2] != story->id;
	story->wrong_order += story->throttled == begins;
	story->throttled = begins;
	story->last_time = rec->field[0];
	story->throttles += begins;
	story->unthrottles += !begins;
}

/* as long as it takes to be throttled for some ticks */
static void one_task(uint64_t period)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period, SAMPLE_TYPE);
	uint64_t rounds = 1000000, length = rounds * WORK_ROUND + WORK_TAIL;
	struct story story = { 0 };
	struct tally tally;
	struct ring ring;
	int fd = open_self(&attr);

	story.id = event_id(fd);
	map_ring(&ring, fd, 1024);
	work_counted(fd, rounds);
	/* a throttled event is unthrottled although it is disabled by then, or keeps still */
	sleep_ms(30);
	tally = drain(&ring, check_record, &story);
	between(story.throttles, 1, length,
		"period %llu: the event is throttled", (unsigned long long)period);
	between(story.unthrottles, story.throttles - 1, story.throttles,
		"each THROTTLE except possibly the last has an UNTHROTTLE");
	is(story.wrong_order, 0, "THROTTLE and UNTHROTTLE alternate");
	is(story.wrong_layout, 0, "the records have the right time, id and stream id");
	/* the sample above the limit may come after its THROTTLE record */
	between(story.samples_meanwhile, 0, story.throttles,
		"at most one sample per throttle comes before UNTHROTTLE");
	is(tally.lost + tally.others + tally.broken, 0, "no record is lost");
	between(read_value(fd), length, length + machine_slack(length),
		"a throttled event counts all the time");
	ring_unmap(&ring);
	close(fd);
}

#define TASK_CHECKS 7

/* instructions within one tick at most, so that nothing else ends the throttling */
#define BURST		20000

/* an event that is off its counter when its throttling ends must not stay throttled */
static void throttled_while_off(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 2, SAMPLE_TYPE);
	struct story story = { 0 };
	struct ring ring;
	uint64_t period = 3;
	int fd = open_self(&attr);

	story.id = event_id(fd);
	map_ring(&ring, fd, 1024);
	work_counted(fd, BURST);
	sleep_ms(30);
	between(drain(&ring, check_record, &story).samples, 1, BURST * WORK_ROUND,
		"an event is throttled and then disabled");
	work_counted(fd, BURST);
	between(drain(&ring, check_record, &story).samples, 1, BURST * WORK_ROUND,
		"a throttled and disabled event samples after ENABLE");

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(BURST);
	sleep_ms(30);
	drain(&ring, check_record, &story);
	work(BURST);
	sleep_ms(30);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	between(drain(&ring, check_record, &story).samples, 1, BURST * WORK_ROUND,
		"a throttled task that slept for some ticks samples again");

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(BURST);
	if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &period))
		bail_out("PERIOD");
	work(BURST);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	drain(&ring, check_record, &story);
	is(story.wrong_order, 0, "PERIOD unthrottles with an UNTHROTTLE record");
	ring_unmap(&ring);
	close(fd);
}

/* page faults: each is a sample, and touching a page is quick */
static void software_event(void)
{
	struct perf_event_attr attr = sampling(0, 1, SAMPLE_TYPE);
	size_t size = sysconf(_SC_PAGESIZE), pages = 4096;
	struct pmuring_info info = module_info();
	struct story story = { 0 };
	struct tally tally;
	uint64_t began, most;
	struct ring ring;
	char *memory = untouched_pages(pages);
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	fd = open_self(&attr);
	story.id = event_id(fd);
	map_ring(&ring, fd, 64);
	module_set_parameter("max_sample_rate", 10000);
	began = now_ns();
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)(memory + i * size) = 1;
	sleep_ms(30);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	most = (now_ns() - began) / 1000000 * 10 + 100;
	module_set_parameter("max_sample_rate", info.max_sample_rate);
	tally = drain(&ring, check_record, &story);
	between(story.throttles, 1, pages, "page faults are throttled");
	is(story.unthrottles, story.throttles, "page faults: each THROTTLE has an UNTHROTTLE");
	is(story.wrong_order + story.wrong_layout, 0,
	   "page faults: the records alternate and are whole");
	between(tally.samples, 40, most < pages ? most : pages - 1,
		"throttled page faults have fewer samples than faults");
	between(story.samples_meanwhile, 0, story.throttles,
		"page faults: at most one sample per throttle");
	/* user space may take a page twice: for a read of the stack, say */
	between(read_value(fd), pages, pages + 16, "a throttled event counts all the time");
	ring_unmap(&ring);
	munmap(memory, pages * size);
	close(fd);
}

#define SOFTWARE_CHECKS 6

/* samples of an event with a short period, in so many ns of work */
static uint64_t dear_samples(uint64_t ns, struct story *hog, struct story *rare)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 300, SAMPLE_TYPE);
	struct ring rings[2];
	struct tally tally;
	uint64_t samples = 0;
	int fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = open_self(&attr);
		map_ring(&rings[i], fds[i], 256);
		/* its own samples must fit the limit, also where a sample takes 50 us */
		attr.sample_period = 1000000;
	}
	hog->id = event_id(fds[0]);
	rare->id = event_id(fds[1]);
	for (int i = 0; i < 2; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	for (uint64_t begin = now_ns(); now_ns() - begin < ns;) {
		work(2000);
		tally = drain(&rings[0], check_record, hog);
		samples += tally.samples;
	}
	for (int i = 0; i < 2; i++)
		switch_event(fds[i], PERF_EVENT_IOC_DISABLE);
	samples += drain(&rings[0], check_record, hog).samples;
	drain(&rings[1], check_record, rare);
	for (int i = 0; i < 2; i++) {
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	return samples;
}

/* without a rate limit only the time limit applies */
static void cpu_time(void)
{
	struct story hog = { 0 }, rare = { 0 };
	struct pmuring_info info = module_info();
	long percent = module_parameter("cpu_time_max_percent");
	uint64_t free, limited;

	ok(!module_set_parameter("cpu_time_max_percent", 101), "101 %% of the time is refused");
	module_set_parameter("max_sample_rate", 1000000000);
	module_set_parameter("cpu_time_max_percent", 100);
	free = dear_samples(40000000, &hog, &rare);
	is(hog.throttles, 0, "an event is not throttled without limits");
	hog = (struct story){ 0 };
	rare = (struct story){ 0 };
	module_set_parameter("cpu_time_max_percent", 10);
	limited = dear_samples(40000000, &hog, &rare);
	module_set_parameter("cpu_time_max_percent", percent);
	module_set_parameter("max_sample_rate", info.max_sample_rate);
	between(hog.throttles, 1, UINT64_MAX, "an event is throttled at a time limit of 10 %%");
	between(limited, 40, free / 2, "the time limit allows less than half of %llu samples",
		(unsigned long long)free);
	is(hog.wrong_order + hog.wrong_layout, 0,
	   "the time limit: THROTTLE and UNTHROTTLE alternate");
	is(rare.throttles, 0, "the time limit does not throttle a slow event beside it");
	is(module_info().max_sample_rate, info.max_sample_rate,
	   "the time limit does not lower max_sample_rate");
}

#define TIME_CHECKS 7

struct busy_cpu {
	int cpu;
	int fd;
	struct ring ring;
	struct story story;
	struct tally sum;
	pthread_t thread;
};

static atomic_bool stop;

static void *keep_busy(void *data)
{
	struct busy_cpu *c = data;
	struct tally tally;

	cpu_pin(c->cpu);
	while (!stop) {
		work(10000);
		tally = drain(&c->ring, check_record, &c->story);
		c->sum.samples += tally.samples;
		c->sum.lost += tally.lost;
		c->sum.broken |= tally.broken;
	}
	return NULL;
}

static void start(struct busy_cpu *c, int cpu, uint64_t period, bool kernel)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period, SAMPLE_TYPE);

	attr.exclude_kernel = !kernel;
	*c = (struct busy_cpu){ .cpu = cpu };
	c->fd = open_event(&attr, -1, cpu);
	c->story.id = event_id(c->fd);
	map_ring(&c->ring, c->fd, 256);
	switch_event(c->fd, PERF_EVENT_IOC_ENABLE);
	pthread_create(&c->thread, NULL, keep_busy, c);
}

static void finish(struct busy_cpu *c)
{
	pthread_join(c->thread, NULL);
	switch_event(c->fd, PERF_EVENT_IOC_DISABLE);
	drain(&c->ring, check_record, &c->story);
	ring_unmap(&c->ring);
	close(c->fd);
}

static void tell(const struct busy_cpu *c)
{
	const struct story *s = &c->story;

	diag("CPU %d: %llu samples, %llu lost, %llu throttles, %llu unthrottles; %llu out of turn, %llu malformed, %llu samples while throttled",
	     c->cpu, (unsigned long long)c->sum.samples, (unsigned long long)c->sum.lost,
	     (unsigned long long)s->throttles, (unsigned long long)s->unthrottles,
	     (unsigned long long)s->wrong_order, (unsigned long long)s->wrong_layout,
	     (unsigned long long)s->samples_meanwhile);
}

/* load all CPUs for seconds: the main thread must still get its share */
static void all_cpus(uint64_t period, bool kernel, unsigned int seconds)
{
	static struct busy_cpu cpus[CPUS_MAX];
	int n = cpu_possible() < CPUS_MAX ? cpu_possible() : CPUS_MAX;
	struct pmuring_info info = module_info();
	uint64_t begin = now_ns(), most, took, naps = 0;
	bool throttled = true, order = true, whole = true;
	int log = kernel_log_open();

	stop = false;
	for (int i = 0; i < n; i++)
		start(&cpus[i], i, period, kernel);
	while (now_ns() - begin < seconds * 1000000000ULL) {
		sleep_ms(10);
		naps++;
	}
	stop = true;
	for (int i = 0; i < n; i++)
		finish(&cpus[i]);
	took = (now_ns() - begin) / 1000000;
	most = 0;
	for (int i = 0; i < n; i++) {
		struct story *s = &cpus[i].story;

		tell(&cpus[i]);
		throttled &= s->throttles > seconds;
		order &= !s->wrong_order && !s->wrong_layout &&
			 s->samples_meanwhile <= s->throttles &&
			 s->throttles - s->unthrottles <= 1;
		whole &= !cpus[i].sum.broken;
		if (cpus[i].sum.samples > most)
			most = cpus[i].sum.samples;
	}
	ok(throttled,
	   "period %llu%s on all CPUs: each CPU is throttled", (unsigned long long)period,
	   kernel ? ", kernel mode too," : "");
	ok(order, "THROTTLE and UNTHROTTLE come in pairs on each CPU");
	ok(whole, "all records are whole");
	/* the limit is one of each tick, and rounds up */
	between(most, 1, took * info.max_sample_rate / 1000 * 5 / 4 + info.max_sample_rate / 10,
		"the samples stay below the limit");
	between(naps, seconds * 10, UINT64_MAX,
		"the machine stays responsive: %llu sleeps of 10 ms",
		(unsigned long long)naps);
	ok(kernel_log_is_clean(log), "the kernel log is clean");
}

#define ALL_CHECKS 6

/* Return: how often there was time for some work */
static uint64_t spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns, rounds;

	for (rounds = 0; now_ns() < end; rounds++)
		work(100);
	return rounds;
}

#define SPIN		100000000ULL

/*
 * Each overflow wakes readers of a ring that is never read. The time limit, and half of
 * it for the events throttled last, bounds the total cost.
 */
static void what_is_left(int events, uint64_t period)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period, SAMPLE_TYPE);
	struct pmuring_info info = module_info();
	uint64_t alone, beside;
	struct ring rings[8];
	int fds[8];

	attr.exclude_kernel = 0;
	attr.wakeup_events = 1;
	module_set_parameter("max_sample_rate", 1000000000);
	alone = spin(SPIN);
	for (int i = 0; i < events; i++) {
		fds[i] = open_self(&attr);
		map_ring(&rings[i], fds[i], 8);
	}
	for (int i = 0; i < events; i++)
		switch_event(fds[i], PERF_EVENT_IOC_ENABLE);
	beside = spin(SPIN);
	for (int i = 0; i < events; i++) {
		switch_event(fds[i], PERF_EVENT_IOC_DISABLE);
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	module_set_parameter("max_sample_rate", info.max_sample_rate);
	between(beside, alone / 2, alone, "%d events of period %llu leave half of the time",
		events, (unsigned long long)period);
	diag("%llu %%", (unsigned long long)(beside * 100 / alone));
}

int main(void)
{
	unsigned int seconds = getenv("PMURING_SECONDS") ? atoi(getenv("PMURING_SECONDS")) : 4;

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(2 * TASK_CHECKS + 4 + SOFTWARE_CHECKS + TIME_CHECKS + 3 * ALL_CHECKS + 4);
	cpu_pin(0);
	one_task(1);
	one_task(2);
	throttled_while_off();
	software_event();
	cpu_time();
	all_cpus(1, false, seconds);
	all_cpus(2, false, seconds);
	/* where the handler's own way out overflows the counter again */
	all_cpus(1, true, seconds);
	what_is_left(1, 1);
	what_is_left(1, 1009);
	what_is_left(8, 100);
	what_is_left(8, 5003);
	return done();
}
