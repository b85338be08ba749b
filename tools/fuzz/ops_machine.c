// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on shared state: the PMU, which the kernel's perf also uses, and for root
 * the module's parameters and the CPUs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

/* the neighbour's event */
#define PERF_FD	(EPOLL_FD + 4)

static long write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	long put;
	int code;

	if (fd < 0)
		return -1;
	put = write(fd, text, strlen(text));
	code = errno;
	close(fd);
	errno = code;
	return put;
}

long op_perf(struct world *w)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = rng_percent(&w->rng, 60) ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = rng_percent(&w->rng, 30),
	};
	int fd;

	close(PERF_FD);
	if (rng_percent(&w->rng, 20))
		attr.sample_period = 1000003;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return -1;
	/* Others want the PMU, too. */
	if (rng_percent(&w->rng, 20))
		dup2(fd, PERF_FD);
	close(fd);
	return 0;
}

static const struct knob {
	const char *name;
	int value[6];
} knobs[] = {
	{ "paranoid", { -1, 0, 1, 2, 2, 2 } },
	{ "mlock_kb", { 516, 516, 516, 4, 0, 100000 } },
	{ "max_stack", { 127, 127, 1, 0, 1000, 1 << 30 } },
	/* without these limits, a few events would take all of the machine's time */
	{ "max_sample_rate", { 100000, 100000, 4000, 1, 0, 250000 } },
	{ "cpu_time_max_percent", { 25, 25, 10, 1, 101, -1 } },
	{ "max_events", { 4096, 1024, 64, 0, 1 << 30, 10000 } },
};

static long set_knob(const struct knob *knob, int value)
{
	char path[80], text[16];

	snprintf(path, sizeof(path), "/sys/module/pmuring/parameters/%s", knob->name);
	snprintf(text, sizeof(text), "%d", value);
	return write_file(path, text);
}

long op_param(struct world *w)
{
	const struct knob *knob = &knobs[rng_below(&w->rng, ARRAY_SIZE(knobs))];
	int value = knob->value[rng_below(&w->rng, 6)];

	if (!w->root)
		return 0;
	op_tell(w, " %s=%d", knob->name, value);
	return set_knob(knob, value);
}

static long set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_file(path, online ? "1" : "0");
}

/* One worker does it, and keeps no more than one CPU off. */
long op_hotplug(struct world *w)
{
	int cpu = w->offline ?: (int)(1 + rng_below(&w->rng, cpus() - 1 ?: 1));
	bool online = w->offline;
	long got;

	if (!w->root || w->depth || w->family || w->thread)
		return 0;
	op_tell(w, " CPU %d %s", cpu, online ? "on" : "off");
	got = set_online(cpu, online);
	if (got > 0)
		w->offline = online ? 0 : cpu;
	return got;
}

/**
 * machine_restore() - restore parameters and CPUs
 */
void machine_restore(struct world *w)
{
	if (!w->root)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		set_knob(&knobs[i], i ? knobs[i].value[0] : 2);
	if (w->offline)
		set_online(w->offline, true);
}
