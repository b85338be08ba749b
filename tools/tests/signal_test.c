// SPDX-License-Identifier: GPL-2.0
/*
 * Signals of events (O_ASYNC, F_SETSIG, F_SETOWN_EX): one per overflow, to the owner
 * thread, with the descriptor, and POLL_HUP at the end of REFRESH, as in the kernel's
 * perf. Also the two device requests that replace prctl().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		20011
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

typedef int (*opener)(const struct perf_event_attr *attr, pid_t pid, int cpu);

static struct perf_event_attr periodic(void)
{
	return sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
}

/**
 * struct seen - signals since the last check
 * @in: POLL_IN
 * @hup: POLL_HUP
 * @others: of another code, descriptor, or thread
 * @fd: the right descriptor
 * @tid: the right thread
 */
static volatile struct seen {
	int in;
	int hup;
	int others;
	int fd;
	pid_t tid;
} seen;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (info->si_fd != seen.fd || gettid() != seen.tid)
		seen.others++;
	else if (info->si_code == POLL_IN)
		seen.in++;
	else if (info->si_code == POLL_HUP)
		seen.hup++;
	else
		seen.others++;
}

static void send_to(int fd, int type, pid_t who)
{
	struct f_owner_ex owner = { type, who };

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, SIGRTMIN) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC))
		bail_out("no signals of an event");
	seen.fd = fd;
	seen.tid = gettid();
}

static void forget(void)
{
	seen.in = 0;
	seen.hup = 0;
	seen.others = 0;
}

static void are(int in, int hup, const char *what)
{
	is(seen.in, in, "%s: signals with POLL_IN", what);
	is(seen.hup, hup, "signals with POLL_HUP");
	is(seen.others, 0, "no other signals");
	forget();
}

static void each_overflow(opener open, const char *whose)
{
	struct perf_event_attr attr = periodic();
	int fd = open(&attr, 0, -1);
	struct ring ring;

	send_to(fd, F_OWNER_TID, gettid());
	work_counted(fd, SAMPLES(5));
	are(5, 0, whose);
	map_ring(&ring, fd, 4);
	work_counted(fd, SAMPLES(3));
	are(3, 0, "each sample with a ring");
	ring_unmap(&ring);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC);
	work_counted(fd, SAMPLES(3));
	are(0, 0, "no signal without O_ASYNC");
	close(fd);
}

static void limited(opener open, const char *whose)
{
	struct perf_event_attr attr = periodic();
	int fd = open(&attr, 0, -1);
	uint64_t value;

	send_to(fd, F_OWNER_TID, gettid());
	gives(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0, "%s: REFRESH 3", whose);
	work(SAMPLES(6));
	are(2, 1, "REFRESH 3 ends with POLL_HUP");
	value = read_value(fd);
	work(SAMPLES(1));
	is(read_value(fd), value, "the event is disabled after its last overflow");
	gives(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), 0, "REFRESH 1 succeeds");
	work(SAMPLES(3));
	are(0, 1, "REFRESH 1 sends one POLL_HUP");
	close(fd);
}

/* REFRESH in the signal handler, as sampling profilers do */
static volatile int again, left;

static void refresh(int number, siginfo_t *info, void *context)
{
	on_signal(number, info, context);
	if (left-- > 0 && !ioctl(info->si_fd, PERF_EVENT_IOC_REFRESH, 1))
		again++;
}

static void refreshed_by_handler(void)
{
	struct sigaction action = { .sa_sigaction = refresh, .sa_flags = SA_SIGINFO }, old;
	struct perf_event_attr attr = periodic();
	int fd = open_self(&attr);

	sigaction(SIGRTMIN, &action, &old);
	send_to(fd, F_OWNER_TID, gettid());
	left = 9;
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	work(SAMPLES(30));
	is(again, 9, "REFRESH works in the signal handler");
	are(0, 10, "each REFRESH in the handler sends one more signal");
	sigaction(SIGRTMIN, &old, NULL);
	close(fd);
}

struct waiter {
	sem_t ready;
	sem_t end;
	int fd;
};

static void *wait_for_signals(void *data)
{
	struct waiter *waiter = data;

	send_to(waiter->fd, F_OWNER_TID, gettid());
	sem_post(&waiter->ready);
	while (sem_wait(&waiter->end) && errno == EINTR)
		;
	return NULL;
}

static void to_other_thread(void)
{
	struct perf_event_attr attr = periodic();
	struct waiter waiter = { .fd = open_self(&attr) };
	pthread_t thread;

	sem_init(&waiter.ready, 0, 0);
	sem_init(&waiter.end, 0, 0);
	pthread_create(&thread, NULL, wait_for_signals, &waiter);
	sem_wait(&waiter.ready);
	work_counted(waiter.fd, SAMPLES(4));
	sleep_ms(20);
	sem_post(&waiter.end);
	pthread_join(thread, NULL);
	are(4, 0, "an owner thread other than the counted one");
	close(waiter.fd);
}

/* child events have no descriptor: they signal through the parent event */
static void of_children(void)
{
	struct perf_event_attr attr = periodic();
	int fd, status;
	pid_t pid;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = open_self(&attr);
	send_to(fd, F_OWNER_PID, getpid());
	pid = fork();
	if (!pid) {
		work(SAMPLES(5));
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	sleep_ms(20);
	between(seen.in, 5, 200, "overflows of a child send signals");
	is(seen.hup + seen.others, 0,
	   "a child's signals carry POLL_IN, the descriptor and the owner");
	forget();
	close(fd);
}

static void *open_one(void *data)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	*(int *)data = open_event(&attr, getpid(), -1);
	return NULL;
}

static uint64_t grows(int fd)
{
	uint64_t before = read_value(fd);

	work(1000);
	return read_value(fd) - before;
}

static void control(unsigned long request)
{
	if (ioctl(door_fd(), request))
		bail_out("the device refuses");
}

static void by_owner(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int mine = open_self(&attr), others, status;
	pthread_t thread;
	pid_t pid;

	pthread_create(&thread, NULL, open_one, &others);
	pthread_join(thread, NULL);
	control(PMURING_IOC_TASK_ENABLE);
	ok(grows(mine), "TASK_ENABLE enables events opened by this thread");
	is(grows(others), 0, "TASK_ENABLE does not enable another thread's events");
	switch_event(others, PERF_EVENT_IOC_ENABLE);
	control(PMURING_IOC_TASK_DISABLE);
	is(grows(mine), 0, "TASK_DISABLE disables events opened by this thread");
	ok(grows(others), "TASK_DISABLE does not disable another thread's events");
	switch_event(mine, PERF_EVENT_IOC_ENABLE);
	pid = fork();
	if (!pid)
		_exit(ioctl(door_fd(), PMURING_IOC_TASK_DISABLE) ? 1 : 0);
	waitpid(pid, &status, 0);
	is(status, 0, "TASK_DISABLE in a child succeeds");
	ok(grows(mine), "TASK_DISABLE in a child does not affect the parent's events");
	close(mine);
	close(others);
	control(PMURING_IOC_TASK_ENABLE);
	is(module_info().events, 0, "TASK_ENABLE without events succeeds");
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(2 * 9 + 2 * 9 + 4 + 3 + 2 + 7 + 2);
	cpu_pin(0);
	sigaction(SIGRTMIN, &action, NULL);
	each_overflow(perf_open, "perf");
	each_overflow(open_event, "pmuring");
	limited(perf_open, "perf");
	limited(open_event, "pmuring");
	refreshed_by_handler();
	to_other_thread();
	of_children();
	by_owner();
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
