// SPDX-License-Identifier: GPL-2.0
/*
 * Every ioctl as a 32-bit process makes it: request numbers with a pointer in
 * them carry the size of a 32-bit one, and arguments have no upper half. The
 * system call goes through the kernel's 32-bit entry, which a 64-bit program can
 * use, too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "parity.h"
#include "workload.h"

/* ioctl(2) among the system calls of i386 */
#define NR_IOCTL	54

#define PERIOD		500000

/* The requests as 32-bit headers have them */
#define IOC32_SET_FILTER	_IOW('$', 6, uint32_t)
#define IOC32_ID		_IOR('$', 7, uint32_t)
#define IOC32_QUERY_BPF		_IOWR('$', 10, uint32_t)
#define IOC32_MODIFY		_IOW('$', 11, uint32_t)

/* what an argument points to; below 4 GiB */
struct argument {
	struct perf_event_attr attr;
	uint64_t number;
	char text[16];
};

static struct argument *argument;

static int ioctl32(int fd, unsigned int request, unsigned long arg)
{
	int result;

	asm volatile("int $0x80" : "=a" (result)
		     : "0" (NR_IOCTL), "b" (fd), "c" (request), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

enum points_to { NOTHING, NUMBER, TEXT, ATTR };

static const struct operation {
	const char *name;
	unsigned int request;
	unsigned int value;
	enum points_to to;
} operations[] = {
	{ "enable", PERF_EVENT_IOC_ENABLE, 0, NOTHING },
	{ "enable-group", PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP, NOTHING },
	{ "refresh-1", PERF_EVENT_IOC_REFRESH, 1, NOTHING },
	{ "refresh-minus-1", PERF_EVENT_IOC_REFRESH, -1U, NOTHING },
	{ "set-output-none", PERF_EVENT_IOC_SET_OUTPUT, -1U, NOTHING },
	{ "set-output-minus-2", PERF_EVENT_IOC_SET_OUTPUT, -2U, NOTHING },
	{ "set-output-closed", PERF_EVENT_IOC_SET_OUTPUT, 999, NOTHING },
	{ "pause", PERF_EVENT_IOC_PAUSE_OUTPUT, 1, NOTHING },
	{ "set-bpf-closed", PERF_EVENT_IOC_SET_BPF, 999, NOTHING },
	{ "set-bpf-minus-1", PERF_EVENT_IOC_SET_BPF, -1U, NOTHING },
	{ "period", PERF_EVENT_IOC_PERIOD, 70000, NUMBER },
	{ "period-fault", PERF_EVENT_IOC_PERIOD, 8, NOTHING },
	{ "id", IOC32_ID, 0, NUMBER },
	{ "id-64", PERF_EVENT_IOC_ID, 0, NUMBER },
	{ "id-wrong-size", _IOR('$', 7, uint16_t), 0, NUMBER },
	{ "set-filter", IOC32_SET_FILTER, 0, TEXT },
	{ "set-filter-64", PERF_EVENT_IOC_SET_FILTER, 0, TEXT },
	{ "query-bpf", IOC32_QUERY_BPF, 0, NUMBER },
	{ "modify", IOC32_MODIFY, 0, ATTR },
	{ "modify-64", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0, ATTR },
	{ "modify-fault", IOC32_MODIFY, 8, NOTHING },
	{ "unknown", _IO('$', 99), 0, NOTHING },
};

static unsigned long value_of(const struct operation *operation)
{
	argument->number = operation->value;
	switch (operation->to) {
	case NUMBER:
		return (uintptr_t)&argument->number;
	case TEXT:
		return (uintptr_t)strcpy(argument->text, "a == 1");
	case ATTR:
		argument->attr = sampling(PERIOD, 0);
		return (uintptr_t)&argument->attr;
	default:
		return operation->value;
	}
}

static void try_compat(const void *arg)
{
	const struct operation *operation = arg;
	struct perf_event_attr attr = sampling(PERIOD, 0);
	int fd;

	argument = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (argument == MAP_FAILED)
		give_up("mmap: %s", error_name(-1));
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	say_result("ioctl", ioctl32(fd, operation->request, value_of(operation)));
	if (operation->request == IOC32_ID)
		say("right=%d", argument->number == event_id(fd));
	say_behaviour("then", fd);
	say_poll("poll", fd);
}

/**
 * theme_ioctl_compat - ioctls of a 32-bit process
 */
void theme_ioctl_compat(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		run_case("ioctl-compat", operations[i].name, try_compat, &operations[i]);
}
