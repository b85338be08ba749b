// SPDX-License-Identifier: GPL-2.0
/*
 * read(2) with every read_format, of single events and of groups, and with buffers
 * that are too small.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define WORDS	64

static void say_times(uint64_t enabled, uint64_t running)
{
	say("times=%s", !enabled && !running ? "none" :
	    enabled == running ? "equal" : enabled > running ? "enabled-longer" : "wrong");
}

/* Decodes by the format; ids are compared with IOC_ID. */
static void say_words(const uint64_t *words, ssize_t len, uint64_t format, const uint64_t *ids)
{
	const uint64_t *word = words;
	uint64_t enabled = 0, running = 0, n = 1;

	say("bytes=%zd", len);
	if (format & PERF_FORMAT_GROUP) {
		n = *word++;
		say("nr=%llu", (unsigned long long)n);
	} else {
		say("value=%llu", (unsigned long long)*word++);
	}
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		enabled = *word++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		running = *word++;
	if ((format & FORMAT_TIMES) == FORMAT_TIMES)
		say_times(enabled, running);
	else if (format & FORMAT_TIMES)
		say("time=%s", enabled + running ? "some" : "none");
	for (uint64_t i = 0; i < n && i < 4; i++) {
		if (format & PERF_FORMAT_GROUP)
			say("value=%llu", (unsigned long long)*word++);
		if (format & PERF_FORMAT_ID)
			say("id=%s", *word++ == ids[i] ? "right" : "wrong");
		if (format & FORMAT_LOST)
			say("lost=%llu", (unsigned long long)*word++);
	}
}

static void read_single(const void *arg)
{
	const uint64_t *format = arg;
	struct perf_event_attr attr = instructions();
	uint64_t words[WORDS] = {}, id;
	ssize_t len;
	int fd;

	attr.read_format = *format;
	fd = open_self(&attr);
	id = event_id(fd);
	work_counted(fd, 1000);
	len = read(fd, words, sizeof(words));
	say_words(words, len, *format, &id);
	say_result("short", read(fd, words, len - 1));
	say_result("exact", read(fd, words, len));
}

struct group {
	int fd[3];
	uint64_t id[3];
};

/* Instructions, branches and a software event; enabled by the leader. */
static void open_group(struct group *group, uint64_t format)
{
	struct perf_event_attr attr = instructions();

	attr.read_format = format;
	group->fd[0] = open_self(&attr);
	attr = branches();
	attr.read_format = format;
	attr.disabled = 0;
	group->fd[1] = must_open(&attr, 0, -1, group->fd[0]);
	attr = software(PERF_COUNT_SW_DUMMY);
	attr.read_format = format;
	attr.disabled = 0;
	group->fd[2] = must_open(&attr, 0, -1, group->fd[0]);
	for (int i = 0; i < 3; i++)
		group->id[i] = event_id(group->fd[i]);
}

static void read_group(const void *arg)
{
	const uint64_t *format = arg;
	uint64_t words[WORDS] = {};
	struct group group;
	ssize_t len;

	open_group(&group, *format);
	work_counted(group.fd[0], 1000);
	len = read(group.fd[0], words, sizeof(words));
	say_words(words, len, *format, group.id);
	say_result("short", read(group.fd[0], words, len - 1));
}

/* The same through the second member. */
static void read_group_by_sibling(const void *arg)
{
	const uint64_t *format = arg;
	uint64_t words[WORDS] = {};
	struct group group;
	ssize_t len;

	open_group(&group, *format);
	work_counted(group.fd[0], 1000);
	len = read(group.fd[1], words, sizeof(words));
	say_words(words, len, *format,
		  *format & PERF_FORMAT_GROUP ? group.id : group.id + 1);
}

static void sweep_formats(const char *theme, case_fn fn)
{
	char name[20];

	for (uint64_t format = 0; format < FORMATS; format++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)format);
		run_case(theme, name, fn, &format);
	}
}

/* Hide the bad pointers from the compiler. */
static long read_raw(int fd, void *at, size_t size)
{
	return syscall(SYS_read, fd, at, size);
}

static void room(void)
{
	struct perf_event_attr attr = instructions();
	uint64_t words[WORDS];
	int fd = open_self(&attr);

	say_result("0", read(fd, words, 0));
	say_result("7", read(fd, words, 7));
	say("8:%zd", read(fd, words, 8));
	say("512:%zd", read(fd, words, 512));
	say_result("fault", read_raw(fd, NULL, 8));
	say_result("huge", read_raw(fd, words, 1UL << 40));
	say("huge:%ld", read_raw(fd, words, 1UL << 40));
}

static void read_error(uint64_t format, const char *what)
{
	uint64_t words[WORDS];
	int fd = open_error_event(format, 0);

	say("%s:%zd", what, read(fd, words, sizeof(words)));
	say("0:%zd", read(fd, words, 0));
	say_result("fault", read_raw(fd, NULL, 64));
}

static void error_eof(void)
{
	read_error(0, "single");
}

static void error_eof_group(void)
{
	read_error(PERF_FORMAT_GROUP, "group");
}

static void mixed_formats(void)
{
	struct perf_event_attr attr = instructions();
	uint64_t words[WORDS];
	int leader, sibling;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	leader = open_self(&attr);
	attr = branches();
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	sibling = must_open(&attr, 0, -1, leader);
	work_counted(leader, 100);
	say("leader=%zd", read(leader, words, sizeof(words)));
	say("sibling=%zd", read(sibling, words, sizeof(words)));
	say("value=%llu", (unsigned long long)words[0]);
}

/* Add siblings to a group until its read is too large and one is refused. */
static void grow(uint64_t leader_format, uint64_t sibling_format)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	static uint64_t words[4096];
	int leader, fd, n = 0;

	attr.read_format = leader_format;
	leader = open_self(&attr);
	attr.read_format = sibling_format;
	while (n < 3000 && (fd = try_open(&attr, 0, -1, leader, 0)) >= 0)
		n++;
	say_result("last", fd);
	say("siblings=%d bytes=%zd", n, read(leader, words, sizeof(words)));
}

static void group_too_big(void)
{
	grow(31, 31);
}

static void group_too_big_values(void)
{
	grow(PERF_FORMAT_GROUP, PERF_FORMAT_GROUP);
}

static void group_too_big_leader(void)
{
	grow(31, 0);
}

static void group_too_big_sibling(void)
{
	grow(0, 31);
}

static void killed_task(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	struct count count;
	int fd;

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	helper_do(&helper, ORDER_WORK);
	helper_end(&helper);
	say("read=%d", read_count(fd, &count));
	say("value=%s", count.value >= SOME_WORK * WORK_ROUND ? "work" : "less");
	say_times(count.enabled, count.running);
}

/* enabled is longer after a time without a counter. */
static void enabled_elsewhere(void)
{
	struct perf_event_attr attr = instructions();
	struct count count;
	int fd;

	pin_to(0);
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	fd = must_open(&attr, 0, 1, -1);
	work(SOME_WORK);
	read_count(fd, &count);
	say("value=%llu running=%s", (unsigned long long)count.value,
	    count.running ? "some" : "none");
	say("enabled=%s", count.enabled ? "some" : "none");
}

static const struct simple_case simple[] = {
	{ "room", room },
	{ "error", error_eof },
	{ "error-group", error_eof_group },
	{ "mixed-formats", mixed_formats },
	{ "too-big", group_too_big },
	{ "too-big-values", group_too_big_values },
	{ "too-big-leader", group_too_big_leader },
	{ "too-big-sibling", group_too_big_sibling },
	{ "task-gone", killed_task },
	{ "cpu-elsewhere", enabled_elsewhere },
};

/**
 * theme_read - results of read(2)
 */
void theme_read(void)
{
	sweep_formats("read-single", read_single);
	sweep_formats("read-group", read_group);
	sweep_formats("read-sibling", read_group_by_sibling);
	run_simple("read", simple, ARRAY_SIZE(simple));
}
