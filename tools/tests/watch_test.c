// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU's registers change, or the PMU loses power, while events count. The module
 * notices within a tick, repairs the registers, never adds impossible counts, and reports
 * the repair in INFO and in the log. Events on a PMU that does not keep its registers go
 * into error state. An NMI storm is stopped.
 *
 * Writes MSRs by /dev/cpu/N/msr; needs the PMU-modelling QEMU, where counts are exact.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS	1000
#define LENGTH	(ROUNDS * WORK_ROUND + WORK_TAIL)

/* user mode work for many ticks at any HZ, and the maximum count of one tick */
#define TICKS	2000000
#define ONE	12000000

#define PMC0		0x4c1
#define EVENTSEL0	0x186
#define FIXED_CTR0	0x309
#define FIXED_CTRL	0x38d
#define GLOBAL_CTRL	0x38f
#define STATUS_SET	0x391
#define FROZEN		0x800000000000000ULL

static void write_msr(uint32_t msr, uint64_t value)
{
	if (!msr_write(0, msr, value))
		bail_out("cannot write MSR %#x", msr);
}

static uint64_t read_msr(uint32_t msr)
{
	uint64_t value = 0;

	if (!msr_read(0, msr, &value))
		bail_out("cannot read MSR %#x", msr);
	return value;
}

/* exactly one general counter counts, as branches have no fixed counter */
static int open_branches(void)
{
	struct perf_event_attr attr = raw(0x00c4);

	attr.exclude_kernel = 1;
	return open_event(&attr, 0, -1);
}

static void count_again(int fd, const char *what)
{
	uint64_t before = read_value(fd);

	work_counted(fd, ROUNDS);
	is(read_value(fd) - before, LENGTH, "%s", what);
}

/* a register is overwritten while an event counts; the event counts on a tick later */
static void spoilt(uint32_t msr, uint64_t value, const char *name)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct pmuring_info before = module_info();
	int fd = open_self(&attr);
	uint64_t kept, good, now, after;

	work_counted(fd, ROUNDS);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	good = read_value(fd);
	kept = msr == FIXED_CTR0 || msr == PMC0 ? 0 : read_msr(msr);
	write_msr(msr, value);
	work(TICKS);
	now = read_value(fd);
	after = kept ? read_msr(msr) : 0;
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	between(now, good - ONE, good + 4 * (uint64_t)TICKS * WORK_ROUND,
		"%s: the count has no jump", name);
	ok(now > good + ONE / 2, "the event counts on");
	/* A counter has no value to go back to, and STATUS_SET reads as 0. */
	if (kept)
		is(after, kept, "the register is restored");
	count_again(fd, "the count is right after the repair");
	ok(module_info().repaired > before.repaired, "INFO counts the repair");
	close(fd);
}

/* a general counter's selector, which nothing but the event's own count shows */
static void spoilt_selector(uint64_t value, const char *name)
{
	struct pmuring_info before = module_info();
	int fd = open_branches();
	uint64_t good, kept;

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	good = read_value(fd);
	kept = read_msr(EVENTSEL0);
	write_msr(EVENTSEL0, value);
	work(TICKS);
	is(read_msr(EVENTSEL0), kept, "%s: the register is restored", name);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	/* for up to a tick, the counter counts what the register says */
	between(read_value(fd), good + TICKS / 2, good + 2 * (uint64_t)TICKS + ONE,
		"the event counts on, without a jump");
	ok(module_info().repaired > before.repaired, "INFO counts the repair");
	close(fd);
}

/* a counter is overwritten and read before the next tick: the value is ignored */
static void jump(uint64_t value, const char *name)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	uint64_t good;

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	good = read_value(fd);
	write_msr(FIXED_CTR0, value);
	/* the count since the module's last read is lost */
	between(read_value(fd), good - ONE, good + ONE, "%s: a read at once has no jump", name);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	between(read_value(fd), good - ONE, good + ONE, "a read after DISABLE has no jump");
	close(fd);
}

static void sampled(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 100000, PERF_SAMPLE_IP);
	int fd = open_self(&attr);
	struct tally tally;
	struct ring ring;

	map_ring(&ring, fd, 16);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	write_msr(FIXED_CTR0, 1ULL << 47);
	tally = drain(&ring, NULL, NULL);
	work(TICKS);
	tally = drain(&ring, NULL, NULL);
	ok(tally.samples > 200, "samples continue after the counter was set back by 2^47");
	ring_unmap(&ring);
	close(fd);
}

static void power_lost(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t good, before = module_info().repaired, taken;
	int fd = open_self(&attr), branches = open_branches();

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	switch_event(branches, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	good = read_value(fd);
	taken = read_value(branches);
	write_msr(QPMU_CONTROL, QPMU_POWER_LOSS);
	work(TICKS);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	switch_event(branches, PERF_EVENT_IOC_DISABLE);
	between(read_value(fd), good - ONE, good + 4 * (uint64_t)TICKS * WORK_ROUND,
		"power lost: the count has no jump");
	between(read_value(branches), taken + TICKS / 2, taken + 2 * (uint64_t)TICKS,
		"a general counter's event counts on, without a jump");
	count_again(fd, "the count is right after the repair");
	ok(module_info().repaired > before, "INFO counts the repair");
	close(branches);
	close(fd);
}

static short poll_now(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	poll(&pollfd, 1, 0);
	return pollfd.revents;
}

static void dead_for_good(uint64_t control, const char *name)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before = module_info().failures, value;
	int fd = open_self(&attr);
	struct ring ring;

	map_ring(&ring, fd, 1);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(TICKS);
	is(poll_now(fd) & POLLHUP, 0, "no POLLHUP while the PMU works");
	write_msr(QPMU_CONTROL, control);
	work(TICKS);
	ok(poll_now(fd) & POLLHUP, "%s: POLLHUP", name);
	is(read(fd, &value, sizeof(value)), 0, "read() returns 0 for the failed event");
	is(module_info().failures, before + 1, "INFO counts the failure");
	write_msr(QPMU_CONTROL, QPMU_ALIVE);
	ring_unmap(&ring);
	close(fd);
	sleep_ms(20);
	fd = open_self(&attr);
	work_counted(fd, ROUNDS);
	is(read_value(fd), LENGTH, "a new event counts when the PMU works again");
	close(fd);
}

/*
 * The PMU of CPU 1 fails while a copy counts there. As in perf, poll() tells of the
 * event that was opened: that one is in no error, and its other copies count on.
 */
static void dead_for_a_copy(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before = module_info().failures, value;
	struct ring ring;
	pid_t pid;
	int fd;

	if (cpu_possible() < 2 || !cpu_is_online(1)) {
		skip(3, "one CPU");
		return;
	}
	attr.inherit = 1;
	attr.disabled = 0;
	fd = open_event(&attr, 0, 1);
	map_ring(&ring, fd, 1);
	pid = fork();
	if (!pid) {
		cpu_pin(1);
		for (;;)
			work(ROUNDS);
	}
	sleep_ms(50);
	msr_write(1, QPMU_CONTROL, QPMU_IGNORE);
	for (int i = 0; i < 1000 && module_info().failures == before; i++)
		sleep_ms(10);
	is(module_info().failures, before + 1, "INFO counts the failure of a child event's PMU");
	is(poll_now(fd), 0, "a failed child event does not set POLLHUP on the parent event");
	is(read(fd, &value, sizeof(value)), sizeof(value),
	   "the parent event is readable after a child event fails");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	msr_write(1, QPMU_CONTROL, QPMU_ALIVE);
	ring_unmap(&ring);
	close(fd);
	sleep_ms(20);
}

static void storm(uint64_t control, const char *name)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before = module_info().storms;
	struct count count;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_self(&attr);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	write_msr(QPMU_CONTROL, control);
	work(TICKS);
	is(module_info().storms, before + 1, "%s: INFO counts the storm", name);
	ok(read_msr(QPMU_CONTROL) > 0, "the storm is stopped before its end");
	write_msr(QPMU_CONTROL, QPMU_STORM(0));
	count = read_count(fd);
	ok(count.running < count.enabled, "running is below enabled after the storm");
	for (int i = 0; i < 100 && read_count(fd).running == count.running; i++) {
		sleep_ms(100);
		work(ROUNDS);
	}
	ok(read_count(fd).running > count.running,
	   "the event runs again some time after the storm");
	close(fd);
	fd = open_self(&attr);
	work_counted(fd, ROUNDS);
	is(read_count(fd).value, LENGTH, "the count is right after the storm");
	close(fd);
}

int main(void)
{
	int set_right = kernel_log_open(), in_error = kernel_log_open();
	int silenced = kernel_log_open();

	if (!machine_is_exact())
		return skip_all("not the QEMU that models a PMU");
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(2 * 3 + 3 * 5 + 4 * 4 + 3 * 2 + 1 + 4 + 2 * 5 + 3 + 2 * 5 + 3);
	cpu_pin(0);
	spoilt(GLOBAL_CTRL, 0, "GLOBAL_CTRL cleared");
	spoilt(FIXED_CTRL, 0, "FIXED_CTRL cleared");
	spoilt(FIXED_CTRL, 0xbbb, "FIXED_CTRL overwritten");
	spoilt_selector(0, "a selector cleared");
	spoilt_selector(0x5300c0, "a selector with another event");
	spoilt(STATUS_SET, FROZEN, "counters frozen");
	spoilt(FIXED_CTR0, 0, "a counter set to 0");
	spoilt(FIXED_CTR0, (1ULL << 48) - 100000, "a counter set to its end");
	spoilt(FIXED_CTR0, 1ULL << 47, "a counter set back");
	jump(0, "a counter set to 0");
	jump(1ULL << 46, "a counter set far on");
	jump((1ULL << 47) - 1000000000, "a counter set back to before its start");
	sampled();
	power_lost();
	dead_for_good(QPMU_IGNORE, "registers that ignore writes");
	dead_for_good(QPMU_FAULT, "registers that fault");
	dead_for_a_copy();
	storm(QPMU_STORM(2000000), "NMIs without status");
	storm(QPMU_STATUS_STORM(2000000), "NMIs with status and no overflow");
	ok(kernel_log_lines(set_right, "set right"), "the log tells of repairs");
	is(kernel_log_lines(in_error, "its events are in error"), 3,
	   "the log tells of each PMU that fails");
	is(kernel_log_lines(silenced, "is silenced for"), 2, "the log tells of each storm");
	return done();
}
