// SPDX-License-Identifier: GPL-2.0
/*
 * Counts in samples (PERF_SAMPLE_READ): each sample of a known program has the exact
 * count of every group member, in every read_format. Also the address of a page fault
 * (PERF_SAMPLE_ADDR).
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		16000
#define SAMPLES		20
#define ROUNDS		(SAMPLES * PERIOD / WORK_ROUND)
#define PAGE		4096UL

#define MEMBERS		3

/**
 * struct run - samples of a group with instructions as leader
 * @format: read_format
 * @fds: instructions, branches, instructions once more
 * @ids: theirs
 * @samples: taken
 * @wrong: words that were not what they must be
 * @enabled: of the sample before
 */
struct run {
	uint64_t format;
	int fds[MEMBERS];
	uint64_t ids[MEMBERS];
	uint64_t samples;
	uint64_t wrong;
	uint64_t enabled;
};

static void check(struct run *run, uint64_t value, uint64_t want, const char *what)
{
	if (value == want)
		return;
	diag("format %#llx, sample %llu: %s is %llu, not %llu", (unsigned long long)run->format,
	     (unsigned long long)run->samples, what, (unsigned long long)value,
	     (unsigned long long)want);
	run->wrong++;
}

static const uint64_t *check_times(struct run *run, const uint64_t *at)
{
	uint64_t enabled = run->enabled;

	if (run->format & PERF_FORMAT_TOTAL_TIME_ENABLED) {
		enabled = *at++;
		run->wrong += enabled <= run->enabled;
		run->enabled = enabled;
	}
	/* all of it on a counter */
	if (run->format & PERF_FORMAT_TOTAL_TIME_RUNNING) {
		if (run->format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			check(run, *at, enabled, "running");
		at++;
	}
	return at;
}

static const uint64_t *check_names(struct run *run, const uint64_t *at, unsigned int member)
{
	if (run->format & PERF_FORMAT_ID)
		check(run, *at++, run->ids[member], "id");
	if (run->format & FORMAT_LOST)
		check(run, *at++, 0, "lost");
	return at;
}

static void check_sample(const struct record *rec, void *data)
{
	const uint64_t *at = rec->field;
	struct run *run = data;
	/* a round has a branch, its last instruction, and is the length of a period's part */
	uint64_t want[MEMBERS];

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	run->samples++;
	want[0] = run->samples * PERIOD;
	want[1] = want[0] / WORK_ROUND;
	want[2] = want[0];
	if (run->format & PERF_FORMAT_GROUP) {
		check(run, *at++, MEMBERS, "the number of members");
		at = check_times(run, at);
		for (unsigned int i = 0; i < MEMBERS; i++) {
			check(run, *at++, want[i], "a count");
			at = check_names(run, at, i);
		}
	} else {
		check(run, *at++, want[0], "the count");
		at = check_names(run, check_times(run, at), 0);
	}
	check(run, (const char *)at - (const char *)rec, rec->header.size, "the size");
}

static void open_group(struct run *run)
{
	static const uint64_t configs[MEMBERS] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		PERF_COUNT_HW_INSTRUCTIONS,
	};

	for (unsigned int i = 0; i < MEMBERS; i++) {
		struct perf_event_attr attr = hardware(configs[i]);

		attr.disabled = !i;
		attr.read_format = run->format;
		if (!i) {
			attr.sample_period = PERIOD;
			attr.sample_type = PERF_SAMPLE_READ;
		}
		run->fds[i] = door_open_event(&attr, 0, -1, i ? run->fds[0] : -1,
					      PERF_FLAG_FD_CLOEXEC);
		if (run->fds[i] < 0)
			bail_out("cannot open member %u of the group", i);
		run->ids[i] = event_id(run->fds[i]);
	}
}

static void sample_group(uint64_t format)
{
	struct run run = { .format = format };
	struct ring ring;

	open_group(&run);
	map_ring(&ring, run.fds[0], 8);
	work_counted(run.fds[0], ROUNDS);
	drain(&ring, check_sample, &run);
	ok(run.samples == SAMPLES && !run.wrong, "read_format %#llx: each count of %llu samples",
	   (unsigned long long)format, (unsigned long long)run.samples);
	ring_unmap(&ring);
	for (unsigned int i = 0; i < MEMBERS; i++)
		close(run.fds[i]);
}

/* A sibling can sample the group too; a disabled member keeps its count. */
static void sample_by_sibling(void)
{
	struct run run = { .format = PERF_FORMAT_GROUP };
	const struct perf_event_header *header;
	struct perf_event_attr attr;
	uint64_t n = 0, wrong = 0;
	struct ring ring;
	int fd;

	open_group(&run);
	attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 2 * PERIOD, PERF_SAMPLE_READ);
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	fd = door_open_event(&attr, 0, -1, run.fds[0], PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		bail_out("cannot open a sibling that samples");
	switch_event(run.fds[1], PERF_EVENT_IOC_DISABLE);
	map_ring(&ring, fd, 8);
	work_counted(run.fds[0], ROUNDS);
	while (ring_next(&ring, &header) > 0) {
		const uint64_t *at = ((const struct record *)header)->field;
		uint64_t count = 2 * PERIOD * ++n;

		wrong += at[0] != MEMBERS + 1 || at[1] != count || at[2] != 0 || at[3] != count ||
			 at[4] != count;
	}
	ok(n == SAMPLES / 2 && !wrong, "a sibling's samples: %llu, %llu wrong",
	   (unsigned long long)n, (unsigned long long)wrong);
	ring_unmap(&ring);
	for (unsigned int i = 0; i < MEMBERS; i++)
		close(run.fds[i]);
	close(fd);
}

#define PAGES	16

struct touches {
	const char *base;
	uint64_t samples;
	uint64_t wrong;
};

/* addr: each page once, in order */
static void check_fault(const struct record *rec, void *data)
{
	struct touches *touches = data;
	uint64_t want;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	want = (uintptr_t)touches->base + touches->samples++ * PAGE + 5;
	touches->wrong += rec->header.size != 16 || rec->field[0] != want;
}

static void fault_addresses(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	struct touches touches = { 0 };
	int fd = open_self(&attr);
	struct ring ring;
	char *at;

	at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		bail_out("no memory");
	madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
	touches.base = at;
	map_ring(&ring, fd, 8);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	for (unsigned int i = 0; i < PAGES; i++)
		((volatile char *)at)[i * PAGE + 5] = 1;
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	drain(&ring, check_fault, &touches);
	ok(touches.samples == PAGES && !touches.wrong, "%llu page faults with their addresses",
	   (unsigned long long)touches.samples);
	ring_unmap(&ring);
	munmap(at, PAGES * PAGE);
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(32 + 1 + 1);
	if (machine_is_exact()) {
		for (uint64_t format = 0; format < 32; format++)
			sample_group(format);
		sample_by_sibling();
	} else {
		skip(33, "counts are exact on the PMU QEMU only");
	}
	fault_addresses();
	return done();
}
