// SPDX-License-Identifier: GPL-2.0
/*
 * Signals by fasync: their number and their contents.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD		160000
#define ROUNDS		(PERIOD / WORK_ROUND)
#define SIGNAL		(SIGRTMIN + 3)

static volatile unsigned int signals, last_code, last_fd, last_band;
static volatile pid_t last_thread;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	signals++;
	last_code = info->si_code;
	last_fd = info->si_fd;
	last_band = info->si_band;
	last_thread = syscall(SYS_gettid);
}

static void listen_to(int number)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(number, &action, NULL);
}

/* Send the event's signals to this task. */
static void ask_for(int fd, int number)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = syscall(SYS_gettid) };

	listen_to(number ? number : SIGIO);
	say_result("setfl", fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	if (number)
		say_result("setsig", fcntl(fd, F_SETSIG, number));
	say_result("setown", fcntl(fd, F_SETOWN_EX, &owner));
}

static void say_signals(int fd)
{
	static const char *const codes[] = {
		[POLL_IN] = "IN", [POLL_OUT] = "OUT", [POLL_MSG] = "MSG",
		[POLL_ERR] = "ERR", [POLL_PRI] = "PRI", [POLL_HUP] = "HUP",
	};

	say("signals=%u", signals);
	if (!signals)
		return;
	say("code=%s fd=%s band=%#x", last_code < ARRAY_SIZE(codes) && codes[last_code] ?
	    codes[last_code] : "other", last_fd == (unsigned int)fd ? "event" : "other", last_band);
	signals = 0;
}

static int open_sampling(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);

	attr.wakeup_events = 1;
	return open_self(&attr);
}

static void without_ring(void)
{
	int fd = open_sampling();

	ask_for(fd, SIGNAL);
	work_counted(fd, 5 * ROUNDS);
	say_signals(fd);
}

static void with_ring(void)
{
	struct ring ring;
	int fd = open_sampling();

	must_map(&ring, fd, 8);
	ask_for(fd, SIGNAL);
	work_counted(fd, 5 * ROUNDS);
	say_signals(fd);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
}

static void with_ring_watermark(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.watermark = 1;
	attr.wakeup_watermark = 2000;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	ask_for(fd, SIGNAL);
	work_counted(fd, 5 * ROUNDS);
	say_signals(fd);
}

static void by_sigio(void)
{
	int fd = open_sampling();

	ask_for(fd, 0);
	work_counted(fd, 5 * ROUNDS);
	say("some=%d", signals > 0);
}

/* One signal for each REFRESH(1); the last one of a limit carries POLL_HUP. */
static void refresh(void)
{
	int fd = open_sampling();

	ask_for(fd, SIGNAL);
	for (int i = 0; i < 3; i++) {
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		work(3 * ROUNDS);
		say_signals(fd);
	}
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 3);
	work(2 * ROUNDS);
	say_signals(fd);
	work(2 * ROUNDS);
	say_signals(fd);
}

static void async_off(void)
{
	int fd = open_sampling();

	ask_for(fd, SIGNAL);
	say_result("off", fcntl(fd, F_SETFL, 0));
	work_counted(fd, 5 * ROUNDS);
	say_signals(fd);
}

static void to_other_descriptor(void)
{
	int fd = open_sampling(), copy;

	ask_for(fd, SIGNAL);
	copy = dup(fd);
	close(fd);
	work_counted(copy, 2 * ROUNDS);
	say_signals(fd);
}

static void at_exit_of_task(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct helper helper;
	int fd;

	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	ask_for(fd, SIGNAL);
	helper_end(&helper);
	say_signals(fd);
}

static void of_counting(void)
{
	struct perf_event_attr attr = instructions();
	int fd = open_self(&attr);

	ask_for(fd, SIGNAL);
	work_counted(fd, 5 * ROUNDS);
	say_signals(fd);
}

static void of_sibling(void)
{
	struct perf_event_attr attr = instructions();
	int leader = open_self(&attr), fd;

	attr = sampling(PERIOD, PERF_SAMPLE_IP);
	attr.disabled = 0;
	fd = must_open(&attr, 0, -1, leader);
	ask_for(fd, SIGNAL);
	work_counted(leader, 5 * ROUNDS);
	say_signals(fd);
}

static void on_sigtrap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	signals++;
	last_code = info->si_code;
}

/* attr.sigtrap: synchronous, in the sampled task itself. */
static void sigtrap(void)
{
	struct sigaction action = { .sa_sigaction = on_sigtrap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	int fd;

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.sig_data = 0x1234;
	sigaction(SIGTRAP, &action, NULL);
	fd = open_self(&attr);
	work_counted(fd, 5 * ROUNDS);
	say("signals=%u code=%u", signals, last_code);
}

static const struct simple_case simple[] = {
	{ "without-ring", without_ring },
	{ "with-ring", with_ring },
	{ "with-ring-watermark", with_ring_watermark },
	{ "sigio", by_sigio },
	{ "refresh", refresh },
	{ "async-off", async_off },
	{ "descriptor-closed", to_other_descriptor },
	{ "task-exit", at_exit_of_task },
	{ "counting", of_counting },
	{ "sibling", of_sibling },
	{ "sigtrap", sigtrap },
};

/**
 * theme_signal - signals
 */
void theme_signal(void)
{
	run_simple("signal", simple, ARRAY_SIZE(simple));
}
