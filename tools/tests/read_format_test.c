// SPDX-License-Identifier: GPL-2.0
/*
 * read(2) of an event: the sixteen layouts of a single event, buffers that are too
 * small, and the meaning of the two times.
 */
#include <errno.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		10000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define BOTH_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* in the order of the words after the value */
static const uint64_t formats[] = {
	PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_FORMAT_ID,
	FORMAT_LOST,
};

#define LAYOUTS (1U << ARRAY_SIZE(formats))

static bool words_are_right(const uint64_t *word, uint64_t format, uint64_t id)
{
	uint64_t enabled = 0;

	if (*word < LENGTH || *word > LENGTH + machine_slack(LENGTH))
		return false;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		enabled = *++word;
		if (!enabled)
			return false;
	}
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING &&
	    (!*++word || (enabled && *word != enabled)))
		return false;
	if (format & PERF_FORMAT_ID && *++word != id)
		return false;
	return !(format & FORMAT_LOST && *++word);
}

static void layout(unsigned int bits)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t words[8];
	size_t size = 8;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (bits & 1U << i) {
			attr.read_format |= formats[i];
			size += 8;
		}
	fd = open_self(&attr);
	work_counted(fd, ROUNDS);
	is(read(fd, words, sizeof(words)), size, "read_format %#llx: size",
	   (unsigned long long)attr.read_format);
	ok(words_are_right(words, attr.read_format, event_id(fd)),
	   "the contents match the read_format");
	gives(read(fd, words, size - 1), ENOSPC, "a buffer one byte too small: ENOSPC");
	is(read(fd, words, size), size, "a buffer of the exact size is filled");
	gives(read(fd, words, 0), ENOSPC, "an empty buffer: ENOSPC");
	gives(read(fd, (void *)8, size), EFAULT, "a bad address: EFAULT");
	close(fd);
}

#define LAYOUT_CHECKS 6

static void identities(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int a = open_self(&attr), b = open_self(&attr);
	uint64_t id = event_id(a);

	ok(id != event_id(b), "two events have two ids");
	is(event_id(a), id, "an event's id does not change");
	close(a);
	close(b);
}

/* enabled: since ENABLE; running: of that, on a counter; both stop with DISABLE */
static void times(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct count before, after;
	uint64_t start, took;
	int fd;

	attr.read_format = BOTH_TIMES;
	fd = open_self(&attr);
	sleep_ms(2);
	before = read_count(fd);
	is(before.enabled + before.running, 0, "an event that was never enabled has no time");

	start = now_ns();
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	before = read_count(fd);
	work(ROUNDS);
	after = read_count(fd);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	took = now_ns() - start;
	ok(after.enabled > before.enabled && after.running > before.running,
	   "the times grow while the event is enabled");
	is(after.running, after.enabled, "an event with its own counter runs all the time");
	between(after.enabled, 1, took, "the enabled time is at most the elapsed time");

	before = read_count(fd);
	work(ROUNDS);
	sleep_ms(2);
	after = read_count(fd);
	ok(after.enabled == before.enabled && after.running == before.running &&
	   after.value == before.value, "the count and the times do not change while disabled");

	switch_event(fd, PERF_EVENT_IOC_RESET);
	after = read_count(fd);
	is(after.value, 0, "RESET: the count is 0");
	ok(after.enabled == before.enabled && after.running == before.running,
	   "RESET keeps the times");
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	after = read_count(fd);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	between(after.enabled, before.enabled + 1, before.enabled + 1000000000,
		"ENABLE: the times continue");
	close(fd);
}

/* A task's time passes while the task runs, not while it sleeps. */
static void task_time(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct count before, after;
	uint64_t start;
	int fd;

	attr.read_format = BOTH_TIMES;
	attr.disabled = 0;
	fd = open_self(&attr);
	before = read_count(fd);
	start = now_ns();
	sleep_ms(50);
	start = now_ns() - start;
	after = read_count(fd);
	between(after.enabled - before.enabled, 1, start / 2,
		"a task event's time stops while its task sleeps");
	close(fd);

	fd = open_event(&attr, -1, 0);
	before = read_count(fd);
	sleep_ms(50);
	after = read_count(fd);
	between(after.enabled - before.enabled, 50000000, UINT64_MAX,
		"a CPU event's time passes while tasks sleep");
	is(after.running - before.running, after.enabled - before.enabled,
	   "a CPU event runs all the time");
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(LAYOUTS * LAYOUT_CHECKS + 2 + 8 + 3);
	for (unsigned int bits = 0; bits < LAYOUTS; bits++)
		layout(bits);
	identities();
	times();
	task_time();
	return done();
}
