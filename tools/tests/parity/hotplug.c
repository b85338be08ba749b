// SPDX-License-Identifier: GPL-2.0
/*
 * Events across CPU hotplug. Each case leaves CPU 1 online.
 */
#include <fcntl.h>
#include <unistd.h>

#include "parity.h"

static void set_online(bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);

	if (fd < 0 || write(fd, online ? "1" : "0", 1) != 1)
		give_up("CPU 1: %s", error_name(-1));
	close(fd);
}

static void open_offline(void)
{
	struct perf_event_attr attr = instructions();

	set_online(false);
	say_result("cpu", try_open(&attr, -1, 1, -1, 0));
	say_result("task-on-cpu", try_open(&attr, 0, 1, -1, 0));
	attr = software(PERF_COUNT_SW_CPU_CLOCK);
	say_result("software", try_open(&attr, -1, 1, -1, 0));
	attr.config = PERF_COUNT_SW_DUMMY;
	say_result("dummy", try_open(&attr, -1, 1, -1, 0));
	set_online(true);
	say_result("back", try_open(&attr, -1, 1, -1, 0));
}

/* An event on a CPU that goes offline stays open; its state when the CPU is back. */
static void goes_and_comes(void)
{
	struct perf_event_attr attr = instructions();
	struct count before, after;
	struct ring ring;
	int fd;

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	attr.sample_period = 1ULL << 40;
	fd = must_open(&attr, -1, 1, -1);
	must_map(&ring, fd, 1);
	say_poll("online", fd);
	set_online(false);
	say_poll("offline", fd);
	say("read=%d", read_count(fd, &before));
	say("value=%s", before.value ? "some" : "none");
	set_online(true);
	say_poll("online", fd);
	pin_to(1);
	read_count(fd, &before);
	usleep(1000);
	read_count(fd, &after);
	say("%s", after.value > before.value ? "counts-again" : "still");
}

/* A task that is forced to another CPU takes its event along. */
static void task_moves(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to(1);
	fd = open_self(&attr);
	set_online(false);
	say_behaviour("moved", fd);
	set_online(true);
	say_behaviour("back", fd);
}

static const struct simple_case simple[] = {
	{ "open-offline", open_offline },
	{ "goes-and-comes", goes_and_comes },
	{ "task-moves", task_moves },
};

/**
 * theme_hotplug - CPU hotplug
 */
void theme_hotplug(void)
{
	run_simple("hotplug", simple, ARRAY_SIZE(simple));
}
