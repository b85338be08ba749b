// SPDX-License-Identifier: GPL-2.0
/*
 * libpmuring-preload.so: in LD_PRELOAD it makes a program that uses
 * perf_event_open(2) get its events from the module.
 *
 * Owns the interposed prctl() and what syscall.S hands over. Called by
 * the client on any thread, in a signal handler, between vfork() and exec: so there
 * are no locks, no memory is allocated, and all system calls are direct, since
 * libc's wrappers are cancellation points and syscall() is not. No
 * file stays open between two calls, so none can be lost to a client
 * that closes all it does not know, nor be taken for another after it.
 *
 * Environment: PMURING_DEVICE names the node, PMURING_VERBOSE makes a node that
 * does not open tell why on stderr, once in each process.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "door.h"
#include "preload.h"

#define EXPORTED __attribute__((visibility("default")))

static char device[4096] = PMURING_DEVICE;
static bool verbose;

/* The environment belongs to the client, which may change it at any time. */
__attribute__((constructor)) static void read_environment(void)
{
	const char *name = secure_getenv("PMURING_DEVICE");

	if (name && *name && strlen(name) < sizeof(device))
		strcpy(device, name);
	verbose = secure_getenv("PMURING_VERBOSE");
}

/* Returns what the kernel does: an error is a negative errno. */
static long kernel(long number, long a1, long a2, long a3, long a4, long a5)
{
	register long r10 asm("r10") = a4;
	register long r8 asm("r8") = a5;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(number), "D"(a1), "S"(a2), "d"(a3), "r"(r10), "r"(r8)
		     : "rcx", "r11", "memory");
	return result;
}

static void close_fd(long fd)
{
	kernel(__NR_close, fd, 0, 0, 0, 0);
}

static struct iovec piece(const char *text)
{
	return (struct iovec){ (void *)text, strlen(text) };
}

/* One write, and no buffer: the stack may be a signal's, which is small. */
static void explain(int err)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct iovec line[] = {
		piece("pmuring: cannot open "), piece(device), piece(": "),
		piece(door_explain_node(err)), piece("\n"),
	};

	if (verbose && !atomic_flag_test_and_set(&said))
		kernel(__NR_writev, STDERR_FILENO, (long)line, sizeof(line) / sizeof(line[0]), 0, 0);
}

/*
 * The node's fd, above the lowest free one: an event gets the number that
 * perf_event_open() would have given it.
 */
static long open_node(void)
{
	long low = kernel(__NR_openat, AT_FDCWD, (long)device, O_RDWR | O_CLOEXEC, 0, 0);
	long fd;

	if (low < 0) {
		explain(-low);
		return low;
	}
	fd = kernel(__NR_fcntl, low, F_DUPFD_CLOEXEC, low + 1, 0, 0);
	if (fd < 0)
		return low;
	close_fd(low);
	return fd;
}

static long ask(unsigned long request, void *args)
{
	long result, fd = open_node();

	if (fd < 0)
		return fd;
	result = kernel(__NR_ioctl, fd, request, (long)args, 0, 0);
	close_fd(fd);
	return result;
}

static long open_event(long attr, pid_t pid, int cpu, int group_fd, uint64_t flags)
{
	struct pmuring_open args = {
		.attr_ptr = attr,
		.pid = pid,
		.cpu = cpu,
		.group_fd = group_fd,
		.flags = flags,
	};

	return ask(PMURING_IOC_OPEN, &args);
}

/*
 * The kernel's perf comes first, always: events of its own may have reached the client
 * by other ways than this library. Without a node there are none of the module.
 */
static long control(long option, long a2, long a3, long a4, long a5)
{
	long result = kernel(__NR_prctl, option, a2, a3, a4, a5);
	long ours;

	if (option == PR_TASK_PERF_EVENTS_ENABLE)
		ours = ask(PMURING_IOC_TASK_ENABLE, NULL);
	else if (option == PR_TASK_PERF_EVENTS_DISABLE)
		ours = ask(PMURING_IOC_TASK_DISABLE, NULL);
	else
		return result;
	return ours == -ENOENT || ours == -ENXIO || ours == -EACCES ? result : ours;
}

/**
 * preload_return - end a system call as libc does
 * @result: what the kernel returned
 *
 * Return: @result, or -1 with errno
 */
long preload_return(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = -result;
	return -1;
}

/**
 * preload_syscall - the two system calls that syscall() does not pass on
 * @number: __NR_perf_event_open or __NR_prctl
 * @a1: first argument of the call
 * @a2: second one
 * @a3: third one
 * @a4: fourth one
 * @a5: fifth one
 *
 * Return: as syscall(2)
 */
long preload_syscall(long number, long a1, long a2, long a3, long a4, long a5)
{
	if ((int)number == __NR_prctl)
		return preload_return(control(a1, a2, a3, a4, a5));
	return preload_return(open_event(a1, a2, a3, a4, a5));
}

/**
 * prctl - libc's, interposed
 * @option: as prctl(2); the two of perf reach the module as well
 *
 * Return: as prctl(2)
 */
EXPORTED int prctl(int option, ...)
{
	long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return preload_return(control(option, a[0], a[1], a[2], a[3]));
}
