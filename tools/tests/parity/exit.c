// SPDX-License-Identifier: GPL-2.0
/*
 * Events across the exit of their task, and across the exit of their opener.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static void exit_of_task(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	struct count first, second;
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, -1, -1);
	say_poll("alive", fd);
	helper_end(&helper);
	say_poll("gone", fd);
	read_count(fd, &first);
	usleep(2000);
	read_count(fd, &second);
	say("value=%s times=%s", first.value == second.value ? "stays" : "grows",
	    first.enabled == second.enabled ? "stay" : "grow");
	say_result("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	say_result("reset", ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	read_count(fd, &second);
	say("value=%llu", (unsigned long long)second.value);
}

static void group_after_exit(void)
{
	struct perf_event_attr attr = instructions();
	struct helper helper;
	uint64_t words[8] = {};
	int leader;

	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP;
	helper_start(&helper);
	leader = must_open(&attr, helper.pid, -1, -1);
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	must_open(&attr, helper.pid, -1, leader);
	helper_do(&helper, ORDER_WORK);
	helper_end(&helper);
	say("bytes=%zd", read(leader, words, sizeof(words)));
	say("nr=%llu", (unsigned long long)words[0]);
	say("leader=%d sibling=%d", words[1] >= SOME_WORK * WORK_ROUND, words[2] >= SOME_WORK);
}

static void opener_gone(void *data)
{
	struct helper *helper = data;
	struct perf_event_attr attr = instructions();

	attr.disabled = 0;
	must_open(&attr, helper->pid, -1, -1);
}

/* The opener's exit closes the event while the task lives. */
static void opener_exits(void)
{
	struct helper helper;

	helper_start(&helper);
	run_child(opener_gone, &helper);
	helper_do(&helper, ORDER_WORK);
	say("survived");
}

static void send_event(void *data)
{
	struct perf_event_attr attr = instructions();
	char space[CMSG_SPACE(sizeof(int))] = {};
	struct iovec byte = { "", 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = space,
				  .msg_controllen = sizeof(space) };
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	fd = must_open(&attr, getppid(), -1, -1);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	if (sendmsg(*(int *)data, &message, 0) < 0)
		give_up("sendmsg: %s", error_name(-1));
}

/* Passed over a socket, an event outlives its opener. */
static void passed_on(void)
{
	char space[CMSG_SPACE(sizeof(int))], byte;
	struct iovec room = { &byte, 1 };
	struct msghdr message = { .msg_iov = &room, .msg_iovlen = 1, .msg_control = space,
				  .msg_controllen = sizeof(space) };
	int sockets[2], fd = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		give_up("socketpair: %s", error_name(-1));
	run_child(send_event, &sockets[1]);
	if (recvmsg(sockets[0], &message, MSG_CMSG_CLOEXEC) < 1)
		give_up("recvmsg: %s", error_name(-1));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	say_behaviour("event", fd);
	disable(fd);
	say_behaviour("disabled", fd);
}

static const struct simple_case simple[] = {
	{ "task", exit_of_task },
	{ "group", group_after_exit },
	{ "opener", opener_exits },
	{ "passed-on", passed_on },
};

/**
 * theme_exit - exit
 */
void theme_exit(void)
{
	run_simple("exit", simple, ARRAY_SIZE(simple));
}
