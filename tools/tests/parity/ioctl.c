// SPDX-License-Identifier: GPL-2.0
/*
 * Every ioctl in every state of a single event: its result, and what the event does
 * afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"

#define PERIOD	500000

enum state { OFF, INACTIVE, ACTIVE, EXITED, ERROR, STATES };

static const char *const state_names[STATES] = { "off", "inactive", "active", "exit", "error" };

enum kind { COUNTING, SAMPLING, RING, KINDS };

static const char *const kind_names[KINDS] = { "counting", "sampling", "ring" };

static const uint64_t period_good = 70000, period_zero, period_negative = 1ULL << 63;

/* where an argument is the event itself */
#define ARG_SELF 0x5e1f

static const struct operation {
	const char *name;
	unsigned long request;
	const void *pointer;
	unsigned long number;
} operations[] = {
	{ "none", 0, NULL, 0 },
	{ "enable", PERF_EVENT_IOC_ENABLE, NULL, 0 },
	{ "enable-group", PERF_EVENT_IOC_ENABLE, NULL, PERF_IOC_FLAG_GROUP },
	{ "enable-flag-2", PERF_EVENT_IOC_ENABLE, NULL, 2 },
	{ "enable-bit-32", PERF_EVENT_IOC_ENABLE, NULL, 1UL << 32 },
	{ "enable-flag-all", PERF_EVENT_IOC_ENABLE, NULL, ~0UL },
	{ "disable", PERF_EVENT_IOC_DISABLE, NULL, 0 },
	{ "disable-group", PERF_EVENT_IOC_DISABLE, NULL, PERF_IOC_FLAG_GROUP },
	{ "reset", PERF_EVENT_IOC_RESET, NULL, 0 },
	{ "reset-group", PERF_EVENT_IOC_RESET, NULL, PERF_IOC_FLAG_GROUP },
	{ "refresh-0", PERF_EVENT_IOC_REFRESH, NULL, 0 },
	{ "refresh-1", PERF_EVENT_IOC_REFRESH, NULL, 1 },
	{ "refresh-minus-1", PERF_EVENT_IOC_REFRESH, NULL, -1UL },
	{ "refresh-bit-32", PERF_EVENT_IOC_REFRESH, NULL, 1UL << 32 },
	{ "period", PERF_EVENT_IOC_PERIOD, &period_good, 0 },
	{ "period-0", PERF_EVENT_IOC_PERIOD, &period_zero, 0 },
	{ "period-bit-63", PERF_EVENT_IOC_PERIOD, &period_negative, 0 },
	{ "period-fault", PERF_EVENT_IOC_PERIOD, NULL, 8 },
	{ "set-output-none", PERF_EVENT_IOC_SET_OUTPUT, NULL, -1UL },
	{ "set-output-self", PERF_EVENT_IOC_SET_OUTPUT, NULL, ARG_SELF },
	{ "set-output-closed", PERF_EVENT_IOC_SET_OUTPUT, NULL, 999 },
	{ "set-output-stdin", PERF_EVENT_IOC_SET_OUTPUT, NULL, 0 },
	{ "set-output-none-int", PERF_EVENT_IOC_SET_OUTPUT, NULL, 0xffffffff },
	{ "set-output-none-bit-63", PERF_EVENT_IOC_SET_OUTPUT, NULL, ~(1UL << 63) },
	{ "set-output-bit-32", PERF_EVENT_IOC_SET_OUTPUT, NULL, 1UL << 32 },
	{ "set-output-minus-2", PERF_EVENT_IOC_SET_OUTPUT, NULL, -2UL },
	{ "set-filter", PERF_EVENT_IOC_SET_FILTER, "a == 1", 0 },
	{ "set-filter-fault", PERF_EVENT_IOC_SET_FILTER, NULL, 8 },
	{ "id-fault", PERF_EVENT_IOC_ID, NULL, 8 },
	{ "set-bpf-closed", PERF_EVENT_IOC_SET_BPF, NULL, 999 },
	{ "set-bpf-bit-32", PERF_EVENT_IOC_SET_BPF, NULL, 1UL << 32 },
	{ "pause", PERF_EVENT_IOC_PAUSE_OUTPUT, NULL, 1 },
	{ "pause-bit-32", PERF_EVENT_IOC_PAUSE_OUTPUT, NULL, 1UL << 32 },
	{ "resume", PERF_EVENT_IOC_PAUSE_OUTPUT, NULL, 0 },
	{ "query-bpf", PERF_EVENT_IOC_QUERY_BPF, NULL, 8 },
	{ "modify-fault", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, NULL, 8 },
	{ "unknown", _IO('$', 99), NULL, 0 },
	{ "unknown-type", _IO('%', 0), NULL, 0 },
	{ "enable-wrong-size", _IOW('$', 0, uint64_t), NULL, 0 },
	{ "id-compat", _IOR('$', 7, uint32_t), NULL, 8 },
	{ "fionread", 0x541b, NULL, 8 },
	{ "fioasync-fault", 0x5452, NULL, 8 },
};

struct trial {
	enum kind kind;
	enum state state;
	const struct operation *operation;
};

/* An event in that state, and its task if it is another one. */
static int open_in_state(const struct trial *trial)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	int fd;

	attr.read_format = FORMAT_TIMES;
	if (trial->kind != COUNTING)
		attr.sample_period = PERIOD;
	attr.disabled = trial->state == OFF;
	switch (trial->state) {
	case INACTIVE:
		helper_start(&helper);
		helper_stop(&helper);
		return must_open(&attr, helper.pid, -1, -1);
	case EXITED:
		helper_start(&helper);
		fd = must_open(&attr, helper.pid, -1, -1);
		helper_do(&helper, ORDER_WORK);
		helper_end(&helper);
		return fd;
	case ERROR:
		return open_error_event(FORMAT_TIMES, attr.sample_period);
	default:
		return open_self(&attr);
	}
}

static void try_operation(const void *arg)
{
	const struct trial *trial = arg;
	const struct operation *operation = trial->operation;
	int fd = open_in_state(trial);
	void *map = MAP_FAILED;
	unsigned long value;

	if (trial->kind == RING) {
		map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		say_result("mmap", map == MAP_FAILED ? -1 : 0);
	}
	value = operation->pointer ? (unsigned long)operation->pointer : operation->number;
	if (value == ARG_SELF)
		value = fd;
	if (operation->request)
		say_result("ioctl", ioctl(fd, operation->request, value));
	say_behaviour("then", fd);
	say_poll("poll", fd);
}

/* The return values themselves, and what is written. */
static void values(void)
{
	struct perf_event_attr attr = sampling(PERIOD, 0);
	int fd = open_self(&attr);
	uint64_t id = 0, period = 1000;

	say("enable=%d", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	say("refresh=%d", ioctl(fd, PERF_EVENT_IOC_REFRESH, 5));
	say("disable=%d", ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	say("reset=%d", ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	say("period=%d", ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
	say("written=%llu", (unsigned long long)period);
	say("id=%d", ioctl(fd, PERF_EVENT_IOC_ID, &id));
	say("written=%s", id ? "some" : "none");
	say("same=%d", event_id(fd) == id);
	say("other=%d", event_id(open_self(&attr)) == id);
}

/* RESET clears the count and nothing else. */
static void reset(void)
{
	struct perf_event_attr attr = instructions();
	struct count before, after;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	enable(fd);
	say_behaviour("first", fd);
	disable(fd);
	read_count(fd, &before);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	read_count(fd, &after);
	say("value=%llu enabled=%s running=%s", (unsigned long long)after.value,
	    after.enabled == before.enabled ? "kept" : "changed",
	    after.running == before.running ? "kept" : "changed");
}

static void twice(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	enable(fd);
	enable(fd);
	say_behaviour("enabled", fd);
	disable(fd);
	disable(fd);
	say_behaviour("disabled", fd);
	enable(fd);
	say_behaviour("again", fd);
}

static void error_recovers(void)
{
	struct perf_event_attr attr = branches();
	int fd, others[70], n = 0;
	uint64_t words[8];

	attr.pinned = 1;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	for (;;) {
		fd = open_self(&attr);
		if (!read(fd, words, sizeof(words)) || n == 69)
			break;
		others[n++] = fd;
	}
	say_behaviour("error", fd);
	close(others[0]);
	say_behaviour("room", fd);
	enable(fd);
	say_behaviour("enabled", fd);
	disable(fd);
	say_behaviour("disabled", fd);
	enable(fd);
	say_behaviour("again", fd);
}

static void duplicates(void)
{
	struct perf_event_attr attr = instructions();
	int fd, copy;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr);
	copy = dup(fd);
	close(fd);
	enable(copy);
	say_behaviour("copy", copy);
}

static const struct simple_case simple[] = {
	{ "values", values },
	{ "reset", reset },
	{ "twice", twice },
	{ "error-recovers", error_recovers },
	{ "duplicate", duplicates },
};

/**
 * theme_ioctl - ioctls of one event
 */
void theme_ioctl(void)
{
	struct trial trial;
	char theme[30], name[60];

	for (int kind = 0; kind < KINDS; kind++)
		for (int state = 0; state < STATES; state++)
			for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
				trial = (struct trial){ kind, state, &operations[i] };
				snprintf(theme, sizeof(theme), "ioctl-%s", kind_names[kind]);
				snprintf(name, sizeof(name), "%s-%s", state_names[state],
					 operations[i].name);
				run_case(theme, name, try_operation, &trial);
			}
	run_simple("ioctl", simple, ARRAY_SIZE(simple));
}
