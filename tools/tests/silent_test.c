// SPDX-License-Identifier: GPL-2.0
/*
 * Lost PMIs and lost overflow status. A neighbour module acknowledges overflows and
 * clears GLOBAL_CTRL, as perf does for Intel PT, or the machine loses PMIs (the stage
 * e2e-lossy boots one). Each sample is still written, some of them late, and INFO
 * counts the recovered ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define ROUNDS		10000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define PERIOD		100003
#define LONG_ROUNDS	3000000
#define LONG		(LONG_ROUNDS * (uint64_t)WORK_ROUND + WORK_TAIL)
#define QPMU_LOST	0x40005016

#define PARAMETERS	"/sys/module/neighbour/parameters/"

static bool load_neighbour(void)
{
	struct utsname name;
	char path[160];
	int fd, rc;

	uname(&name);
	snprintf(path, sizeof(path), "/tests/neighbour-%s.ko", name.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	rc = syscall(SYS_finit_module, fd, "", 0);
	close(fd);
	return !rc;
}

/* the next tick restores GLOBAL_CTRL, and the next PMI clears it again */
static void cleared(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_IP);
	uint64_t before = module_info().repaired;
	int fd = open_self(&attr);
	struct tally tally;
	struct ring ring;

	map_ring(&ring, fd, 16);
	file_write(PARAMETERS "clear", "1");
	work_counted(fd, LONG_ROUNDS);
	file_write(PARAMETERS "clear", "0");
	tally = drain(&ring, NULL, NULL);
	ok(tally.samples >= 2, "samples continue when a neighbour clears GLOBAL_CTRL");
	ok(read_value(fd) <= LONG, "the count is at most the real one");
	ok(module_info().repaired > before, "INFO counts the repairs");
	ring_unmap(&ring);
	close(fd);
}

/* four periods have four samples, whatever happens to the status */
static void beside(const char *eat, const char *clear, bool status, bool control,
		   const char *name)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, LENGTH / 4,
					       PERF_SAMPLE_IP);
	struct pmuring_info before = module_info(), after;
	int fd = open_self(&attr);
	struct tally tally;
	struct ring ring;

	map_ring(&ring, fd, 1);
	file_write(PARAMETERS "eat", eat);
	file_write(PARAMETERS "clear", clear);
	work_counted(fd, ROUNDS);
	file_write(PARAMETERS "eat", "0");
	file_write(PARAMETERS "clear", "0");
	after = module_info();
	tally = drain(&ring, NULL, NULL);
	is(tally.samples, 4, "%s: no sample is lost", name);
	is(read_value(fd), LENGTH, "the count is right beside a neighbour");
	is(after.recovered - before.recovered, status ? 4 : 0,
	   "INFO counts the recovered overflows");
	ok(!!(after.repaired - before.repaired) == control, "INFO counts the repairs");
	ring_unmap(&ring);
	close(fd);
}

static void add_period(const struct record *rec, void *data)
{
	if (rec->header.type == PERF_RECORD_SAMPLE)
		*(uint64_t *)data += rec->field[0];
}

/* the periods of all samples add up to the count except the last, open period */
static void lossy(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_PERIOD);
	uint64_t lost = 0, now = 0, sum = 0, recovered = module_info().recovered, late;
	int fd = open_self(&attr);
	struct ring ring;

	map_ring(&ring, fd, 64);
	msr_read(0, QPMU_LOST, &lost);
	late = module_info().late_nmis;
	work_counted(fd, LONG_ROUNDS);
	late = module_info().late_nmis - late;
	msr_read(0, QPMU_LOST, &now);
	drain(&ring, add_period, &sum);
	is(read_value(fd), LONG, "%llu PMIs lost: the count is right",
	   (unsigned long long)(now - lost));
	if (now == lost) {
		is(sum, LONG / PERIOD * PERIOD, "each full period has a sample");
		/* also with pmu-relatch-counter */
		is(late, 0, "no NMI is late");
	} else {
		/* the last overflow may be pending for a tick after the event is disabled */
		between(sum, LONG / 2, LONG, "the samples cover at least half of the count");
		ok(module_info().recovered > recovered, "INFO counts the recovered overflows");
	}
	ring_unmap(&ring);
	close(fd);
}

/* Return: whether this machine loses PMIs without a neighbour */
static bool loses_pmis(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_IP);
	uint64_t before = 0, after = 0;
	int fd = open_self(&attr);

	msr_read(0, QPMU_LOST, &before);
	work_counted(fd, 20 * ROUNDS);
	msr_read(0, QPMU_LOST, &after);
	close(fd);
	return after != before;
}

int main(void)
{
	bool loses;

	if (!machine_is_exact())
		return skip_all("not the QEMU that models a PMU");
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	loses = loses_pmis();
	plan(loses ? 3 : 3 + 3 + 3 * 4 + 1);
	lossy();
	if (loses)
		return done();
	if (!load_neighbour()) {
		skip(3 * 4 + 3 + 1, "no neighbour module for this kernel");
		return done();
	}
	beside("0", "0", false, false, "a neighbour that does nothing");
	beside("1", "0", true, false, "a neighbour that acknowledges the status");
	cleared();
	beside("1", "1", true, true, "a neighbour that does both");
	gives(syscall(SYS_delete_module, "neighbour", 0), 0, "the neighbour module unloads");
	return done();
}
