// SPDX-License-Identifier: GPL-2.0
/*
 * Task events: counts and periods follow only their task, across context switches,
 * migrations, threads and exits.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "players.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define LOOPS		10000

/* the difference of two runs is the work alone: the overhead is the same */
static void check_work(uint64_t got, uint64_t rounds, uint64_t round, const char *what)
{
	uint64_t want = rounds * round;

	between(got + machine_slack(want), want, want + 2 * machine_slack(want),
		"%s: the count is exact", what);
}

/* the growth of both players' counts between runs of different lengths */
static void pingpong(int cpu_a, int cpu_b, const char *what)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t values[3][2];
	struct players p;
	int fds[2];

	attr.disabled = 0;
	players_start(&p, cpu_a, cpu_b, LOOPS);
	for (int i = 0; i < 2; i++)
		fds[i] = open_event(&attr, p.workers[i].pid, -1);
	for (int pass = 0; pass < 3; pass++) {
		players_run(&p, 100 * (pass + 1));
		for (int i = 0; i < 2; i++)
			values[pass][i] = read_value(fds[i]);
	}
	for (int i = 0; i < 2; i++) {
		uint64_t more = values[2][i] - 2 * values[1][i] + values[0][i];

		check_work(more, 100, 2 * LOOPS + WORK_PINGPONG_ROUND, what);
		close(fds[i]);
	}
	players_end(&p);
}

/* samples of a task that is switched out all the time */
static void pingpong_samples(uint64_t period, const char *what)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, period,
					       PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	struct tally tallies[2];
	struct ring rings[2];
	uint64_t value;
	struct players p;
	int fds[2];

	attr.disabled = 0;
	players_start(&p, 0, 0, LOOPS);
	for (int i = 0; i < 2; i++) {
		fds[i] = open_event(&attr, p.workers[i].pid, -1);
		map_ring(&rings[i], fds[i], 64);
	}
	players_run(&p, 400);
	for (int i = 0; i < 2; i++) {
		tallies[i] = drain(&rings[i], NULL, NULL);
		value = read_value(fds[i]);
		if (machine_is_exact())
			is(tallies[i].samples, value / period, "%s: count / period samples", what);
		else
			between(tallies[i].samples, value / period - 4, value / period + 4,
				"%s: count / period samples", what);
		is(tallies[i].lost + tallies[i].throttles + tallies[i].broken, 0,
		   "the ring holds only samples");
		ring_unmap(&rings[i]);
		close(fds[i]);
	}
	players_end(&p);
}

/* a task that moves from CPU to CPU all the time */
static void migrate(uint64_t rounds, void *data)
{
	cpu_set_t masks[2];

	(void)data;
	CPU_ZERO(&masks[0]);
	CPU_ZERO(&masks[1]);
	CPU_SET(0, &masks[0]);
	CPU_SET(1, &masks[1]);
	work_migrate(masks, sizeof(masks[0]), rounds, LOOPS);
}

static void follows(int cpu, uint64_t rounds, const char *what)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct worker w;
	uint64_t a, b, c;
	int fd;

	attr.disabled = 0;
	worker_start(&w, migrate, NULL);
	fd = open_event(&attr, w.pid, cpu);
	worker_run(&w, 40);
	a = read_value(fd);
	worker_run(&w, 40);
	b = read_value(fd);
	worker_run(&w, 40 + rounds);
	c = read_value(fd);
	check_work((c - b) - (b - a), cpu < 0 ? rounds : rounds / 2,
		   2 * LOOPS + WORK_MIGRATE_ROUND, what);
	close(fd);
	worker_end(&w);
}

static void migration_samples(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 20011,
					       PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
	struct tally tally;
	struct worker w;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.disabled = 0;
	worker_start(&w, migrate, NULL);
	fd = open_event(&attr, w.pid, -1);
	map_ring(&ring, fd, 64);
	worker_run(&w, 400);
	tally = drain(&ring, NULL, NULL);
	value = read_value(fd);
	between(tally.samples + !machine_is_exact() * 4, value / 20011,
		value / 20011 + !machine_is_exact() * 8,
		"400 migrations with a period of one stay: count / period samples");
	ring_unmap(&ring);
	close(fd);
	worker_end(&w);
}

/* an event of one thread does not see another */
static void *other_thread(void *data)
{
	work(*(uint64_t *)data);
	return NULL;
}

static void one_thread(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t rounds = 1000000;
	pthread_t thread;
	int fd = open_self(&attr);

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	pthread_create(&thread, NULL, other_thread, &rounds);
	pthread_join(thread, NULL);
	between(read_value(fd), 1, rounds, "work of another thread is not counted");
	close(fd);
}

static void *counted_thread(void *data)
{
	int *fd = data;
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	*fd = open_self(&attr);
	work_counted(*fd, LOOPS);
	return NULL;
}

static void thread_exit(void)
{
	uint64_t want = LOOPS * WORK_ROUND + WORK_TAIL;
	pthread_t thread;
	int fd;

	pthread_create(&thread, NULL, counted_thread, &fd);
	pthread_join(thread, NULL);
	between(read_value(fd), want, want + machine_slack(want),
		"an event keeps its count after its thread exits");
	gives(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "ENABLE after the thread's exit succeeds");
	work(LOOPS);
	between(read_value(fd), want, want + machine_slack(want),
		"ENABLE after the thread's exit does not count");
	close(fd);
}

/* the task ends while its event is running and sampled */
static void killed_task(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 20011, PERF_SAMPLE_TID);
	struct ring ring;
	struct tally tally;
	uint64_t value;
	pid_t pid = fork();
	int fd;

	if (!pid)
		for (;;)
			work(LOOPS);
	fd = open_event(&attr, pid, -1);
	map_ring(&ring, fd, 64);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	sleep_ms(20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	value = read_value(fd);
	tally = drain(&ring, NULL, NULL);
	between(tally.samples + tally.lost, value / 20011 - !machine_is_exact() * 2,
		value / 20011 + !machine_is_exact() * 2,
		"a task killed while it is sampled: count / period samples");
	ok(value > 20011 * 10ULL, "the killed task ran long enough (%llu instructions)",
	   (unsigned long long)value);
	is(door_open_event(&attr, pid, -1, -1, 0) < 0 ? errno : 0, ESRCH,
	   "an open on the dead task fails");
	ring_unmap(&ring);
	close(fd);
}

/* exec neither ends nor restarts an event */
static void exec_goes_on(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int go[2], fd, status;
	uint64_t value;
	char byte = 0;
	pid_t pid;

	if (pipe(go))
		bail_out("no pipe");
	pid = fork();
	if (!pid) {
		work(LOOPS);
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		execl("/proc/self/exe", "task_test", "--work", NULL);
		_exit(3);
	}
	attr.disabled = 0;
	fd = open_event(&attr, pid, -1);
	if (write(go[1], &byte, 1) != 1)
		bail_out("the child takes no byte");
	waitpid(pid, &status, 0);
	value = read_value(fd);
	is(status, 0, "a task that execs exits normally");
	between(value, 1000 * LOOPS * WORK_ROUND, UINT64_MAX >> 1,
		"the event counts the task after exec");
	close(fd);
	close(go[0]);
	close(go[1]);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		work(1000 * LOOPS);
		return 0;
	}
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(2 + 2 + 5 * 4 + 2 + 1 + 1 + 3 + 3 + 2);
	cpu_pin(0);
	pingpong(0, 0, "two tasks take turns on one CPU");
	pingpong_samples(20011, "two tasks take turns, period one slice");
	pingpong_samples(2 * LOOPS + WORK_PINGPONG_ROUND - 1, "two tasks, slice - 1");
	pingpong_samples(2 * LOOPS + WORK_PINGPONG_ROUND + 1, "two tasks, slice + 1");
	pingpong_samples(2 * LOOPS + WORK_PINGPONG_ROUND - 2, "two tasks, slice - 2");
	pingpong_samples(2 * LOOPS + WORK_PINGPONG_ROUND + 9, "two tasks, slice + 9");
	if (cpu_possible() > 1) {
		pingpong(0, 1, "two tasks take turns on two CPUs");
		follows(-1, 200, "a task that keeps migrating");
		follows(1, 200, "a migrating task on CPU 1 only");
		migration_samples();
	} else {
		skip(2 + 2 + 1, "one CPU: nowhere to migrate to");
	}
	one_thread();
	thread_exit();
	killed_task();
	exec_goes_on();
	return done();
}
