// SPDX-License-Identifier: GPL-2.0
/*
 * Rings shared by several events, in every order of close and unmap; duplicated
 * descriptors; paused rings; sleeping readers.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workers.h"
#include "workload.h"

#define PAGE		4096UL
#define PERIOD		20011
/* rounds that complete n periods and not one more */
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

static struct perf_event_attr with_id(void)
{
	return sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_ID);
}

static int set_output(int fd, long target)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target);
}

static short revents(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	poll(&pfd, 1, 0);
	return pfd.revents;
}

static void gives_errno(int fd, long target, int want, const char *what)
{
	gives(set_output(fd, target), want, "SET_OUTPUT: %s", what);
}

static int open_like(struct perf_event_attr attr, pid_t pid, int cpu)
{
	attr.disabled = 1;
	return open_event(&attr, pid, cpu);
}

static void refused(void)
{
	struct perf_event_attr attr = with_id(), other;
	int to = open_self(&attr), fd = open_self(&attr), mapped = open_self(&attr), odd;
	struct ring ring, second;

	gives_errno(fd, to, EINVAL, "the target has no ring");
	map_ring(&ring, to, 1);
	map_ring(&second, mapped, 1);
	gives_errno(fd, fd, EINVAL, "to itself");
	gives_errno(fd, 0, EBADF, "to a descriptor that is not an event");
	gives_errno(fd, 12345, EBADF, "to a closed descriptor");
	gives_errno(mapped, to, EINVAL, "of a mapped event");
	gives_errno(mapped, -1, EINVAL, "of a mapped event to -1");
	odd = open_like(attr, 0, 0);
	gives_errno(odd, to, EINVAL, "of a CPU event to an event on any CPU");
	close(odd);
	odd = open_like(attr, getppid(), -1);
	gives_errno(odd, to, EINVAL, "of another task");
	close(odd);
	other = attr;
	other.use_clockid = 1;
	other.clockid = CLOCK_MONOTONIC;
	odd = open_like(other, 0, -1);
	gives_errno(odd, to, EINVAL, "of another clock");
	close(odd);
	other = attr;
	other.write_backward = 1;
	odd = open_like(other, 0, -1);
	gives_errno(odd, to, EINVAL, "of the other direction");
	close(odd);
	other = attr;
	other.inherit = 1;
	odd = open_like(other, 0, -1);
	gives_errno(odd, to, EINVAL, "of an inherited event on any CPU");
	close(odd);
	gives_errno(fd, to, 0, "to a compatible event");
	ok(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	   "a redirected event cannot be mapped");
	ring_unmap(&ring);
	ring_unmap(&second);
	close(to);
	close(fd);
	close(mapped);
}

/* how many samples of which of two events */
struct of_two {
	uint64_t id[2];
	int n[2];
	int others;
};

static void see_id(const struct record *rec, void *data)
{
	struct of_two *of = data;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		of->others++;
	else if (rec->field[0] == of->id[0])
		of->n[0]++;
	else if (rec->field[0] == of->id[1])
		of->n[1]++;
	else
		of->others++;
}

static void shared(void)
{
	struct perf_event_attr attr = with_id();
	int a = open_self(&attr), b = open_self(&attr), c = open_self(&attr);
	struct of_two of = { .id = { event_id(a), event_id(c) } };
	struct ring ring;

	map_ring(&ring, a, 8);
	set_output(b, a);
	gives(set_output(c, b), 0, "an event can be redirected to a redirected event");
	work_counted(a, SAMPLES(3));
	work_counted(c, SAMPLES(2));
	drain(&ring, see_id, &of);
	is(of.n[0], 3, "the ring has the samples of the mapped event");
	is(of.n[1], 2, "the ring has the samples of the redirected event");
	is(of.others, 0, "the ring has no other records");
	is(revents(b), 0, "an event without samples is not woken");
	close(a);
	work_counted(c, SAMPLES(1));
	memset(of.n, 0, sizeof(of.n));
	drain(&ring, see_id, &of);
	is(of.n[1], 1, "the ring works after the mapped event is closed");
	gives(set_output(c, -1), 0, "SET_OUTPUT -1");
	work_counted(c, SAMPLES(1));
	is(drain(&ring, NULL, NULL).samples, 0, "no samples are written after SET_OUTPUT -1");
	is(revents(c), POLLHUP, "POLLHUP after SET_OUTPUT -1");
	is(revents(b), 0, "no POLLHUP for the event that still has the ring");
	ring_unmap(&ring);
	is(revents(b), POLLHUP, "POLLHUP after the ring is unmapped");
	work_counted(b, SAMPLES(2));
	ok(read_value(b) > 2 * PERIOD, "an event without a ring counts");
	close(b);
	close(c);
}

/* close and unmap two events with one ring, in all orders */
static void orders(void)
{
	static const char ends[] = "abmo";
	struct perf_event_attr attr = with_id();
	char order[5];
	int tried = 0;
	long mlock = module_parameter("mlock_kb");

	attr.disabled = 0;
	module_set_parameter("mlock_kb", 0);
	for (int n = 0; n < 256; n++) {
		struct ring ring;
		int a, b;

		for (int i = 0; i < 4; i++)
			order[i] = ends[n >> 2 * i & 3];
		order[4] = '\0';
		if (!strchr(order, 'a') || !strchr(order, 'b') || !strchr(order, 'm') ||
		    !strchr(order, 'o'))
			continue;
		a = open_self(&attr);
		b = open_self(&attr);
		map_ring(&ring, a, 4);
		set_output(b, a);
		for (int i = 0; i < 4; i++) {
			work(SAMPLES(1));
			if (order[i] == 'a')
				close(a);
			if (order[i] == 'b')
				close(b);
			if (order[i] == 'm')
				ring_unmap(&ring);
			if (order[i] == 'o')
				set_output(b, -1);
		}
		tried++;
	}
	is(tried, 24, "two events with one ring close in 24 orders");
	is(status_kb("VmPin"), 0, "no charge is left");
	is(module_info().events, 0, "no event is left");
	module_set_parameter("mlock_kb", mlock);
}

static void charged(void)
{
	struct perf_event_attr attr = with_id();
	int fd = open_self(&attr), copy = dup(fd);
	long mlock = module_parameter("mlock_kb");
	struct ring ring, second;

	module_set_parameter("mlock_kb", 0);
	map_ring(&ring, fd, 4);
	is(status_kb("VmPin"), 5 * PAGE / 1024, "five pages are charged");
	map_ring(&second, copy, 4);
	is(status_kb("VmPin"), 5 * PAGE / 1024, "a second mapping is not charged");
	close(fd);
	ring_unmap(&ring);
	work_counted(copy, SAMPLES(1));
	is(drain(&second, NULL, NULL).samples, 1, "the duplicate's mapping works");
	is(status_kb("VmPin"), 5 * PAGE / 1024, "the duplicate's mapping keeps the charge");
	ring_unmap(&second);
	is(status_kb("VmPin"), 0, "the last unmap returns the charge");
	close(copy);
	module_set_parameter("mlock_kb", mlock);
}

struct sleeper {
	int fd;
	short revents;
};

static void *sleep_in_poll(void *data)
{
	struct sleeper *sleeper = data;
	struct pollfd pfd = { .fd = sleeper->fd, .events = POLLIN };

	poll(&pfd, 1, 5000);
	sleeper->revents = pfd.revents;
	return NULL;
}

/* a sample of one event wakes a sleeper on another event of the ring, as in perf */
static void wakes_sharers(void)
{
	struct perf_event_attr attr = with_id();
	struct sleeper sleepers[2] = { 0 };
	pthread_t thread;
	struct ring ring;

	attr.wakeup_events = 1;
	for (int i = 0; i < 2; i++)
		sleepers[i].fd = open_self(&attr);
	map_ring(&ring, sleepers[0].fd, 4);
	set_output(sleepers[1].fd, sleepers[0].fd);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, sleep_in_poll, &sleepers[i]);
		sleep_ms(20);
		work_counted(sleepers[!i].fd, SAMPLES(1));
		pthread_join(thread, NULL);
		is(sleepers[i].revents, POLLIN,
		   "a sample of one event wakes the poller of the other");
	}
	ring_unmap(&ring);
	close(sleepers[0].fd);
	close(sleepers[1].fd);
}

/* a reader with a watermark that is never reached is woken by the first loss */
static void wakes_on_loss(void)
{
	struct perf_event_attr attr = with_id();
	struct sleeper sleeper = { 0 };
	pthread_t thread;
	struct ring ring;

	attr.watermark = 1;
	attr.wakeup_watermark = 1U << 31;
	sleeper.fd = open_self(&attr);
	map_ring(&ring, sleeper.fd, 1);
	work_counted(sleeper.fd, SAMPLES(255));
	is(revents(sleeper.fd), 0, "a nearly full ring does not wake");
	pthread_create(&thread, NULL, sleep_in_poll, &sleeper);
	sleep_ms(20);
	work_counted(sleeper.fd, SAMPLES(2));
	pthread_join(thread, NULL);
	is(sleeper.revents, POLLIN, "the first loss wakes");
	is(drain(&ring, NULL, NULL).samples, 255, "the full ring holds 255 samples");
	ring_unmap(&ring);
	close(sleeper.fd);
}

static void paused(void)
{
	struct perf_event_attr attr = with_id();
	struct tally tally;
	uint64_t words[2];
	struct ring ring;
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	gives(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, "PAUSE_OUTPUT without a ring");
	map_ring(&ring, fd, 4);
	gives(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0, "PAUSE_OUTPUT");
	work_counted(fd, SAMPLES(3));
	is(drain(&ring, NULL, NULL).samples, 0, "a paused ring gets no samples");
	if (read(fd, words, sizeof(words)) != sizeof(words))
		bail_out("no count");
	is(words[1], 3, "samples of a paused ring count as lost");
	gives(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), 0, "PAUSE_OUTPUT 0 resumes the ring");
	work_counted(fd, SAMPLES(2));
	tally = drain(&ring, NULL, NULL);
	is(tally.samples, 2, "a resumed ring gets samples");
	is(tally.lost, 3, "a resumed ring has a LOST record for the paused samples");
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(13 + 12 + 3 + 5 + 2 + 3 + 7 + 2);
	cpu_pin(0);
	refused();
	shared();
	orders();
	charged();
	wakes_sharers();
	wakes_on_loss();
	paused();
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
