// SPDX-License-Identifier: GPL-2.0
/*
 * Rings without a reader: new records overwrite the oldest ones, forward or backward.
 * Also descriptors passed to another process.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PAGE		4096UL
#define PERIOD		20011
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

/* header, TIME, PERIOD: does not divide the ring */
struct sample {
	struct perf_event_header header;
	uint64_t time;
	uint64_t period;
};

struct overwritten {
	const volatile struct perf_event_mmap_page *page;
	const unsigned char *data;
	size_t size;
};

static void map_read_only(struct overwritten *ring, int fd, size_t pages)
{
	void *page = mmap(NULL, (1 + pages) * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		bail_out("no read-only mapping");
	ring->page = page;
	ring->data = (unsigned char *)page + PAGE;
	ring->size = pages * PAGE;
}

static void copy_out(const struct overwritten *ring, uint64_t at, void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = ring->data[(at + i) & (ring->size - 1)];
}

static bool is_sample(const struct sample *sample)
{
	return sample->header.type == PERF_RECORD_SAMPLE &&
	       sample->header.size == sizeof(*sample) && sample->period == PERIOD;
}

static int open_timed(bool backward)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD);

	attr.write_backward = backward;
	return open_self(&attr);
}

/* from the head upward: from the newest sample to the oldest that is whole */
static int walk_backward(const struct overwritten *ring, bool *falling)
{
	uint64_t head = ring->page->data_head, last = UINT64_MAX;
	struct sample sample;
	size_t at;
	int n = 0;

	for (at = 0; at + sizeof(sample) <= ring->size && head + at; at += sizeof(sample)) {
		copy_out(ring, head + at, &sample, sizeof(sample));
		if (!is_sample(&sample))
			break;
		if (sample.time >= last)
			*falling = false;
		last = sample.time;
		n++;
	}
	return n;
}

static void backward(void)
{
	int fd = open_timed(true), whole = PAGE / sizeof(struct sample);
	struct overwritten ring;
	bool falling = true;

	map_read_only(&ring, fd, 1);
	work_counted(fd, SAMPLES(5));
	is(-ring.page->data_head, 5 * sizeof(struct sample), "backward: the head falls from 0");
	is(walk_backward(&ring, &falling), 5, "backward: five samples start at the head");
	work_counted(fd, SAMPLES(1000));
	ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	is(walk_backward(&ring, &falling), whole,
	   "backward: a full ring holds the newest of 1005 samples");
	is(falling, true, "backward: samples are ordered from newest to oldest");
	is(-ring.page->data_head, 1005 * sizeof(struct sample), "backward: no sample is dropped");
	munmap((void *)ring.page, 2 * PAGE);
	close(fd);
}

/* from the head downward, since all records are of one size */
static void forward(void)
{
	int fd = open_timed(false), good = 0, whole = PAGE / sizeof(struct sample);
	uint64_t head, last = UINT64_MAX;
	struct overwritten ring;
	struct sample sample;

	map_read_only(&ring, fd, 1);
	work_counted(fd, SAMPLES(1000));
	head = ring.page->data_head;
	is(head, 1000 * sizeof(struct sample), "forward: all samples are written");
	for (int i = 1; i <= whole; i++) {
		copy_out(&ring, head - i * sizeof(sample), &sample, sizeof(sample));
		good += is_sample(&sample) && sample.time < last;
		last = sample.time;
	}
	is(good, whole, "forward: the newest samples are in the ring");
	is(read_value(fd) / PERIOD, 1000, "forward: the count matches the number of samples");
	munmap((void *)ring.page, 2 * PAGE);
	close(fd);
}

/* a writable backward ring keeps unread records */
static void backward_kept(void)
{
	int fd = open_timed(true), whole = (PAGE - 1) / sizeof(struct sample);
	struct overwritten ring;
	bool falling = true;
	void *page;

	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		bail_out("no mapping");
	ring = (struct overwritten){ page, (unsigned char *)page + PAGE, PAGE };
	work_counted(fd, SAMPLES(whole + 10));
	is(walk_backward(&ring, &falling), whole,
	   "backward, writable: the oldest samples are kept");
	is(falling, true, "backward, writable: samples are in order");
	munmap(page, 2 * PAGE);
	close(fd);
}

static void pass(int socket, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .room = { 0 } };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		bail_out("no descriptor passed");
}

static int receive(int socket)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
		_exit(100);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Return: 0, or the number of the failed step */
static int other_process(int socket)
{
	struct ring ring;
	uint64_t value;
	char byte;
	int fd = receive(socket);

	map_ring(&ring, fd, 4);
	if (write(socket, "m", 1) != 1 || read(socket, &byte, 1) != 1)
		return 1;
	value = read_value(fd);
	if (value < 3 * PERIOD)
		return 2;
	if (drain(&ring, NULL, NULL).samples != 3)
		return 3;
	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) || read_value(fd))
		return 4;
	if (read(socket, &byte, 1))
		return 5;
	ring_unmap(&ring);
	return read_value(fd) ? 6 : 0;
}

static void passed_on(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_ID);
	int sockets[2], status, fd;
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		bail_out("no socket");
	pid = fork();
	if (!pid) {
		close(sockets[0]);
		_exit(other_process(sockets[1]));
	}
	close(sockets[1]);
	fd = open_self(&attr);
	pass(sockets[0], fd);
	if (read(sockets[0], &byte, 1) != 1)
		bail_out("the other process does not map");
	work_counted(fd, SAMPLES(3));
	close(fd);
	if (write(sockets[0], "d", 1) != 1)
		bail_out("the other process is gone");
	sleep_ms(20);
	is(module_info().events, 1, "a passed event stays open after the sender closes it");
	close(sockets[0]);
	waitpid(pid, &status, 0);
	is(status, 0, "the receiver of an event can read, map and reset it");
	is(module_info().events, 0, "a passed event ends with the receiver");
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(5 + 3 + 2 + 3 + 1);
	cpu_pin(0);
	backward();
	forward();
	backward_kept();
	passed_on();
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
