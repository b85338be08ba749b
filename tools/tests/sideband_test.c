// SPDX-License-Identifier: GPL-2.0
/*
 * Sideband records: an event of the kernel's perf and one of pmuring record the same
 * process in the same boot, and the records and their order must match. Context
 * switches vary, so they are only checked for consistency.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "sideband.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

static int open_pmuring(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return door_open_event(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr dummy(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.sample_id_all = 1,
	};
}

static void show_difference(const struct story *perf, const struct story *ours)
{
	size_t i = 0;

	while (i < perf->lines && i < ours->lines && !strcmp(perf->line[i], ours->line[i]))
		i++;
	diag("record %zu of %zu and %zu:", i, perf->lines, ours->lines);
	diag("  perf:    %s", i < perf->lines ? perf->line[i] : "none");
	diag("  pmuring: %s", i < ours->lines ? ours->line[i] : "none");
}

static bool same(const struct story *perf, const struct story *ours)
{
	if (perf->lines != ours->lines)
		return false;
	for (size_t i = 0; i < perf->lines; i++)
		if (strcmp(perf->line[i], ours->line[i]))
			return false;
	return true;
}

#define COMPARE_CHECKS	3

/*
 * The event that wrote a record, parent or child, is not compared: perf swaps the
 * events of clone contexts.
 *
 * @reads: how many READ there must be. Of perf's, none are expected: since Linux
 * 5.13 it forgets them when a task ends
 * @texts: required records, so that two empty results do not match
 */
static void compare(const char *what, const struct perf_event_attr *attr, bool cpu_wide, int cpu,
		    unsigned int reads, const char *const *texts)
{
	struct story perf, ours;
	bool complete = true;

	story_tell(&perf, perf_open, attr, cpu_wide, cpu);
	story_tell(&ours, open_pmuring, attr, cpu_wide, cpu);
	if (!ok(same(&perf, &ours), "%s: %zu records, as perf's", what, ours.lines))
		show_difference(&perf, &ours);
	is(ours.faults, 0, "ids and times in the trailers are right");
	for (; *texts; texts++) {
		if (story_has(&ours, *texts))
			continue;
		complete = false;
		diag("nothing of '%s'", *texts);
	}
	ok(complete && ours.reads == reads && !ours.copies == !(attr->inherit && ours.lines),
	   "no required record is missing (%u READ, %u by child events)", ours.reads, ours.copies);
	story_free(&perf);
	story_free(&ours);
}

static void compare_all(void)
{
	static const char *const all[] = {
		"MMAP2 misc=0x2 ", "MMAP2 misc=0x2002 ", "name=//anon", "name=[heap]",
		"name=/memfd:memory (deleted)", "name=/dev/zero (deleted)", "name=[vdso]",
		"name=[stack]", "COMM misc=0x2000 ", "COMM misc=0 ", "FORK", "EXIT",
		"name=fifteen-letters", NULL,
	};
	static const char *const own[] = { "MMAP misc=0x2 ", "COMM misc=0 ", "FORK", "EXIT", NULL };
	static const char *const tasks[] = { "FORK", "EXIT", NULL };
	static const char *const copies[] = { "EXIT", "name=child", "name=thread",
					      NULL };
	static const char *const nothing[] = { NULL };
	struct perf_event_attr attr = dummy();

	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.mmap_data = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	compare("all kinds", &attr, false, -1, 0, all);
	compare("all kinds, of a CPU", &attr, true, 0, 0, all);
	attr.inherit = 1;
	compare("all kinds, inherited", &attr, false, 0, 0, all);
	attr.inherit_stat = 1;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING;
	compare("with counts at the end", &attr, false, 0, 2, copies);
	compare("on another CPU than theirs", &attr, false, 1, 2, nothing);

	attr = dummy();
	attr.mmap = 1;
	attr.comm = 1;
	compare("old MMAP and COMM", &attr, false, -1, 0, own);
	attr.sample_id_all = 0;
	compare("without trailers", &attr, false, -1, 0, own);
	attr.disabled = 1;
	compare("of a disabled event", &attr, false, -1, 0, nothing);

	attr = dummy();
	attr.task = 1;
	compare("FORK and EXIT alone", &attr, false, -1, 0, tasks);
	attr.task = 0;
	compare("nothing asked for", &attr, false, -1, 0, nothing);
	attr.mmap_data = 1;
	compare("data only", &attr, false, -1, 0, tasks);
}

#define COMPARISONS	11

/**
 * struct switches - switch records of a task or a CPU
 * @out: switches out
 * @preempted: switches out by preemption
 * @in: switches in
 * @wrong: out of order, or not matching the previous record
 * @last_out: the last record was a switch out
 * @other: next or previous task in the last record
 * @by: task of the last record
 * @last_time: time of the last record
 */
struct switches {
	uint64_t out;
	uint64_t preempted;
	uint64_t in;
	uint64_t wrong;
	bool last_out;
	uint64_t other;
	uint64_t by;
	uint64_t last_time;
};

static void count_switch(struct switches *switches, const struct record *rec)
{
	bool out = rec->header.misc & PERF_RECORD_MISC_SWITCH_OUT;

	switches->out += out;
	switches->in += !out;
	switches->preempted += !!(rec->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	if (switches->out + switches->in > 1)
		switches->wrong += out == switches->last_out;
	switches->last_out = out;
}

/* tid, time */
static void task_switch(const struct record *rec, void *data)
{
	struct switches *switches = data;

	if (rec->header.type != PERF_RECORD_SWITCH)
		return;
	count_switch(switches, rec);
	switches->wrong += rec->header.size != 24 || rec->field[1] < switches->last_time;
	switches->last_time = rec->field[1];
}

/* next or previous tid; tid, time: a switch in matches the next tid of the switch out */
static void cpu_switch(const struct record *rec, void *data)
{
	struct switches *switches = data;
	bool second = switches->last_out;

	if (rec->header.type != PERF_RECORD_SWITCH_CPU_WIDE)
		return;
	count_switch(switches, rec);
	switches->wrong += rec->header.size != 32 || rec->field[2] < switches->last_time;
	if (second)
		switches->wrong += rec->field[0] != switches->by ||
				   rec->field[1] != switches->other;
	switches->other = rec->field[0];
	switches->by = rec->field[1];
	switches->last_time = rec->field[2];
}

#define ROUNDS	200

static void sleep_often(uint64_t rounds, void *data)
{
	(void)data;
	while (rounds--)
		usleep(100);
}

static void work_long(uint64_t rounds, void *data)
{
	(void)data;
	work(rounds);
}

static struct switches watch(open_fn open, const struct worker *worker, bool cpu_wide,
			     uint64_t argument)
{
	struct perf_event_attr attr = dummy();
	struct switches switches = { 0 };
	struct ring ring;
	int fd;

	attr.context_switch = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	fd = open(&attr, cpu_wide ? -1 : worker->pid, cpu_wide ? 0 : -1);
	if (fd < 0)
		bail_out("no event for switches");
	map_ring(&ring, fd, 64);
	worker_run(worker, argument);
	drain(&ring, cpu_wide ? cpu_switch : task_switch, &switches);
	ring_unmap(&ring);
	close(fd);
	return switches;
}

#define SWITCH_CHECKS	7

static void switch_checks(const char *door, open_fn open)
{
	struct worker sleeper, first, second;
	struct switches switches;

	worker_start(&sleeper, sleep_often, NULL);
	switches = watch(open, &sleeper, false, ROUNDS);
	/* asleep before and after, so the two numbers are equal */
	ok(switches.in >= ROUNDS + 1 && switches.in == switches.out,
	   "%s: a task is switched in %llu times, out %llu times", door,
	   (unsigned long long)switches.in, (unsigned long long)switches.out);
	is(switches.wrong, 0, "switches in and out alternate, with growing times");
	ok(switches.preempted < ROUNDS / 10, "a sleeping task is rarely preempted (%llu times)",
	   (unsigned long long)switches.preempted);
	switches = watch(open, &sleeper, true, ROUNDS);
	ok(switches.in >= 2 * ROUNDS && switches.out >= 2 * ROUNDS,
	   "a CPU has %llu switches in and %llu out",
	   (unsigned long long)switches.in, (unsigned long long)switches.out);
	is(switches.wrong, 0, "each switch names the right next and previous task");
	worker_end(&sleeper);

	/* two that never sleep share a CPU */
	worker_start(&first, work_long, NULL);
	worker_start(&second, work_long, NULL);
	worker_order(&second, 1ULL << 40);
	switches = watch(open, &first, false, 5000000);
	ok(switches.preempted > 0, "a busy task is preempted (%llu times)",
	   (unsigned long long)switches.preempted);
	is(switches.wrong, 0, "switches in and out of a busy task alternate");
	worker_end(&first);
	worker_end(&second);
}

int main(int argc, char **argv)
{
	int status = actor_main(argc, argv);

	if (status >= 0)
		return status;
	cpu_pin(0);
	plan(COMPARISONS * COMPARE_CHECKS + 2 * SWITCH_CHECKS);
	compare_all();
	switch_checks("perf", perf_open);
	switch_checks("pmuring", open_pmuring);
	return done();
}
