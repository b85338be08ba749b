// SPDX-License-Identifier: GPL-2.0
/*
 * SET_OUTPUT: which events may write into another event's ring, and where their
 * samples go.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	16000
#define ROUNDS	10000

enum { ME, CHILD, EVERYBODY };

/* one of the two events */
struct end {
	int task;
	int cpu;
	bool mapped;
	bool backward;
	bool software;
	bool clock;
	int clockid;
};

struct output_case {
	const char *name;
	struct end source;
	struct end target;
};

#define CPU_ANY	.cpu = -1
#define MAPPED	CPU_ANY, .mapped = true

static const struct output_case cases[] = {
	{ "plain", { CPU_ANY }, { MAPPED } },
	{ "target-without-ring", { CPU_ANY }, { CPU_ANY } },
	{ "source-mapped", { MAPPED }, { MAPPED } },
	{ "source-mapped-target-not", { MAPPED }, { CPU_ANY } },
	{ "other-task", { CPU_ANY, .task = CHILD }, { MAPPED } },
	{ "other-task-same-cpu", { .task = CHILD }, { .mapped = true } },
	{ "same-cpu", {}, { .mapped = true } },
	{ "other-cpu", { .cpu = 1 }, { .mapped = true } },
	{ "cpu-to-any", { .cpu = 0 }, { MAPPED } },
	{ "any-to-cpu", { CPU_ANY }, { .cpu = 0, .mapped = true } },
	{ "cpu-wide-same", { .task = EVERYBODY }, { .task = EVERYBODY, .mapped = true } },
	{ "cpu-wide-other", { .task = EVERYBODY, .cpu = 1 },
	  { .task = EVERYBODY, .mapped = true } },
	{ "task-to-cpu-wide", {}, { .task = EVERYBODY, .mapped = true } },
	{ "cpu-wide-to-task", { .task = EVERYBODY }, { .mapped = true } },
	{ "source-clock", { CPU_ANY, .clock = true, .clockid = CLOCK_MONOTONIC }, { MAPPED } },
	{ "target-clock", { CPU_ANY }, { MAPPED, .clock = true, .clockid = CLOCK_MONOTONIC } },
	{ "same-clock", { CPU_ANY, .clock = true, .clockid = CLOCK_MONOTONIC },
	  { MAPPED, .clock = true, .clockid = CLOCK_MONOTONIC } },
	{ "other-clock", { CPU_ANY, .clock = true, .clockid = CLOCK_MONOTONIC },
	  { MAPPED, .clock = true, .clockid = CLOCK_MONOTONIC_RAW } },
	{ "source-backward", { CPU_ANY, .backward = true }, { MAPPED } },
	{ "target-backward", { CPU_ANY }, { MAPPED, .backward = true } },
	{ "both-backward", { CPU_ANY, .backward = true }, { MAPPED, .backward = true } },
	{ "software-to-hardware", { CPU_ANY, .software = true }, { MAPPED } },
	{ "hardware-to-software", { CPU_ANY }, { MAPPED, .software = true } },
};

static int open_end(const struct end *end, const struct helper *child)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	pid_t pid = end->task == CHILD ? child->pid : end->task == EVERYBODY ? -1 : 0;
	int fd;

	if (end->software) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_DUMMY;
	}
	attr.write_backward = end->backward;
	attr.use_clockid = end->clock;
	attr.clockid = end->clockid;
	fd = must_open(&attr, pid, end->cpu, -1);
	if (end->mapped)
		must_map(&ring, fd, 1);
	return fd;
}

static void redirect(const void *arg)
{
	const struct output_case *output = arg;
	struct helper child;
	int source, target;

	helper_start(&child);
	source = open_end(&output->source, &child);
	target = open_end(&output->target, &child);
	say_result("set", ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target));
	say_result("again", ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target));
	say_result("none", ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, -1L));
}

/* source writes into target's ring; both sample the same work */
struct shared {
	int source;
	int target;
	struct ring ring;
};

static void share(struct shared *shared, uint64_t target_period)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_ID);

	shared->source = open_self(&attr);
	attr.sample_period = target_period;
	shared->target = open_self(&attr);
	must_map(&shared->ring, shared->target, 8);
	if (ioctl(shared->source, PERF_EVENT_IOC_SET_OUTPUT, shared->target))
		give_up("SET_OUTPUT: %s", error_name(-1));
}

struct by_id {
	uint64_t id;
	unsigned int number;
};

static void count_id(const struct perf_event_header *rec, void *data)
{
	struct by_id *by_id = data;

	if (rec->type == PERF_RECORD_SAMPLE && *(const uint64_t *)(rec + 1) == by_id->id)
		by_id->number++;
}

static void say_shared(struct shared *shared)
{
	struct by_id by_id = { .id = event_id(shared->source) };
	struct tally tally;

	work_counted(shared->source, ROUNDS);
	drain(&shared->ring, &tally, count_id, &by_id);
	say("samples=%u source=%u", tally.number[PERF_RECORD_SAMPLE], by_id.number);
}

static void samples_arrive(void)
{
	struct shared shared;

	share(&shared, PERIOD);
	say_shared(&shared);
	work_counted(shared.target, ROUNDS);
	say("target=%u", tally_number(&shared.ring, PERF_RECORD_SAMPLE));
	say_poll("source-poll", shared.source);
	say_poll("target-poll", shared.target);
}

static void undone(void)
{
	struct shared shared;

	share(&shared, PERIOD);
	say_result("none", ioctl(shared.source, PERF_EVENT_IOC_SET_OUTPUT, -1L));
	say_shared(&shared);
	say_poll("source-poll", shared.source);
}

static void target_closed(void)
{
	struct shared shared;

	share(&shared, PERIOD);
	close(shared.target);
	say_shared(&shared);
}

static void target_unmapped(void)
{
	struct shared shared;
	struct ring ring = {};

	share(&shared, PERIOD);
	ring_unmap(&shared.ring);
	work_counted(shared.source, ROUNDS);
	say_poll("source-poll", shared.source);
	say_result("set", ioctl(shared.source, PERF_EVENT_IOC_SET_OUTPUT, shared.target));
	say_result("map-target", ring_map(&ring, shared.target, 1));
	say_result("set", ioctl(shared.source, PERF_EVENT_IOC_SET_OUTPUT, shared.target));
}

static void source_mapped_later(void)
{
	struct shared shared;
	struct ring ring;

	share(&shared, PERIOD);
	say_result("same-size", ring_map(&ring, shared.source, 8));
	say_result("other-size", ring_map(&ring, shared.source, 4));
}

static void source_mapped_after_undone(void)
{
	struct shared shared;
	struct ring ring;

	share(&shared, PERIOD);
	ioctl(shared.source, PERF_EVENT_IOC_SET_OUTPUT, -1L);
	say_result("map", ring_map(&ring, shared.source, 4));
	work_counted(shared.source, ROUNDS);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
}

/* SET_OUTPUT to an event that is itself redirected. */
static void chain(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_ID);
	struct shared shared;
	int third;

	share(&shared, PERIOD);
	third = open_self(&attr);
	say_result("to-source", ioctl(third, PERF_EVENT_IOC_SET_OUTPUT, shared.source));
	work_counted(third, ROUNDS);
	say("samples=%u", tally_number(&shared.ring, PERF_RECORD_SAMPLE));
}

static void by_open_flag(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_ID);
	struct ring ring;
	int target = open_self(&attr), source;

	source = try_open(&attr, 0, -1, target, PERF_FLAG_FD_OUTPUT);
	say_result("no-ring", source);
	must_map(&ring, target, 8);
	source = try_open(&attr, 0, -1, target, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	say_result("no-group", source);
	work_counted(source, ROUNDS);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
	source = try_open(&attr, 0, -1, target, PERF_FLAG_FD_OUTPUT);
	say_result("group", source);
	source = try_open(&attr, 0, 0, target, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	say_result("other-cpu", source);
}

static const struct simple_case simple[] = {
	{ "samples-arrive", samples_arrive },
	{ "undone", undone },
	{ "target-closed", target_closed },
	{ "target-unmapped", target_unmapped },
	{ "source-mapped-later", source_mapped_later },
	{ "source-mapped-after-undone", source_mapped_after_undone },
	{ "chain", chain },
	{ "by-open-flag", by_open_flag },
};

/**
 * theme_output - SET_OUTPUT
 */
void theme_output(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		run_case("output", cases[i].name, redirect, &cases[i]);
	run_simple("output", simple, ARRAY_SIZE(simple));
}
