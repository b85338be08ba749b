// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of both implementations, and ways to drop privileges. Called by the
 * cases, and by main() before the first one.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"

/* The same limit of both implementations. */
static const struct {
	const char *sysctl;
	const char *parameter;
} knobs[KNOBS] = {
	[KNOB_PARANOID] = { "perf_event_paranoid", "paranoid" },
	[KNOB_RATE] = { "perf_event_max_sample_rate", "max_sample_rate" },
	[KNOB_MLOCK] = { "perf_event_mlock_kb", "mlock_kb" },
	[KNOB_STACK] = { "perf_event_max_stack", "max_stack" },
};

static void write_number(const char *folder, const char *name, long value)
{
	char path[200], text[30];
	int fd, len;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = snprintf(text, sizeof(text), "%ld\n", value);
	if (write(fd, text, len) != len)
		fprintf(stderr, "parity: cannot write %ld to %s: %s\n", value, path, error_name(-1));
	close(fd);
}

/**
 * knob_set - set a limit in the kernel's perf, and in pmuring where it is loaded
 * @knob: which one
 * @value: new value
 */
void knob_set(enum knob knob, long value)
{
	write_number("/proc/sys/kernel", knobs[knob].sysctl, value);
	write_number("/sys/module/pmuring/parameters", knobs[knob].parameter, value);
}

/**
 * rate_set - set the limit of samples per second
 * @rate: new value
 *
 * The kernel lets it be set only while it limits the CPU time of sampling, too.
 */
void rate_set(long rate)
{
	write_number("/proc/sys/kernel", "perf_cpu_time_max_percent", 25);
	knob_set(KNOB_RATE, rate);
	write_number("/proc/sys/kernel", "perf_cpu_time_max_percent", 0);
}

/**
 * prepare_machine - set the same limits in both implementations
 */
void prepare_machine(void)
{
	struct rlimit files = { 4096, 4096 };

	rate_set(1000000);
	knob_set(KNOB_PARANOID, 2);
	knob_set(KNOB_MLOCK, 516);
	knob_set(KNOB_STACK, 127);
	setrlimit(RLIMIT_NOFILE, &files);
}

static void set_capabilities(uint64_t set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = set, .permitted = set },
		{ .effective = set >> 32, .permitted = set >> 32 },
	};

	if (syscall(SYS_capset, &header, data))
		give_up("capset: %s", error_name(-1));
}

static void change_user(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		give_up("setuid: %s", error_name(-1));
}

/**
 * be_nobody - become an unprivileged, dumpable user
 */
void be_nobody(void)
{
	change_user();
	prctl(PR_SET_DUMPABLE, 1);
}

/**
 * be_nobody_with - go on as that user, with one capability
 * @capability: CAP_*
 */
void be_nobody_with(int capability)
{
	prctl(PR_SET_KEEPCAPS, 1);
	change_user();
	set_capabilities(1ULL << capability);
	prctl(PR_SET_DUMPABLE, 1);
}

/**
 * lose_capability - go on as root without one capability
 * @capability: CAP_*
 */
void lose_capability(int capability)
{
	set_capabilities(((1ULL << (CAP_LAST_CAP + 1)) - 1) & ~(1ULL << capability));
	prctl(PR_SET_DUMPABLE, 1);
}
