// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing the PMU with the kernel's own perf and the NMI watchdog: one holds
 * it, the other is told so, and each finds it in order after the other.
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

	gives(perf_open(&attr, 0, -1), EBUSY, "while we hold the PMU perf gets EBUSY");
	fd = perf_open(&software, 0, -1);
	gives(fd, 0, "  but its software events open");
	close(fd);
	close(ours);
	fd = perf_open(&attr, 0, -1);
	gives(fd, 0, "after our last close perf opens");
	close(fd);
	ok(perf_works(0), "  and counts and samples right");
	ok(perf_works(cpu_possible() - 1), "  on the last CPU too");
}

static void perf_holds_it(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_open(&attr, 0, -1);

	gives(door_open_event(&attr, 0, -1, -1, 0), EBUSY, "while perf holds it we give EBUSY");
	is(module_info().holder, PMURING_HOLDER_KERNEL, "  INFO names the holder");
	is(module_info().events, 0, "  no event is left behind");
	work_counted(fd, ROUNDS);
	between(read_value(fd), LENGTH, LENGTH + machine_slack(LENGTH),
		"  perf's event is not disturbed");
	close(fd);
	is(module_info().holder, PMURING_HOLDER_NOBODY, "after perf's close nobody holds it");
	cpu_pin(0);
	ok(pmuring_works(), "  and we count and sample right");
}

static void take_turns(void)
{
	int good = 0;

	for (int i = 0; i < 50; i++) {
		cpu_pin(i % cpu_possible());
		good += pmuring_works();
		good += perf_works(i % cpu_possible());
	}
	is(good, 100, "50 turns each, on all CPUs: both right every time");
}

/*
 * We look at each switch, but hold no PMU: perf's counters are its own, even where a
 * process comes that may read them.
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
	ok(pmuring_works() && pmuring_works(), "we have used the counters last");
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
		"  switches to a reader, watched by us: perf's CPU event is right");
	between(read_value(of_task), 20 * LENGTH, 40 * LENGTH, "  its task event as well");
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
		skip(3, "no NMI watchdog here");
		return;
	}
	gives(door_open_event(&attr, 0, -1, -1, 0), EBUSY, "NMI watchdog on: EBUSY");
	is(module_info().holder, PMURING_HOLDER_KERNEL, "  INFO names the holder");
	file_write(WATCHDOG, "0");
	cpu_pin(0);
	ok(pmuring_works(), "switched off: we count and sample right");
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
	ok(kernel_log_is_clean(log), "the kernel has nothing to say");
	return done();
}
