// SPDX-License-Identifier: GPL-2.0
/*
 * What remove_on_exec leaves behind: the siblings of a removed leader, the events of
 * related tasks, and the READ record of a child event, which is written once. Another
 * thread keeps the events busy, so that work which the exec defers is delayed.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "door.h"
#include "events.h"
#include "follower.h"
#include "machine.h"
#include "software.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		20000
#define TIMES		5
#define SIBLINGS	64
#define ENDS		100
#define NOBODY		65534

static const char unreadable[] = "/tmp/exec_remove_test-program";

/* a process to start when the program sleeps, or -1 */
static int next_go = -1;

/* main() again, which sleeps when it is there, and then spins */
static void exec_and_sleep(int go, int told)
{
	char go_text[12], told_text[12], next_text[12];

	snprintf(go_text, sizeof(go_text), "%d", go);
	snprintf(told_text, sizeof(told_text), "%d", told);
	snprintf(next_text, sizeof(next_text), "%d", next_go);
	cpu_pin(0);
	wait_for_go(go);
	execl("/proc/self/exe", "exec_remove_test", "--sleep", go_text, told_text, next_text, NULL);
}

static int program_sleeps(char **argv)
{
	tell(atoi(argv[3]), getpid());
	if (atoi(argv[4]) >= 0 && write(atoi(argv[4]), "g", 1) != 1)
		return 1;
	wait_for_go(atoi(argv[2]));
	spin();
	return 1;
}

/**
 * struct left - the count of a sibling without a leader
 * @others: while other tasks ran on the CPU that its task left
 * @own: when its task ran again
 */
struct left {
	uint64_t others;
	uint64_t own;
};

static struct left sibling_left(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	struct busy busy;
	struct left left;
	uint64_t value;
	int leader, sibling;

	attr.disabled = 0;
	attr.remove_on_exec = 1;
	busy_create(&busy);
	follower_start(&follower, exec_and_sleep);
	leader = open_event(&attr, follower.pid, -1);
	attr.remove_on_exec = 0;
	sibling = door_open_event(&attr, follower.pid, -1, leader, 0);
	busy_start(&busy, leader, follower.pid, -1, 0, SIBLINGS);
	follower_go(&follower);
	follower_tells(&follower);
	value = read_value(sibling);
	work(ROUNDS);
	left.others = read_value(sibling) - value;
	busy_end(&busy);
	value = read_value(sibling);
	follower_go(&follower);
	follower_ends(&follower);
	left.own = read_value(sibling) - value;
	close(leader);
	close(sibling);
	return left;
}

/*
 * The target may run for a moment after it reports. This is less than the work of
 * the others.
 */
static void siblings_go_on(void)
{
	struct left left;
	int others = 0, own = 0;

	for (int i = 0; i < TIMES; i++) {
		left = sibling_left();
		others += left.others >= ROUNDS * WORK_ROUND;
		own += left.own >= SPIN && left.own < 2 * SPIN;
	}
	is(others, 0, "a sibling of a leader removed by exec counts no other task");
	is(own, TIMES, "a sibling of a leader removed by exec counts its own task");
}

/* A child that stays as it is, and the program. */
static void fork_before_exec(int go, int told)
{
	pid_t child;

	wait_for_go(go);
	child = fork();
	if (!child)
		for (;;)
			pause();
	tell(told, child);
	exec_and_sleep(go, told);
}

/*
 * In the task that execs, the sibling has lost its leader. In its child, the sibling's
 * child event still has a leader. A read of the sibling covers both.
 */
static void copies_stay_together(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	struct follower follower;
	uint64_t words[8] = { 0 };
	int leader, fds[3];
	pid_t child;

	attr.inherit = 1;
	attr.remove_on_exec = 1;
	attr.read_format = PERF_FORMAT_GROUP;
	follower_start(&follower, fork_before_exec);
	leader = open_event(&attr, follower.pid, -1);
	attr.remove_on_exec = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = door_open_event(&attr, follower.pid, -1, leader, 0);
	follower_go(&follower);
	child = follower_tells(&follower);
	follower_go(&follower);
	follower_tells(&follower);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		is(read(fds[i], words, sizeof(words)), 2 * sizeof(words[0]),
		   "a sibling without a leader is read alone, though a child has both");
		is(words[0], 1, "a sibling without a leader reads as one event");
		is(words[1], 0, "a sibling without a leader reads its own count");
	}
	kill(child, SIGKILL);
	follower_go(&follower);
	follower_ends(&follower);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(leader);
}

/* A child that sleeps twice. */
static void sleeps(int go, int told)
{
	cpu_pin(0);
	tell(told, 0);
	wait_for_go(go);
	tell(told, 0);
	wait_for_go(go);
	_exit(0);
}

/* One task execs and loses its event; it must not get the event of a sibling task. */
static uint64_t family_left(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower brother, follower;
	struct busy busy;
	uint64_t value;
	int fd;

	attr.disabled = 0;
	attr.inherit = 1;
	attr.remove_on_exec = 1;
	busy_create(&busy);
	fd = open_self(&attr);
	busy_start(&busy, fd, 0, -1, 1, SIBLINGS);
	follower_start(&brother, sleeps);
	follower_tells(&brother);
	/* their CPU switches from one to the other, while this process is on another CPU */
	next_go = brother.go;
	follower_start(&follower, exec_and_sleep);
	next_go = -1;
	follower_go(&follower);
	follower_tells(&follower);
	follower_tells(&brother);
	value = read_value(fd);
	follower_go(&follower);
	follower_ends(&follower);
	value = read_value(fd) - value;
	busy_end(&busy);
	follower_go(&brother);
	follower_ends(&brother);
	close(fd);
	return value;
}

static void family_goes_on(void)
{
	int counted = 0;

	cpu_pin(1);
	for (int i = 0; i < TIMES; i++)
		counted += family_left() >= SPIN;
	cpu_pin(0);
	is(counted, 0, "an event removed by exec is not replaced by another task's");
}

/**
 * struct reads - the READ records of children
 * @n: how many
 * @strangers: with a pid that is not a child's, or that differs from the trailer
 * @pids: of the children
 */
struct reads {
	int n;
	int strangers;
	pid_t pids[ENDS];
};

struct read_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t value;
	uint32_t trailer_pid;
	uint32_t trailer_tid;
};

static bool is_child(const struct reads *reads, uint32_t pid)
{
	for (int i = 0; i < ENDS; i++)
		if ((uint32_t)reads->pids[i] == pid)
			return true;
	return false;
}

static void see_read(const struct record *rec, void *data)
{
	const struct read_record *read = (const void *)rec;
	struct reads *reads = data;

	if (rec->header.type != PERF_RECORD_READ)
		return;
	reads->n++;
	if (read->header.size != sizeof(*read) || read->pid != read->tid ||
	    read->pid != read->trailer_pid || read->tid != read->trailer_tid ||
	    !is_child(reads, read->pid))
		reads->strangers++;
}

static bool make_unreadable(void)
{
	char command[256];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), unreadable);
	return !system(command) && !chmod(unreadable, 0711);
}

/* The child execs a program that its user may not read. */
static pid_t end_by_exec(int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	cpu_pin(cpu);
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	execl(unreadable, "program", NULL);
	_exit(2);
}

static void one_read_each(int cpu, const char *where)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	struct reads reads = { 0 };
	struct busy busy;
	struct ring ring;
	int fd, status, failed = 0;

	attr.disabled = 0;
	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.remove_on_exec = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	busy_create(&busy);
	fd = open_event(&attr, 0, 0);
	map_ring(&ring, fd, 16);
	busy_start(&busy, fd, 0, 0, 1, SIBLINGS);
	for (int i = 0; i < ENDS; i++) {
		reads.pids[i] = end_by_exec(cpu);
		waitpid(reads.pids[i], &status, 0);
		failed += status;
	}
	busy_end(&busy);
	for (int i = 0; i < 500 && reads.n < ENDS; i++) {
		drain(&ring, see_read, &reads);
		sleep_ms(10);
	}
	sleep_ms(50);
	drain(&ring, see_read, &reads);
	is(failed, 0, "children exec an unreadable program, %s", where);
	is(reads.n, ENDS, "one READ record per child");
	is(reads.strangers, 0, "each READ record has the child's pid");
	ring_unmap(&ring);
	close(fd);
}

int main(int argc, char **argv)
{
	bool pmu;
	int log;

	if (argc == 5 && !strcmp(argv[1], "--sleep"))
		return program_sleeps(argv);
	if (!strcmp(argv[0], "program"))
		return 0;
	log = kernel_log_open();
	pmu = pmu_is_there();
	plan(2 + 1 + 3 * 3 + 2 * 3 + 2);
	cpu_pin(0);
	if (pmu && cpu_possible() > 1 && cpu_is_online(1)) {
		siblings_go_on();
		family_goes_on();
	} else {
		skip(3, "no PMU, or one CPU");
	}
	copies_stay_together();
	if (make_unreadable() && cpu_possible() > 1 && cpu_is_online(1)) {
		one_read_each(0, "on the CPU of the ring");
		one_read_each(1, "on another");
	} else {
		skip(6, "no second CPU, or no such program");
	}
	unlink(unreadable);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
