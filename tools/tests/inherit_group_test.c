// SPDX-License-Identifier: GPL-2.0
/*
 * Inherited groups, and the records of child events: samples carry the id of the
 * opened event, and READ records are written when a task exits.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deputy.h"
#include "door.h"
#include "events.h"
#include "follower.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		2000
#define PERIOD		5003

typedef int (*opener)(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		      uint64_t flags);

static int kernel_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       uint64_t flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

static struct perf_event_attr inherited(uint64_t config)
{
	struct perf_event_attr attr = hardware(config);

	attr.inherit = 1;
	attr.disabled = 0;
	return attr;
}

/* PERF_FORMAT_GROUP with both times */
struct group {
	uint64_t nr;
	uint64_t enabled;
	uint64_t running;
	uint64_t value[3];
};

static int read_group(int fd, struct group *group)
{
	memset(group, 0, sizeof(*group));
	return read(fd, group, sizeof(*group)) < 0 ? -1 : 0;
}

/* instructions and taken branches of a task, and a third that comes later */
struct members {
	int fd[3];
	pid_t pid;
	opener open;
};

static int open_member(struct members *m, int which, uint64_t config)
{
	struct perf_event_attr attr = inherited(config);

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	m->fd[which] = m->open(&attr, m->pid, -1, which ? m->fd[0] : -1, PERF_FLAG_FD_CLOEXEC);
	return m->fd[which];
}

static void open_group(struct members *m, opener open, pid_t pid)
{
	*m = (struct members){ .pid = pid, .open = open };
	if (open_member(m, 0, PERF_COUNT_HW_INSTRUCTIONS) < 0 ||
	    open_member(m, 1, PERF_COUNT_HW_BRANCH_INSTRUCTIONS) < 0)
		bail_out("no group");
}

static void more(struct deputies *chain, int fd, uint64_t rounds, const char *what)
{
	struct group g[3];

	read_group(fd, &g[0]);
	deputies_run(chain, ROUNDS);
	read_group(fd, &g[1]);
	deputies_run(chain, ROUNDS + rounds);
	read_group(fd, &g[2]);
	for (int i = 0; i < 2; i++) {
		uint64_t got = g[2].value[i] - 2 * g[1].value[i] + g[0].value[i];
		uint64_t want = rounds * (i ? 1 : WORK_ROUND), slack = machine_slack(want);

		between(got + slack, want, want + 2 * slack, "%s: %s exact", what,
			i ? "branches" : "instructions");
	}
	ok(g[0].enabled < g[1].enabled && g[1].enabled < g[2].enabled,
	   "the group's enabled time grows");
	is(g[2].running, g[2].enabled, "the group runs all the time");
}

/*
 * perf is not compared: it swaps clone contexts, and then does not find the leader
 * where it was opened.
 */
static void grows_up(void)
{
	struct deputies chain;
	struct members m;
	struct group g;
	int rc = -1;

	deputies_start(&chain);
	open_group(&m, door_open_event, chain.first);
	more(&chain, m.fd[0], ROUNDS, "the task itself");
	deputies_fork(&chain);
	deputies_fork(&chain);
	more(&chain, m.fd[1], ROUNDS, "its grandchild");

	if (open_member(&m, 2, PERF_COUNT_HW_INSTRUCTIONS) < 0)
		bail_out("no third member");
	gives(read_group(m.fd[0], &g), ECHILD,
	      "a new member with children alive: the leader reads ECHILD");
	gives(read_group(m.fd[2], &g), ECHILD,
	      "a new member with children alive: the member reads ECHILD");
	deputies_kill(&chain, 2);
	sleep_ms(50);
	gives(read_group(m.fd[0], &g), ECHILD, "ECHILD while one child is left");
	deputies_kill(&chain, 1);
	for (int i = 0; rc && i < 100; i++) {
		sleep_ms(5);
		rc = read_group(m.fd[0], &g);
	}
	gives(rc, 0, "the group is readable when no child is left");
	is(g.nr, 3, "the group has three members");
	between(g.value[0], 6 * ROUNDS * WORK_ROUND, 8 * ROUNDS * WORK_ROUND,
		"the group includes the children's count");
	is(g.value[2], 0, "the new member has no count");
	for (int i = 0; i < 3; i++)
		close(m.fd[i]);
	deputies_end(&chain);
}

/* a member is closed while there are children: the rest of the group stays readable */
static void member_leaves(opener open, const char *whose)
{
	struct deputies chain;
	struct members m;
	struct group g;

	deputies_start(&chain);
	open_group(&m, open, chain.first);
	deputies_fork(&chain);
	close(m.fd[1]);
	gives(read_group(m.fd[0], &g), 0,
	      "%s: the group is readable after a member with children is closed", whose);
	is(g.nr, 1, "the group has one member left");
	close(m.fd[0]);
	deputies_end(&chain);
}

struct read_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
	uint64_t id;
};

struct reads {
	struct read_record last;
	int n;
};

static void see_read(const struct record *rec, void *data)
{
	struct reads *reads = data;

	if (rec->header.type != PERF_RECORD_READ)
		return;
	reads->n++;
	if (rec->header.size == sizeof(reads->last))
		memcpy(&reads->last, rec, sizeof(reads->last));
}

/*
 * Return: the READ record of a child that worked for @rounds. (perf drops this
 * record, so the two are not compared.)
 */
static struct read_record child_tells(uint64_t rounds, uint64_t *id, uint64_t *sum)
{
	struct perf_event_attr attr = inherited(PERF_COUNT_HW_INSTRUCTIONS);
	struct reads reads = { 0 };
	struct deputies chain;
	uint64_t before[4], after[4];
	struct ring ring;
	int fd;

	attr.inherit_stat = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	deputies_start(&chain);
	fd = open_event(&attr, chain.first, 0);
	map_ring(&ring, fd, 4);
	*id = event_id(fd);
	deputies_fork(&chain);
	deputies_run(&chain, rounds);
	if (read(fd, before, sizeof(before)) != sizeof(before))
		bail_out("no count");
	deputies_kill(&chain, 1);
	sleep_ms(50);
	if (read(fd, after, sizeof(after)) != sizeof(after))
		bail_out("no count");
	*sum = after[0] - before[0];
	drain(&ring, see_read, &reads);
	is(reads.n, 1, "inherit_stat: a child's exit writes one READ record");
	is(reads.last.pid == reads.last.tid && (pid_t)reads.last.pid == chain.pids[0], 1,
	   "the READ record has the child's pid");
	ring_unmap(&ring);
	close(fd);
	deputies_end(&chain);
	return reads.last;
}

static void inherit_stat(void)
{
	uint64_t id, sum, want = ROUNDS * WORK_ROUND;
	struct read_record a, b;

	a = child_tells(ROUNDS, &id, &sum);
	is(sum, 0, "the event's total does not change at the exit");
	is(a.id, id, "the READ record has the event's id");
	ok(a.enabled && a.running == a.enabled, "the READ record has the child's times");
	b = child_tells(2 * ROUNDS, &id, &sum);
	between(b.value - a.value + machine_slack(want), want, want + 2 * machine_slack(want),
		"the READ record's value is exact");
}

/**
 * struct streams - what the samples of a family carry
 * @id: ID, the same for all
 * @stream: STREAM_ID of the last one
 * @pid: and its pid
 * @n: samples
 * @wrong: of these with another ID than @id, or IDENTIFIER
 */
struct streams {
	uint64_t id;
	uint64_t stream;
	uint32_t pid;
	uint64_t n;
	uint64_t wrong;
};

/* IDENTIFIER, TID, ID, STREAM_ID */
static void see_sample(const struct record *rec, void *data)
{
	struct streams *streams = data;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	streams->n++;
	streams->wrong += rec->field[0] != streams->id || rec->field[2] != streams->id;
	streams->pid = rec->field[1];
	streams->stream = rec->field[3];
}

static void ids(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
					       PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
	struct streams streams = { 0 };
	struct deputies chain;
	struct ring ring;
	int fd;

	attr.inherit = 1;
	attr.disabled = 0;
	deputies_start(&chain);
	fd = open_event(&attr, chain.first, 0);
	map_ring(&ring, fd, 8);
	streams.id = event_id(fd);
	deputies_run(&chain, ROUNDS);
	drain(&ring, see_sample, &streams);
	is(streams.stream, streams.id, "the task's samples have the event's id as STREAM_ID");
	is(streams.pid, chain.first, "the samples have the task's pid");
	for (int i = 0; i < 2; i++) {
		deputies_fork(&chain);
		drain(&ring, NULL, NULL);
		streams.n = 0;
		deputies_run(&chain, ROUNDS);
		drain(&ring, see_sample, &streams);
		between(streams.n, ROUNDS * WORK_ROUND / PERIOD,
			ROUNDS * WORK_ROUND / PERIOD + 2, "samples of generation %d", i + 1);
		/* possibly of another child event: clone contexts are swapped */
		ok(streams.stream != streams.id, "a child's samples have another STREAM_ID");
		is(streams.pid, chain.pids[i], "the samples have the task's pid");
	}
	is(streams.wrong, 0, "all samples have the event's id");
	ring_unmap(&ring);
	close(fd);
	deputies_end(&chain);
}

#define MANY		20
#define FORKS		300

/* one after the other; each inherits a group of MANY more than its leader */
static void fork_often(int go, int told)
{
	cpu_pin(1);
	tell(told, 0);
	wait_for_go(go);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

/* a reader on another CPU never sees a group that a fork has half copied */
static void copies_come_whole(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	int fds[1 + MANY], reads = 0, wrong = 0;
	uint64_t words[1 + 1 + MANY];
	struct follower follower;

	if (cpu_possible() < 2 || !cpu_is_online(1)) {
		skip(2, "one CPU");
		return;
	}
	attr.inherit = 1;
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	cpu_pin(0);
	follower_start(&follower, fork_often);
	follower_tells(&follower);
	for (int i = 0; i <= MANY; i++) {
		fds[i] = door_open_event(&attr, follower.pid, -1, i ? fds[0] : -1, 0);
		if (fds[i] < 0)
			bail_out("no group");
	}
	follower_go(&follower);
	for (; waitpid(follower.pid, NULL, WNOHANG) != follower.pid; reads++)
		wrong += read(fds[0], words, sizeof(words)) != sizeof(words) ||
			 words[0] != 1 + MANY;
	is(wrong, 0, "a read during %d forks returns the whole group", FORKS);
	ok(reads, "there were reads during the forks");
	for (int i = MANY; i >= 0; i--)
		close(fds[i]);
	close(follower.go);
	close(follower.tell);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(15 + 2 * 2 + 2 * 2 + 4 + 2 + 2 * 3 + 1 + 2 + 2);
	cpu_pin(0);
	grows_up();
	member_leaves(kernel_open, "perf");
	member_leaves(door_open_event, "pmuring");
	inherit_stat();
	ids();
	copies_come_whole();
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
