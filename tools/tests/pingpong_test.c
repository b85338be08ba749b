// SPDX-License-Identifier: GPL-2.0
/*
 * Two tasks alternate tens of thousands of times: counts are exact, each lost sample
 * is counted, and each NMI is claimed.
 *
 *	pingpong_test [SWITCHES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "players.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define SWITCHES	20000
/* the overhead of each run is the same, so two short runs measure it */
#define SHORT		50
#define LOOPS		100
#define ROUND		(2 * LOOPS + WORK_PINGPONG_ROUND)
/* the loop's jumps, the round's, two system calls */
#define ROUND_BRANCHES	(LOOPS + 3)
#define EVENTS		3
/* events between the end of a period and its overflow handler */
#define SKID		256

struct counted {
	struct perf_event_attr attr;
	uint64_t per_round;
	const char *what;
};

static uint64_t rounds;

static void check_growth(const uint64_t values[3], const struct counted *counted)
{
	uint64_t want = rounds * counted->per_round;

	between(values[2] - 2 * values[1] + values[0] + machine_slack(want), want,
		want + 2 * machine_slack(want), "%s: the count is exact", counted->what);
}

/* What the scheduler has counted itself, of both kinds. */
static uint64_t switches_of(pid_t pid)
{
	char path[32], text[4096];
	const char *voluntary, *other;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!whole_file(path, text, sizeof(text)))
		bail_out("no %s", path);
	voluntary = strstr(text, "\nvoluntary_ctxt_switches:");
	other = strstr(text, "\nnonvoluntary_ctxt_switches:");
	if (!voluntary || !other)
		bail_out("no switches in %s", path);
	return strtoull(strchr(voluntary, ':') + 1, NULL, 10) +
	       strtoull(strchr(other, ':') + 1, NULL, 10);
}

static void counting_switches(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t before[2];
	struct players p;
	int fds[2];

	attr.disabled = 0;
	players_start(&p, 0, 0, LOOPS);
	players_run(&p, SHORT);
	for (int i = 0; i < 2; i++) {
		before[i] = switches_of(p.workers[i].pid);
		fds[i] = open_event(&attr, p.workers[i].pid, -1);
	}
	players_run(&p, rounds);
	for (int i = 0; i < 2; i++) {
		is(read_value(fds[i]), switches_of(p.workers[i].pid) - before[i],
		   "context switches match the scheduler's count");
		close(fds[i]);
	}
	players_end(&p);
}

static void counting(void)
{
	const struct counted all[EVENTS] = {
		{ hardware(PERF_COUNT_HW_INSTRUCTIONS), ROUND, "instructions" },
		{ raw(0x10000c0), ROUND, "instructions on a general counter" },
		{ hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS), ROUND_BRANCHES, "branches" },
	};
	uint64_t values[2][EVENTS][3];
	int fds[2][EVENTS];
	struct players p;

	players_start(&p, 0, 0, LOOPS);
	for (int i = 0; i < 2 * EVENTS; i++) {
		fds[i % 2][i / 2] = open_event(&all[i / 2].attr, p.workers[i % 2].pid, -1);
		switch_event(fds[i % 2][i / 2], PERF_EVENT_IOC_ENABLE);
	}
	for (int pass = 0; pass < 3; pass++) {
		players_run(&p, pass < 2 ? SHORT : SHORT + rounds);
		for (int i = 0; i < 2 * EVENTS; i++)
			values[i % 2][i / 2][pass] = read_value(fds[i % 2][i / 2]);
	}
	for (int i = 0; i < 2 * EVENTS; i++) {
		check_growth(values[i % 2][i / 2], &all[i / 2]);
		close(fds[i % 2][i / 2]);
	}
	players_end(&p);
}

static void add_period(const struct record *rec, void *data)
{
	uint64_t *sum = data;

	/* tid, period */
	if (rec->header.type == PERF_RECORD_SAMPLE)
		*sum += rec->field[1];
}

/* The samples cover the whole count except the last, open period. */
static void all_is_in_samples(int fd, struct ring *ring, uint64_t period)
{
	uint64_t value, sum = 0;
	struct tally tally;

	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	value = read_value(fd);
	tally = drain(ring, add_period, &sum);
	ok(tally.samples > rounds * ROUND / period / 2,
	   "period %d: the ring has samples", (int)period);
	between(value - sum, 0, period + SKID, "the periods add up to the count");
	is(sum % period, 0, "each sample covers whole periods");
	is(tally.lost + tally.throttles + tally.broken, 0,
	   "no loss, no throttling, no broken record");
}

static void sampling_both(uint64_t period)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period,
					       PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	struct ring rings[2];
	struct players p;
	int fds[2];

	attr.disabled = 0;
	players_start(&p, 0, 0, LOOPS);
	for (int i = 0; i < 2; i++) {
		fds[i] = open_event(&attr, p.workers[i].pid, -1);
		map_ring(&rings[i], fds[i], 512);
	}
	players_run(&p, rounds);
	for (int i = 0; i < 2; i++) {
		all_is_in_samples(fds[i], &rings[i], period);
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	players_end(&p);
}

/* A small ring: lost samples are counted. */
static void losing(uint64_t period)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period,
					       PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
	struct tally tally;
	struct { uint64_t value, lost; } count;
	struct players p;
	struct ring ring;
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT_LOST;
	players_start(&p, 0, 0, LOOPS);
	fd = open_event(&attr, p.workers[0].pid, -1);
	map_ring(&ring, fd, 1);
	players_run(&p, rounds);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		bail_out("cannot read what was lost");
	tally = drain(&ring, NULL, NULL);
	ok(count.lost, "a small ring loses samples");
	between(tally.samples + count.lost, (count.value - SKID) / period - 1,
		count.value / period, "a small ring: each lost sample is counted");
	ring_unmap(&ring);
	close(fd);
	players_end(&p);
}

int main(int argc, char **argv)
{
	int log;

	if (!pmu_is_there())
		return skip_all("no PMU");
	rounds = (argc > 1 ? strtoull(argv[1], NULL, 0) : SWITCHES) / 2;
	log = kernel_log_open();
	plan(2 * EVENTS + 2 + 3 * 2 * 4 + 2 + 1);
	cpu_pin(cpu_possible() > 1 ? 1 : 0);
	counting();
	counting_switches();
	sampling_both(997);
	/* an overflow just before each switch, and just behind it */
	sampling_both(ROUND - 1);
	sampling_both(ROUND + 1);
	losing(499);
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
