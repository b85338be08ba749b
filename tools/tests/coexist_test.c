// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing the PMU with the kernel's own perf and the NMI watchdog: while one holds
 * the PMU, the other gets EBUSY, and each finds a clean PMU after the other.
 */
#include <errno.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "user_page.h"
#include "workload.h"

#define ROUNDS		10000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)

#define WATCHDOG	"/proc/sys/kernel/nmi_watchdog"

static bool pmuring_works(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, LENGTH / 4,
					       PERF_SAMPLE_IP);
	int fd = open_self(&attr);
	struct tally tally;
	struct ring ring;
	uint64_t value;

	map_ring(&ring, fd, 1);
	work_counted(fd, ROUNDS);
	tally = drain(&ring, NULL, NULL);
	value = read_value(fd);
	ring_unmap(&ring);
	close(fd);
	return value >= LENGTH && value <= LENGTH + machine_slack(LENGTH) && tally.samples == 4;
}

static void we_hold_it(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr software = { .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_TASK_CLOCK,
					    .size = sizeof(software) };
	int ours = open_self(&attr), fd;

	gives(perf_open(&attr, 0, -1), EBUSY, "perf gets EBUSY while pmuring holds the PMU");
	fd = perf_open(&software, 0, -1);
	gives(fd, 0, "perf software events open while pmuring holds the PMU");
	close(fd);
	close(ours);
	fd = perf_open(&attr, 0, -1);
	gives(fd, 0, "perf opens an event after pmuring's last close");
	close(fd);
	ok(perf_works(0), "perf counts and samples correctly on CPU 0");
	ok(perf_works(cpu_possible() - 1), "perf counts and samples correctly on the last CPU");
}

static void perf_holds_it(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_open(&attr, 0, -1);

	gives(door_open_event(&attr, 0, -1, -1, 0), EBUSY,
	      "pmuring returns EBUSY while perf holds the PMU");
	is(module_info().holder, PMURING_HOLDER_KERNEL, "INFO reports the kernel as the holder");
	is(module_info().events, 0, "a failed open leaves no event");
	work_counted(fd, ROUNDS);
	between(read_value(fd), LENGTH, LENGTH + machine_slack(LENGTH),
		"a failed open does not disturb perf's event");
	close(fd);
	is(module_info().holder, PMURING_HOLDER_NOBODY,
	   "INFO reports no holder after perf's close");
	cpu_pin(0);
	ok(pmuring_works(), "pmuring counts and samples correctly after perf");
}

static void take_turns(void)
{
	int good = 0;

	for (int i = 0; i < 50; i++) {
		cpu_pin(i % cpu_possible());
		good += pmuring_works();
		good += perf_works(i % cpu_possible());
	}
	is(good, 100, "perf and pmuring alternate 50 times on all CPUs, both correct");
}

/*
 * pmuring's switch hooks run without holding the PMU. They must leave perf's counters
 * alone, even on a switch to a process that may use RDPMC.
 */
static void watch_switches(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr switches = { .type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
					    .size = sizeof(switches) };
	volatile struct perf_event_mmap_page *page;
	int of_cpu, of_task, watcher;

	cpu_pin(0);
	ok(pmuring_works() && pmuring_works(), "pmuring is the last user of the counters");
	attr.disabled = 0;
	of_cpu = perf_open(&attr, -1, 0);
	of_task = perf_open(&attr, 0, -1);
	page = user_page_map(of_task);
	watcher = open_self(&switches);
	for (int i = 0; i < 20; i++) {
		work(ROUNDS);
		sleep_ms(2);
	}
	between(read_value(of_cpu), 20 * LENGTH, 40 * LENGTH,
		"hooked switches to an RDPMC reader keep perf's CPU event correct");
	between(read_value(of_task), 20 * LENGTH, 40 * LENGTH,
		"hooked switches to an RDPMC reader keep perf's task event correct");
	user_page_unmap(page);
	close(watcher);
	close(of_task);
	close(of_cpu);
}

static void watchdog(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	long was = file_number(WATCHDOG);

	if (was < 0 || !file_write(WATCHDOG, "1") || file_number(WATCHDOG) != 1) {
		skip(3, "no NMI watchdog");
		return;
	}
	gives(door_open_event(&attr, 0, -1, -1, 0), EBUSY,
	      "pmuring returns EBUSY while the NMI watchdog runs");
	is(module_info().holder, PMURING_HOLDER_KERNEL, "INFO reports the kernel as the holder");
	file_write(WATCHDOG, "0");
	cpu_pin(0);
	ok(pmuring_works(), "pmuring counts and samples correctly after the watchdog stops");
	if (was)
		file_write(WATCHDOG, "1");
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(5 + 6 + 1 + 3 + 3 + 1);
	cpu_pin(0);
	we_hold_it();
	perf_holds_it();
	take_turns();
	watch_switches();
	watchdog();
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
