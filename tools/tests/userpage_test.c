// SPDX-License-Identifier: GPL-2.0
/*
 * The user page: its constant fields, its lock and its clock. Times that user space
 * extrapolates match read(), and the converted TSC matches TIME in records.
 */
#include <stddef.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "user_page.h"
#include "workers.h"
#include "workload.h"

#define PERIOD		20011
#define TIMES		20
/* ns that a reader of the clock may be off */
#define OFF		1000
/* maximum ns between two reads of the page with a system call in between */
#define NEAR		50000

static struct perf_event_attr timed(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

static void constants(void)
{
	struct perf_event_attr attr = timed();
	struct pmuring_info info = module_info();
	int fd = open_self(&attr);
	struct reading r;
	struct ring ring;
	uint32_t lock;

	map_ring(&ring, fd, 2);
	is(ring.page->version + ring.page->compat_version, 0, "version is 0, as in perf");
	is(ring.page->cap_bit0_is_deprecated, 1, "cap_bit0_is_deprecated is set");
	is(ring.page->cap_bit0, 0, "cap_bit0 is not set");
	is(ring.page->size, offsetof(struct perf_event_mmap_page, __reserved), "size");
	is(ring.page->data_offset, 4096, "data_offset");
	is(ring.page->data_size, 8192, "data_size");
	is(ring.page->index, 0, "not enabled: the page has no index");
	is(ring.page->cap_user_rdpmc, 1, "cap_user_rdpmc");
	lock = ring.page->lock;
	is(lock & 1, 0, "the lock is even");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	ok(ring.page->lock > lock && !(ring.page->lock & 1), "the lock advances in steps of two");
	r = read_user_page(ring.page);
	/* an event of instructions has a counter of its own on Intel */
	ok(r.index && (r.index < RDPMC_FIXED ? r.index <= info.gp_counters :
					       r.index - RDPMC_FIXED <= info.fixed_counters),
	   "index %#x is a counter number plus 1", r.index);
	is(ring.page->pmc_width, r.index < RDPMC_FIXED ? info.gp_width : info.fixed_width,
	   "pmc_width");
	ring_unmap(&ring);
	close(fd);
}

/* the page, read(), the page: in this order, each a little later than the one before */
static bool in_order(uint64_t before, uint64_t value, uint64_t after, const char *what)
{
	if (before <= value + OFF && value <= after + OFF && after - before < NEAR)
		return true;
	diag("%s: page %llu, read() %llu, page %llu", what, (unsigned long long)before,
	     (unsigned long long)value, (unsigned long long)after);
	return false;
}

static bool times_agree(int fd, const struct ring *ring)
{
	struct reading before = read_user_page(ring->page), after;
	struct count count = read_count(fd);

	after = read_user_page(ring->page);
	return in_order(before.enabled, count.enabled, after.enabled, "enabled") &&
	       in_order(before.running, count.running, after.running, "running");
}

/* the times of a stopped event do not advance with the clock */
static void stopped_times(void)
{
	struct perf_event_attr attr = timed();
	int fd = open_self(&attr);
	struct count count;
	struct ring ring;

	map_ring(&ring, fd, 1);
	work_counted(fd, 1000);
	count = read_count(fd);
	is(ring.page->time_enabled, count.enabled, "disabled: time_enabled matches read()");
	is(ring.page->time_running, count.running, "disabled: time_running matches read()");
	is(ring.page->offset, count.value, "disabled: offset is the count");
	ring_unmap(&ring);
	close(fd);
}

static void running_times(void)
{
	struct perf_event_attr attr = timed();
	int fd = open_self(&attr), good = 0, reset = 0;
	struct ring ring;

	map_ring(&ring, fd, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < TIMES; i++) {
		work(1000 * i + 1);
		good += times_agree(fd, &ring);
		work(10000);
		switch_event(fd, PERF_EVENT_IOC_RESET);
		reset += times_agree(fd, &ring);
	}
	is(good, TIMES, "extrapolated enabled and running match read()");
	is(reset, TIMES, "extrapolated times match read() after RESET");
	ring_unmap(&ring);
	close(fd);
}

static uint64_t last_time;

static void see_time(const struct record *rec, void *data)
{
	(void)data;
	if (rec->header.type == PERF_RECORD_SAMPLE)
		last_time = rec->field[0];
}

/* take a sample between two reads of the page's clock */
static void clock_of_records(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_TIME);
	uint64_t before, after;
	struct ring ring;
	int fd = open_self(&attr), good = 0;

	map_ring(&ring, fd, 1);
	for (int i = 0; i < TIMES; i++) {
		last_time = 0;
		before = read_user_page(ring.page).clock;
		work_counted(fd, PERIOD / WORK_ROUND + 1);
		after = read_user_page(ring.page).clock;
		drain(&ring, see_time, NULL);
		good += last_time + OFF >= before && last_time <= after + OFF;
	}
	is(good, TIMES, "the converted TSC matches TIME in records");
	ring_unmap(&ring);
	close(fd);
}

static void clockid(void)
{
	struct perf_event_attr attr = timed();
	struct ring ring;
	int fd;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = open_self(&attr);
	map_ring(&ring, fd, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	is(ring.page->cap_user_time, 1, "use_clockid: cap_user_time is set");
	is(ring.page->cap_user_time_zero, 0, "use_clockid: cap_user_time_zero is not set");
	ring_unmap(&ring);
	close(fd);
}

/* a software event has times but no counter */
static void software_event(void)
{
	struct perf_event_attr attr = timed();
	struct ring ring;
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	fd = open_self(&attr);
	map_ring(&ring, fd, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	is(read_user_page(ring.page).index, 0, "a software event has no index");
	is(ring.page->cap_user_rdpmc, 0, "a software event has no cap_user_rdpmc");
	ring_unmap(&ring);
	close(fd);
}

static void work_on(uint64_t rounds, void *data)
{
	(void)data;
	work(rounds);
}

/* the page includes the counts of exited children, as read() does */
static void inherited(void)
{
	struct perf_event_attr attr = timed();
	struct worker w;
	struct ring ring;
	int fd, i;

	attr.inherit = 1;
	fd = open_event(&attr, 0, 0);
	map_ring(&ring, fd, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	worker_start(&w, work_on, NULL);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	worker_run(&w, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	worker_run(&w, 1000);
	worker_end(&w);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	/* the child's count is added shortly after its exit */
	for (i = 0; i < 100 && (uint64_t)ring.page->offset != read_value(fd); i++)
		sleep_ms(2);
	is(ring.page->offset, read_value(fd),
	   "inherited: offset includes the exited child's count");
	is(ring.page->time_enabled, read_count(fd).enabled,
	   "inherited: time_enabled matches read()");
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	struct perf_event_attr attr = timed();
	int log = kernel_log_open(), fd;
	struct ring ring;
	bool has_clock;

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(12 + 3 + 2 + 2 + 2 + 1 + 2 + 2);
	cpu_pin(0);
	fd = open_self(&attr);
	map_ring(&ring, fd, 1);
	has_clock = ring.page->cap_user_time;
	ring_unmap(&ring);
	close(fd);

	constants();
	stopped_times();
	software_event();
	inherited();
	if (has_clock) {
		running_times();
		clock_of_records();
		clockid();
	} else {
		skip(2 + 1 + 2, "the TSC is not usable as a clock");
	}
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
