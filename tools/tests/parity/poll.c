// SPDX-License-Identifier: GPL-2.0
/*
 * poll(2): its result in each state, and when a ring wakes its reader.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	16000
/* of one sample in work(): rounds until the next */
#define ROUNDS	(PERIOD / WORK_ROUND)

static int open_ring(struct ring *ring, const struct perf_event_attr *attr, size_t pages)
{
	int fd = open_self(attr);

	must_map(ring, fd, pages);
	return fd;
}

static void without_ring(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	int fd = open_self(&attr);

	say_poll("off", fd);
	enable(fd);
	say_poll("on", fd);
	work(4 * ROUNDS);
	say_poll("samples", fd);
	mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	say_poll("page-only", fd);
}

static void with_ring(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.wakeup_events = 1;
	fd = open_ring(&ring, &attr, 8);
	say_poll("off", fd);
	work_counted(fd, 2 * ROUNDS);
	say_poll("sample", fd);
	say_poll("again", fd);
	work_counted(fd, 2 * ROUNDS);
	say_poll("sample", fd);
	drain(&ring, &(struct tally){}, NULL, NULL);
	work_counted(fd, 2 * ROUNDS);
	drain(&ring, &(struct tally){}, NULL, NULL);
	say_poll("drained", fd);
}

/* How many samples it takes until poll() says IN. */
static unsigned int samples_until_woken(struct perf_event_attr *attr, size_t pages,
					unsigned int limit)
{
	struct ring ring;
	int fd = open_ring(&ring, attr, pages);
	struct pollfd item = { .fd = fd, .events = POLLIN };
	unsigned int n = 0;

	while (n < limit) {
		work_counted(fd, ROUNDS);
		n++;
		if (poll(&item, 1, 0))
			break;
	}
	say("written=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
	return n;
}

static void wakeup_by(unsigned int watermark, unsigned int wakeup, size_t pages)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP | PERF_SAMPLE_TIME);

	attr.watermark = watermark;
	attr.wakeup_events = wakeup;
	say("rounds=%u", samples_until_woken(&attr, pages, 600));
}

static void events_0(void)
{
	wakeup_by(0, 0, 1);
}

static void events_1(void)
{
	wakeup_by(0, 1, 1);
}

static void events_5(void)
{
	wakeup_by(0, 5, 1);
}

static void events_500(void)
{
	wakeup_by(0, 500, 1);
}

static void watermark_0(void)
{
	wakeup_by(1, 0, 1);
}

static void watermark_1(void)
{
	wakeup_by(1, 1, 1);
}

static void watermark_100(void)
{
	wakeup_by(1, 100, 1);
}

static void watermark_24(void)
{
	wakeup_by(1, 24, 1);
}

static void watermark_ring(void)
{
	wakeup_by(1, 4096, 1);
}

static void watermark_huge(void)
{
	wakeup_by(1, 1U << 31, 1);
}

static void task_gone(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct helper helper;
	struct ring ring;
	int fd;

	attr.wakeup_events = 1;
	attr.disabled = 0;
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	must_map(&ring, fd, 8);
	say_poll("alive", fd);
	helper_do(&helper, ORDER_WORK);
	helper_end(&helper);
	say_poll("gone", fd);
	say_poll("again", fd);
	say("samples=%s", tally_number(&ring, PERF_RECORD_SAMPLE) ? "some" : "none");
}

/* A poller that sleeps is woken by the exit. */
static void task_gone_while_asleep(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct helper helper;
	struct pollfd item = { .events = POLLIN };
	struct ring ring;

	attr.watermark = 1;
	attr.wakeup_watermark = 30000;
	helper_start(&helper);
	item.fd = must_open(&attr, helper.pid, -1, -1);
	must_map(&ring, item.fd, 8);
	if (!fork()) {
		usleep(100000);
		kill(helper.pid, SIGKILL);
		_exit(0);
	}
	say("poll=%d", poll(&item, 1, 5000));
	say("revents=%s", item.revents & POLLHUP ? "HUP" : "none");
}

static void sleeps_until_sample(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct helper helper;
	struct pollfd item = { .events = POLLIN };
	struct ring ring;

	attr.wakeup_events = 1;
	attr.disabled = 0;
	helper_start(&helper);
	item.fd = must_open(&attr, helper.pid, -1, -1);
	must_map(&ring, item.fd, 8);
	if (!fork()) {
		usleep(100000);
		helper_do(&helper, ORDER_WORK);
		_exit(0);
	}
	say("poll=%d", poll(&item, 1, 5000));
	say("revents=%s", item.revents & POLLIN ? "IN" : "none");
}

static void of_error(void)
{
	struct ring ring;
	int fd = open_error_event(0, PERIOD);

	say_poll("error", fd);
	must_map(&ring, fd, 8);
	say_poll("mapped", fd);
}

static void of_inherited(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.inherit = 1;
	attr.wakeup_events = 1;
	attr.disabled = 0;
	pin_to(0);
	fd = must_open(&attr, 0, 0, -1);
	must_map(&ring, fd, 8);
	drain(&ring, &(struct tally){}, NULL, NULL);
	work(2 * ROUNDS);
	say_poll("parent", fd);
}

static void nonblocking_read(void)
{
	struct perf_event_attr attr = instructions();
	int fd = open_self(&attr);
	char byte[8];

	fcntl(fd, F_SETFL, O_NONBLOCK);
	say("read=%zd", read(fd, byte, sizeof(byte)));
}

static const struct simple_case simple[] = {
	{ "without-ring", without_ring },
	{ "with-ring", with_ring },
	{ "task-gone", task_gone },
	{ "task-gone-asleep", task_gone_while_asleep },
	{ "sleeps-until-sample", sleeps_until_sample },
	{ "error", of_error },
	{ "inherited", of_inherited },
	{ "nonblocking", nonblocking_read },
};

static const struct simple_case wakeups[] = {
	{ "events-0", events_0 },
	{ "events-1", events_1 },
	{ "events-5", events_5 },
	{ "events-500", events_500 },
	{ "watermark-0", watermark_0 },
	{ "watermark-1", watermark_1 },
	{ "watermark-24", watermark_24 },
	{ "watermark-100", watermark_100 },
	{ "watermark-ring", watermark_ring },
	{ "watermark-huge", watermark_huge },
};

/**
 * theme_poll - poll and wake-ups
 */
void theme_poll(void)
{
	run_simple("poll", simple, ARRAY_SIZE(simple));
	run_simple("wakeup", wakeups, ARRAY_SIZE(wakeups));
}
