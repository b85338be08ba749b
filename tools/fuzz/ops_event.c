// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on event files and on the node: open, close, read, poll, every
 * ioctl, signals, and descriptors that travel.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attr_gen.h"
#include "pmuring.h"
#include "world.h"

/* Some pointer, mostly valid. */
static void *somewhere(struct world *w, void *good)
{
	if (!rng_rarely(&w->rng, 30))
		return good;
	return (void *)(uintptr_t)RNG_PICK(&w->rng, 0, 1, ARENA, ARENA + PAGE - 4,
					   0xffff888000000000, ~0ULL - 7, 1ULL << 47);
}

static pid_t some_pid(struct world *w)
{
	uint64_t dice = rng_below(&w->rng, 100);

	if (dice < 50)
		return 0;
	if (dice < 62)
		return syscall(SYS_gettid);
	if (dice < 82)
		return w->kid[rng_below(&w->rng, KIDS)];
	if (dice < 92)
		return shared->lane[rng_below(&w->rng, LANES)].tid;
	return RNG_PICK(&w->rng, 1, 2, getppid(), 30000, -1, -2, 1U << 31);
}

static void some_target(struct world *w, struct pmuring_open *open)
{
	if (rng_percent(&w->rng, w->may_see_kernel ? 25 : 4)) {
		open->pid = -1;
		open->cpu = rng_below(&w->rng, cpus());
	} else {
		open->pid = some_pid(w);
		open->cpu = rng_percent(&w->rng, 75) ? -1 : (int)rng_below(&w->rng, cpus());
	}
	if (rng_rarely(&w->rng, 60))
		open->cpu = RNG_PICK(&w->rng, -2, -1, cpus(), 8191, 1U << 31);
}

long op_open(struct world *w)
{
	struct perf_event_attr *attr = (void *)w->attr;
	struct pmuring_open open = { .group_fd = -1 };
	int fd;

	attr_make(attr, &w->rng, w->may_see_kernel);
	some_target(w, &open);
	/* otherwise it cannot be mapped */
	if (open.cpu == -1 && rng_percent(&w->rng, 50))
		attr->inherit = 0;
	if (rng_percent(&w->rng, 40))
		open.group_fd = world_fd(w);
	if (rng_percent(&w->rng, 40))
		open.flags |= PERF_FLAG_FD_CLOEXEC;
	if (rng_percent(&w->rng, 10))
		open.flags |= PERF_FLAG_FD_OUTPUT;
	if (rng_percent(&w->rng, 10))
		open.flags |= PERF_FLAG_FD_NO_GROUP;
	if (rng_rarely(&w->rng, 100))
		open.flags |= rng_any(&w->rng);
	if (rng_rarely(&w->rng, 200))
		open.reserved = rng_next(&w->rng);
	open.attr_ptr = (uintptr_t)somewhere(w, attr);
	op_tell(w, " pid %d cpu %d group %d flags %llx%s ", open.pid, open.cpu, open.group_fd,
		(unsigned long long)open.flags, open.attr_ptr == (uintptr_t)attr ? "" : " bad attr");
	w->op_len += attr_describe(attr, w->op + w->op_len, LOG_TEXT - w->op_len - 24);
	fd = ioctl(NODE_FD, PMURING_IOC_OPEN, somewhere(w, &open));
	if (fd >= 0) {
		int err = errno;

		world_keep_fd(w, fd);
		errno = err;
	}
	return fd;
}

long op_close(struct world *w)
{
	int slot = rng_below(&w->rng, FDS), fd = w->fd[slot];

	op_tell(w, " %d", fd);
	w->fd[slot] = -1;
	if (fd < 0)
		return 0;
	if (rng_rarely(&w->rng, 30))
		return syscall(SYS_close_range, fd, fd, rng_below(&w->rng, 2) << 2);
	return close(fd);
}

long op_dup(struct world *w)
{
	int fd = world_fd(w), to = -1, got;

	switch (rng_below(&w->rng, 3)) {
	case 0:
		op_tell(w, " %d", fd);
		got = dup(fd);
		break;
	case 1:
		op_tell(w, " %d above 100, cloexec", fd);
		got = fcntl(fd, F_DUPFD_CLOEXEC, 100 + (int)rng_below(&w->rng, 100));
		break;
	default:
		to = world_event(w);
		if (to < 0 || fd >= OWN_FDS)
			return 0;
		op_tell(w, " %d over %d", fd, to);
		got = dup2(fd, to);
	}
	if (got >= 0)
		world_keep_fd(w, got);
	return got;
}

long op_read(struct world *w)
{
	static __thread char buffer[8192 + 8];
	int fd = world_event(w);
	size_t size = RNG_PICK(&w->rng, 0, 7, 8, 16, 24, 32, 40, 64, 256, 4096, 8192);
	void *to = somewhere(w, buffer);
	struct iovec iov[2] = { { to, 8 }, { buffer + 8, size } };

	op_tell(w, " %d, %zu", fd, size);
	if (fd < 0)
		return 0;
	if (rng_rarely(&w->rng, 20)) {
		op_tell(w, " pread");
		return pread(fd, to, size, rng_any(&w->rng) >> 1);
	}
	if (rng_rarely(&w->rng, 20)) {
		op_tell(w, " readv");
		return readv(fd, iov, 2);
	}
	if (rng_rarely(&w->rng, 40)) {
		op_tell(w, " write");
		return write(fd, to, size);
	}
	return read(fd, to, size);
}

long op_poll(struct world *w)
{
	struct timespec timeout = { .tv_nsec = rng_below(&w->rng, 300000) };
	struct pollfd files[4];
	int n = 1 + rng_below(&w->rng, 4);

	op_tell(w, " %ld ns", timeout.tv_nsec);
	for (int i = 0; i < n; i++) {
		files[i].fd = world_event(w);
		files[i].events = POLLIN | POLLOUT | POLLPRI | POLLHUP;
		op_tell(w, " %d", files[i].fd);
	}
	return ppoll(files, n, &timeout, NULL);
}

static unsigned long some_request(struct world *w)
{
	static const uint64_t requests[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_ENABLE,
		PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_REFRESH,
		PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD, PERF_EVENT_IOC_PERIOD,
		PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_SET_BPF,
		PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF,
		PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
	};

	if (rng_rarely(&w->rng, 60))
		return rng_any(&w->rng);
	return rng_pick(&w->rng, requests, ARRAY_SIZE(requests));
}

static unsigned long some_argument(struct world *w, unsigned long request)
{
	static __thread uint64_t number;
	static const char filter[] = "filter common_pid == 1";

	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET:
		return rng_percent(&w->rng, 60) ? 0 : rng_percent(&w->rng, 80) ?
		       PERF_IOC_FLAG_GROUP : rng_any(&w->rng);
	case PERF_EVENT_IOC_REFRESH:
		return RNG_PICK(&w->rng, 0, 1, 1, 2, 100, ~0ULL, 1ULL << 31);
	case PERF_EVENT_IOC_PERIOD:
		number = RNG_PICK(&w->rng, 0, 10007, 1000003, 1000003, 2000003, 10000019,
				  1ULL << 40, 1ULL << 63, ~0ULL);
		return (uintptr_t)somewhere(w, &number);
	case PERF_EVENT_IOC_ID:
	case PERF_EVENT_IOC_QUERY_BPF:
		return (uintptr_t)somewhere(w, &number);
	case PERF_EVENT_IOC_SET_FILTER:
		return (uintptr_t)somewhere(w, (void *)filter);
	case PERF_EVENT_IOC_SET_BPF:
		return world_fd(w);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return rng_below(&w->rng, 3);
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		attr_make((void *)w->attr, &w->rng, w->may_see_kernel);
		return (uintptr_t)somewhere(w, w->attr);
	default:
		return rng_any(&w->rng);
	}
}

long op_ioctl(struct world *w)
{
	int fd = world_event(w);
	unsigned long request = some_request(w), argument = some_argument(w, request);

	op_tell(w, " %d %lx %lx", fd, request, argument);
	return fd < 0 ? 0 : ioctl(fd, request, argument);
}

long op_set_output(struct world *w)
{
	int fd = world_event(w), to = rng_percent(&w->rng, 25) ? -1 : world_fd(w);

	op_tell(w, " %d into %d", fd, to);
	return fd < 0 ? 0 : ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)to);
}

/* Memory for pointers of 32-bit calls: a low, readable and writable page. */
static union {
	uint64_t number;
	struct pmuring_info info;
	struct {
		struct pmuring_open open;
		struct perf_event_attr attr;
	};
	char room[2 * PAGE];
} low;

static unsigned long low_node_request(struct world *w)
{
	memset(&low, 0, sizeof(low.info));
	if (rng_percent(&w->rng, 20)) {
		low.info.size = rng_below(&w->rng, 4097);
		return PMURING_IOC_INFO;
	}
	attr_make(&low.attr, &w->rng, w->may_see_kernel);
	low.open.attr_ptr = (uintptr_t)&low.attr;
	low.open.group_fd = -1;
	low.open.cpu = rng_below(&w->rng, cpus());
	return PMURING_IOC_OPEN;
}

static int ioctl_32(int fd, uint32_t request, uint32_t argument)
{
	int got;

	asm volatile("int $0x80" : "=a"(got) : "a"(54), "b"(fd), "c"(request), "d"(argument) :
		     "memory", "r8", "r9", "r10", "r11");
	return got;
}

/* ioctl(2) of a 32-bit process; the program lies low enough for its pointers */
long op_compat(struct world *w)
{
	bool node = rng_rarely(&w->rng, 4);
	int fd = node ? NODE_FD : world_event(w), got;
	unsigned long request = node ? low_node_request(w) : some_request(w);
	/* small numbers, or in the page that nothing is mapped to */
	uint32_t argument = node || rng_percent(&w->rng, 70) ? (uintptr_t)&low :
			    rng_below(&w->rng, 4096);

	/* numbers that carry the size of a pointer, which is 4 here */
	if (!node && rng_percent(&w->rng, 50))
		request = (request & ~0x3fff0000UL) | 4UL << 16;
	op_tell(w, " %d %lx %x", fd, request, argument);
	if (fd < 0)
		return 0;
	got = ioctl_32(fd, request, argument);
	if (got < 0) {
		errno = -got;
		return -1;
	}
	if (node && request == PMURING_IOC_OPEN)
		world_keep_fd(w, got);
	return got;
}

long op_fasync(struct world *w)
{
	int fd = world_event(w);

	op_tell(w, " %d", fd);
	if (fd < 0)
		return 0;
	switch (rng_below(&w->rng, 4)) {
	case 0:
		return fcntl(fd, F_SETOWN, rng_percent(&w->rng, 80) ? getpid() :
			     w->kid[rng_below(&w->rng, KIDS)]);
	case 1:
		return fcntl(fd, F_SETSIG, RNG_PICK(&w->rng, 0, SIGIO, SIGUSR1, SIGRTMIN, SIGRTMAX));
	default:
		return fcntl(fd, F_SETFL, RNG_PICK(&w->rng, O_ASYNC, O_ASYNC | O_NONBLOCK, 0));
	}
}

long op_epoll(struct world *w)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int fd = world_event(w);

	if (rng_percent(&w->rng, 30))
		return epoll_wait(EPOLL_FD, &event, 1, 0);
	event.events |= RNG_PICK(&w->rng, 0, EPOLLET, EPOLLONESHOT);
	op_tell(w, " %d", fd);
	return epoll_ctl(EPOLL_FD, rng_percent(&w->rng, 60) ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd,
			 &event);
}

static long send_fd(int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(SOCKET_FD, &msg, MSG_DONTWAIT);
}

static long receive_fd(struct world *w)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	long got = recvmsg(SOCKET_FD + 1, &msg, MSG_DONTWAIT);
	int fd;

	if (got == 1 && msg.msg_controllen >= CMSG_LEN(sizeof(int))) {
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
		world_keep_fd(w, fd);
		op_tell(w, " got %d", fd);
	}
	return got;
}

/* The receiver may be a child, a thread, or missing. */
long op_scm(struct world *w)
{
	int fd = world_event(w);

	if (fd < 0 || rng_percent(&w->rng, 50))
		return receive_fd(w);
	op_tell(w, " send %d", fd);
	return send_fd(fd);
}

long op_fdinfo(struct world *w)
{
	char path[48], text[512];
	int fd = world_event(w), file;
	long got;

	snprintf(path, sizeof(path), rng_percent(&w->rng, 50) ? "/proc/self/fdinfo/%d" :
		 "/proc/self/fd/%d", fd);
	op_tell(w, " %s", path);
	/* a passed descriptor may be a terminal */
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0)
		return -1;
	got = read(file, text, sizeof(text));
	close(file);
	return got;
}

long op_node(struct world *w)
{
	static __thread char room[2 * PAGE];
	struct pmuring_info *info = (void *)room;
	unsigned long request = RNG_PICK(&w->rng, PMURING_IOC_INFO, PMURING_IOC_INFO,
					 PMURING_IOC_TASK_ENABLE, PMURING_IOC_TASK_DISABLE);

	info->size = rng_percent(&w->rng, 60) ? sizeof(*info) : rng_below(&w->rng, 4097);
	if (rng_rarely(&w->rng, 20))
		request = rng_any(&w->rng);
	op_tell(w, " %lx size %u", request, info->size);
	return ioctl(NODE_FD, request, somewhere(w, info));
}
