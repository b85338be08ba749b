// SPDX-License-Identifier: GPL-2.0
/*
 * Overflows whose PMI or status gets lost: a neighbour acknowledges them and clears
 * GLOBAL_CTRL, as perf does beside us with Intel PT, or the machine loses PMIs (the
 * stage e2e-lossy boots one). Every sample comes all the same, some of them late, and
 * INFO tells how many.
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

/* GLOBAL_CTRL is set right by the next tick: then it is cleared again by the next PMI */
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
	ok(tally.samples >= 2, "one that clears GLOBAL_CTRL: samples come again");
	ok(read_value(fd) <= LONG, "  no count goes wild");
	ok(module_info().repaired > before, "  INFO: repaired");
	ring_unmap(&ring);
	close(fd);
}

/* four periods: as many samples, whatever happens to their status */
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
	is(tally.samples, 4, "%s: all samples", name);
	is(read_value(fd), LENGTH, "  and the right count");
	is(after.recovered - before.recovered, status ? 4 : 0, "  INFO: recovered");
	ok(!!(after.repaired - before.repaired) == control, "  INFO: repaired");
	ring_unmap(&ring);
	close(fd);
}

static void add_period(const struct record *rec, void *data)
{
	if (rec->header.type == PERF_RECORD_SAMPLE)
		*(uint64_t *)data += rec->field[0];
}

/* PERIOD of all samples is the count, but for the period that has not ended */
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
		is(sum, LONG / PERIOD * PERIOD, "  all periods have ended in samples");
		/* nor with pmu-relatch-counter */
		is(late, 0, "  no NMI comes twice");
	} else {
		/* the last one may be served in the next tick, which never comes */
		between(sum, LONG / 2, LONG, "  the periods are those of all samples");
		ok(module_info().recovered > recovered, "  INFO: recovered");
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
	beside("1", "0", true, false, "one that acknowledges the status");
	cleared();
	beside("1", "1", true, true, "one that does both");
	gives(syscall(SYS_delete_module, "neighbour", 0), 0, "the neighbour leaves");
	return done();
}
