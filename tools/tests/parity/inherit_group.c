// SPDX-License-Identifier: GPL-2.0
/*
 * Inherited groups, and records of inherited events in the parent's ring.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define ROUNDS		100000
#define INSTRUCTIONS	((uint64_t)ROUNDS * WORK_ROUND)

static uint64_t rounds = ROUNDS;

/* Round to multiples of the work; the rest is noise. */
static void say_times_work(const char *what, uint64_t value)
{
	say("%s=%llux", what, (unsigned long long)((value + INSTRUCTIONS / 10) / INSTRUCTIONS));
}

static int open_group(int fd[2])
{
	struct perf_event_attr attr = instructions();

	attr.inherit = 1;
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	fd[0] = open_self(&attr);
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	fd[1] = must_open(&attr, 0, -1, fd[0]);
	return fd[0];
}

/* nr, enabled, running, instructions, branches */
static void group(void)
{
	uint64_t words[8] = {}, before[8] = {};
	struct helper helper;
	int fd[2];

	read(open_group(fd), before, sizeof(before));
	run_child(work_for, &rounds);
	say("bytes=%zd", read(fd[0], words, sizeof(words)));
	say_times_work("instructions", words[3] - before[3]);
	say_times_work("branches", (words[4] - before[4]) * WORK_ROUND);
	say("times=%s", words[1] == words[2] ? "equal" : "differ");
	helper_start(&helper);
	helper_do(&helper, ORDER_WORK);
	say("live=%zd", read(fd[0], words, sizeof(words)));
	/* the helper holds the descriptors, too */
	helper_end(&helper);
	close(fd[1]);
	say("sibling-closed=%zd", read(fd[0], words, sizeof(words)));
	say("nr=%llu", (unsigned long long)words[0]);
}

/* The children lack one sibling, so the group cannot be read. */
static void group_grows_after_fork(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	uint64_t words[8];
	int fd[2];

	open_group(fd);
	helper_start(&helper);
	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	must_open(&attr, 0, -1, fd[0]);
	say_result("read", read(fd[0], words, sizeof(words)));
	helper_end(&helper);
	say_result("after-exit", read(fd[0], words, sizeof(words)));
}

static void work_on_cpu0(void *unused)
{
	(void)unused;
	pin_to(0);
	work(ROUNDS);
}

/*
 * Samples of children arrive in the parent's ring, under its id. The two are on
 * different CPUs: a switch from one to the other swaps their contexts, so that
 * the child would end some periods in the parent's event and leave part of one in its
 * own.
 */
static void samples(unsigned int stat)
{
	struct perf_event_attr attr = sampling(INSTRUCTIONS / 10, PERF_SAMPLE_TID | PERF_SAMPLE_ID);
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(1);
	attr.inherit = 1;
	attr.inherit_stat = stat;
	attr.disabled = 0;
	fd = must_open(&attr, 0, 0, -1);
	must_map(&ring, fd, 32);
	drain(&ring, &tally, NULL, NULL);
	run_child(work_on_cpu0, NULL);
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say("samples=%s size=%u", tally.number[PERF_RECORD_SAMPLE] >= 10 &&
	    tally.number[PERF_RECORD_SAMPLE] < 14 ? "about-10" : "other",
	    tally.size[PERF_RECORD_SAMPLE]);
	say("reads=%u size=%u", tally.number[PERF_RECORD_READ], tally.size[PERF_RECORD_READ]);
}

static void samples_plain(void)
{
	samples(0);
}

static void samples_stat(void)
{
	samples(1);
}

/* inherit_stat: READ at a child's end, with its own counts. */
static void read_record(void)
{
	struct perf_event_attr attr = instructions();
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES | PERF_FORMAT_ID;
	fd = must_open(&attr, 0, 0, -1);
	must_map(&ring, fd, 8);
	run_child(work_for, &rounds);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
	say("size=%u", tally.size[PERF_RECORD_READ]);
}

static const struct simple_case simple[] = {
	{ "group", group },
	{ "group-grows", group_grows_after_fork },
	{ "samples", samples_plain },
	{ "samples-stat", samples_stat },
	{ "read-record", read_record },
};

/**
 * theme_inherit_group - inherited groups and rings
 */
void theme_inherit_group(void)
{
	run_simple("inherit-group", simple, ARRAY_SIZE(simple));
}
