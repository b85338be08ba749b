// SPDX-License-Identifier: GPL-2.0
/*
 * Open with two errors at once as an unprivileged user. The one reported first is part
 * of the ABI, since clients choose their fallback by it.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "parity.h"

/* arguments of the open; each error changes one of them */
struct request {
	struct perf_event_attr attr;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	int leader;
	bool no_descriptor;
};

static void bad_flags(struct request *request)
{
	request->flags |= 1UL << 63;
}

static void bad_size(struct request *request)
{
	request->attr.size = 8;
}

static void reserved(struct request *request)
{
	request->attr.__reserved_2 = 1;
}

static void branch_of_kernel(struct request *request)
{
	request->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	request->attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL;
}

static void branch_of_user(struct request *request)
{
	request->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	request->attr.branch_sample_type |= PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
}

static void kernel_too(struct request *request)
{
	request->attr.exclude_kernel = 0;
}

static void high_frequency(struct request *request)
{
	request->attr.freq = 1;
	request->attr.sample_freq = 1ULL << 40;
}

static void no_descriptor(struct request *request)
{
	request->no_descriptor = true;
}

static void group_closed(struct request *request)
{
	request->group_fd = 999;
}

static void pid_unknown(struct request *request)
{
	request->pid = 0x7fffffff;
}

static void pid_of_init(struct request *request)
{
	request->pid = 1;
}

static void cpu_unknown(struct request *request)
{
	request->cpu = 9999;
}

static void type_unknown(struct request *request)
{
	request->attr.type = 999;
}

static void config_unknown(struct request *request)
{
	request->attr.config = 77;
}

static void chain_too_deep(struct request *request)
{
	request->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	request->attr.exclude_callchain_kernel = 1;
	request->attr.sample_max_stack = 60000;
}

static void too_precise(struct request *request)
{
	request->attr.precise_ip = 3;
	if (!request->attr.sample_period)
		request->attr.sample_period = 100000;
}

static void clock_unknown(struct request *request)
{
	request->attr.use_clockid = 1;
	request->attr.clockid = 99;
}

static void cpu_of_other_leader(struct request *request)
{
	request->group_fd = request->leader;
	request->cpu = request->cpu == -1 ? 0 : request->cpu;
}

static const struct fault {
	const char *name;
	void (*spoil)(struct request *request);
} faults[] = {
	{ "flags", bad_flags },
	{ "size", bad_size },
	{ "reserved", reserved },
	{ "branch-kernel", branch_of_kernel },
	{ "branch-user", branch_of_user },
	{ "kernel", kernel_too },
	{ "freq", high_frequency },
	{ "no-descriptor", no_descriptor },
	{ "group-closed", group_closed },
	{ "pid-unknown", pid_unknown },
	{ "pid-init", pid_of_init },
	{ "cpu-unknown", cpu_unknown },
	{ "type", type_unknown },
	{ "config", config_unknown },
	{ "chain", chain_too_deep },
	{ "precise", too_precise },
	{ "clock", clock_unknown },
	{ "leader-cpu", cpu_of_other_leader },
};

struct pair {
	const struct fault *first;
	const struct fault *second;
};

static void open_spoilt(const void *arg)
{
	const struct pair *pair = arg;
	struct request request = { .attr = instructions(), .cpu = -1, .group_fd = -1 };
	struct perf_event_attr attr = instructions();
	struct rlimit few = { 0, 0 };
	int fd;

	be_nobody();
	request.leader = open_self(&attr);
	pair->first->spoil(&request);
	pair->second->spoil(&request);
	if (request.no_descriptor)
		setrlimit(RLIMIT_NOFILE, &few);
	fd = try_open(&request.attr, request.pid, request.cpu, request.group_fd, request.flags);
	say_result("open", fd);
}

/**
 * theme_order - two errors at once
 */
void theme_order(void)
{
	struct pair pair;
	char name[60];

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		for (size_t j = i; j < ARRAY_SIZE(faults); j++) {
			pair = (struct pair){ &faults[i], &faults[j] };
			snprintf(name, sizeof(name), "%s+%s", faults[i].name, faults[j].name);
			run_case("order", name, open_spoilt, &pair);
		}
	}
}
