// SPDX-License-Identifier: GPL-2.0
/*
 * The machine under test, by way of /dev/cpu, /proc, /sys and /dev/kmsg.
 * Called by the tests; any thread unless it says otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "door.h"
#include "machine.h"
#include "tap.h"

/**
 * machine_is_exact - whether counters count exactly here
 *
 * They do on the PMU-modelling QEMU, which has a signature in an MSR. Needs the
 * kernel's msr driver.
 *
 * Return: whether this is that machine
 */
bool machine_is_exact(void)
{
	static int known = -1;
	uint64_t id;

	if (known < 0)
		known = msr_read(0, QPMU_ID, &id) && id == QPMU_SIGNATURE;
	return known;
}

/**
 * machine_is_checked - whether the kernel checks what it does
 *
 * Each step takes it several times as many instructions, the first time thousands,
 * and KASAN keeps what has been freed.
 *
 * Return: whether it is a kernel with kmemleak or KCSAN, as the checking test kernels
 */
bool machine_is_checked(void)
{
	return !access("/sys/kernel/debug/kmemleak", F_OK) ||
	       !access("/sys/kernel/debug/kcsan", F_OK);
}

/**
 * machine_slack - by how much a count may be too high on this machine
 * @count: the right one
 *
 * Real counters see one more instruction for every interrupt and fault.
 *
 * Return: 0 where counters are exact, else 0.1 % and a bit
 */
uint64_t machine_slack(uint64_t count)
{
	return machine_is_exact() ? 0 : count / 1000 + 256;
}

/**
 * cpu_possible - how many CPUs the machine can have
 *
 * Return: their number; CPU numbers are below it
 */
int cpu_possible(void)
{
	return sysconf(_SC_NPROCESSORS_CONF);
}

/**
 * cpu_is_online - whether a CPU runs
 * @cpu: its number
 *
 * Return: whether it does
 */
bool cpu_is_online(int cpu)
{
	char path[64], text[4];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (file_read(path, text, sizeof(text)))
		return text[0] == '1';
	/* CPU 0 has no such file where it cannot go offline */
	return cpu == 0;
}

/**
 * cpu_set_online - start or stop a CPU
 * @cpu: its number
 * @online: start it
 *
 * Return: whether it worked
 */
bool cpu_set_online(int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return file_write(path, online ? "1" : "0");
}

/**
 * cpu_pin - the calling thread runs on one CPU from now on
 * @cpu: its number
 */
void cpu_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bail_out("cannot run on CPU %d", cpu);
}

/**
 * msr_read - read an MSR
 * @cpu: of this CPU
 * @msr: its number
 * @value: where it goes
 *
 * Return: whether it worked; not without the msr driver
 */
bool msr_read(int cpu, uint32_t msr, uint64_t *value)
{
	char path[32];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, value, sizeof(*value), msr);
	close(fd);
	return got == sizeof(*value);
}

/**
 * msr_write - write an MSR
 * @cpu: of this CPU
 * @msr: its number
 * @value: what goes there
 *
 * Return: whether it worked; not without the msr driver
 */
bool msr_write(int cpu, uint32_t msr, uint64_t value)
{
	char path[32];
	ssize_t put;
	int fd;

	/* the driver logs the first write of each program otherwise */
	file_write("/sys/module/msr/parameters/allow_writes", "on");
	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	put = pwrite(fd, &value, sizeof(value), msr);
	close(fd);
	return put == sizeof(value);
}

/**
 * file_read - read a small file
 * @path: its name
 * @text: where it goes, cut at the first line break and terminated
 * @size: room there
 *
 * Return: whether it could be read
 */
bool file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	if (got < 0)
		return false;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/**
 * file_write - write a small file
 * @path: its name
 * @text: what goes there
 *
 * Return: whether it was taken
 */
bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t put;

	if (fd < 0)
		return false;
	put = write(fd, text, strlen(text));
	close(fd);
	return put == (ssize_t)strlen(text);
}

/**
 * file_number - the number in a file
 * @path: its name
 *
 * Return: the number, -1 without one
 */
long file_number(const char *path)
{
	char text[32];

	return file_read(path, text, sizeof(text)) ? strtol(text, NULL, 0) : -1;
}

/**
 * status_kb - a size of the calling process
 * @field: its name in /proc/self/status, such as "VmPin"
 *
 * Return: the size in KiB
 */
uint64_t status_kb(const char *field)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = strlen(field);
	uint64_t kb = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, len) && line[len] == ':')
			kb = strtoull(line + len + 1, NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

/**
 * now_ns - time that passes in suspend neither jumps nor is set
 *
 * Return: nanoseconds since some moment
 */
uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/**
 * sleep_ms - sleep
 * @ms: milliseconds
 */
void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/**
 * pmu_is_there - whether the module found a PMU
 *
 * Return: whether it did
 */
bool pmu_is_there(void)
{
	return module_info().vendor != PMURING_VENDOR_NONE;
}

/**
 * module_info - what the module says of itself
 *
 * Return: its answer to INFO; without one the test cannot go on
 */
struct pmuring_info module_info(void)
{
	struct pmuring_info info;

	if (door_info(&info))
		bail_out("%s", door_explain_node(errno));
	return info;
}

/**
 * hooks_remain - whether the scheduler's hooks are left without a user
 *
 * They may stay for a second after the last use.
 *
 * Return: INFO's task_hooks after that time, or as soon as it is 0
 */
bool hooks_remain(void)
{
	for (int i = 0; i < 150 && module_info().task_hooks; i++)
		usleep(20000);
	return module_info().task_hooks;
}

static const char *parameter_path(const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "/sys/module/pmuring/parameters/%s", name);
	return path;
}

/**
 * module_parameter - a parameter of the module
 * @name: its name
 *
 * Return: its value, -1 without one
 */
long module_parameter(const char *name)
{
	return file_number(parameter_path(name));
}

/**
 * module_set_parameter - change a parameter of the module
 * @name: its name
 * @value: from now on
 *
 * Return: whether it was taken
 */
bool module_set_parameter(const char *name, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	return file_write(parameter_path(name), text);
}

/**
 * module_path - where the module's file is, for tests that load it
 *
 * Return: the path, or NULL when the caller of the test gave none
 */
const char *module_path(void)
{
	return getenv("PMURING_KO");
}

/**
 * module_load - load the module from module_path()
 *
 * Return: 0, or -1 with errno
 */
int module_load(void)
{
	int fd = open(module_path(), O_RDONLY | O_CLOEXEC);
	int rc, err;

	if (fd < 0)
		return -1;
	rc = syscall(SYS_finit_module, fd, "", 0);
	err = errno;
	close(fd);
	errno = err;
	return rc;
}

/**
 * module_unload - unload the module, after letting go of the device node
 *
 * Main thread only, as other threads may be using the node.
 *
 * Return: 0, or -1 with errno
 */
int module_unload(void)
{
	int fd = door_fd(), rc, err;

	if (fd >= 0)
		close(fd);
	rc = syscall(SYS_delete_module, "pmuring", O_NONBLOCK);
	err = errno;
	/* back at once, before another file gets the number that the door knows */
	if (rc)
		door_fd();
	errno = err;
	return rc;
}

/**
 * kernel_log_open - mark the end of the kernel log
 *
 * Return: a descriptor for kernel_log_is_clean(), -1 where it cannot be read
 */
int kernel_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool is_complaint(const char *line)
{
	static const char * const complaints[] = {
		"NMI received for unknown reason", "Dazed and confused", "BUG:",
		"WARNING:", "Oops", "general protection", "soft lockup", "hung task",
		"rcu_sched detected stalls", "irq loop stuck", "refcount_t:",
		"use-after-free", "scheduling while atomic", "blocked for more than",
	};

	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++)
		if (strstr(line, complaints[i]))
			return true;
	return false;
}

/*
 * kernel_log_lines - how many messages since the mark contain a text
 * @log: from kernel_log_open(); afterwards at the end of the log
 */
unsigned int kernel_log_lines(int log, const char *text)
{
	unsigned int lines = 0;
	char line[1024];
	ssize_t len;

	while ((len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (!strstr(line, text))
			continue;
		diag("%s", line);
		lines++;
	}
	return lines;
}

/**
 * kernel_log_is_clean - whether the kernel has complained since the mark
 * @log: from kernel_log_open(); closed
 *
 * Return: true if it has not; complaints are printed
 */
bool kernel_log_is_clean(int log)
{
	bool clean = true;
	char line[2048];
	ssize_t got;

	if (log < 0)
		return false;
	while ((got = read(log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		/* EPIPE: the log has run over its own tail; the next read goes on */
		if (got <= 0) {
			errno = 0;
			continue;
		}
		line[got] = '\0';
		line[strcspn(line, "\n")] = '\0';
		if (is_complaint(line)) {
			diag("kernel: %s", line);
			clean = false;
		}
	}
	close(log);
	return clean;
}
