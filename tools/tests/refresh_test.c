// SPDX-License-Identifier: GPL-2.0
/*
 * REFRESH: an event with a limit of n overflows writes n samples and is then disabled.
 * Each overflow sends a signal, and the last one carries POLL_HUP.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		20011
/* rounds that complete n periods and not one more */
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

static void refresh(int fd, int overflows)
{
	if (ioctl(fd, PERF_EVENT_IOC_REFRESH, overflows))
		bail_out("REFRESH of %d", overflows);
}

/* number of received signals by code */
struct signals {
	uint64_t in;
	uint64_t hup;
	uint64_t others;
};

/* to this thread, queued */
static void ask_for_signals(int fd)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };

	if (fcntl(fd, F_SETSIG, SIGRTMIN) || fcntl(fd, F_SETOWN_EX, &owner) ||
	    fcntl(fd, F_SETFL, O_ASYNC))
		bail_out("cannot ask for signals");
}

static struct signals take_signals(int fd)
{
	struct signals signals = { 0 };
	struct timespec none = { 0 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (sigtimedwait(&set, &info, &none) == SIGRTMIN) {
		if (info.si_fd != fd)
			signals.others++;
		else if (info.si_code == POLL_IN)
			signals.in++;
		else if (info.si_code == POLL_HUP)
			signals.hup++;
		else
			signals.others++;
	}
	return signals;
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void limits(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_PERIOD);
	struct signals signals;
	struct tally tally;
	struct ring ring;
	uint64_t value;
	int fd = open_self(&attr);

	map_ring(&ring, fd, 8);
	ask_for_signals(fd);
	refresh(fd, 3);
	work(SAMPLES(10));
	tally = drain(&ring, NULL, NULL);
	is(tally.samples, 3, "REFRESH 3: three samples of ten");
	is(tally.lost + tally.throttles + tally.unthrottles + tally.others + tally.broken, 0,
	   "the ring holds only the samples");
	value = read_value(fd);
	between(value, 3 * PERIOD, 3 * PERIOD + machine_slack(3 * PERIOD),
		"the count stops at the last sample");
	signals = take_signals(fd);
	is(signals.in, 2, "each signal but the last carries POLL_IN");
	is(signals.hup, 1, "the last signal carries POLL_HUP");
	is(signals.others, 0, "there are no other signals");

	refresh(fd, 1);
	refresh(fd, 1);
	work(SAMPLES(10));
	tally = drain(&ring, NULL, NULL);
	is(tally.samples, 2, "two times REFRESH 1: two more samples");
	is(tally.throttles + tally.unthrottles + tally.others, 0,
	   "the ring holds only the samples");
	signals = take_signals(fd);
	is(signals.in * 10 + signals.hup, 11, "one POLL_IN and one POLL_HUP");

	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(SAMPLES(10));
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	between(drain(&ring, NULL, NULL).samples, 10, 11, "ENABLE removes the limit");
	signals = take_signals(fd);
	between(signals.in, 10, 11, "each overflow signals POLL_IN after ENABLE");
	is(signals.hup + signals.others, 0, "no other signals after ENABLE");
	ring_unmap(&ring);
	close(fd);
}

#define LIMITS_CHECKS 12

static void without_ring(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, 0);
	struct signals signals;
	int fd = open_self(&attr);

	ask_for_signals(fd);
	refresh(fd, 2);
	work(SAMPLES(10));
	signals = take_signals(fd);
	is(signals.in * 10 + signals.hup, 11, "without a ring: the same signals");
	between(read_value(fd), 2 * PERIOD, 2 * PERIOD + machine_slack(2 * PERIOD),
		"without a ring: the count stops at the last overflow");
	fcntl(fd, F_SETFL, 0);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(SAMPLES(10));
	signals = take_signals(fd);
	is(signals.in + signals.hup + signals.others, 0, "without O_ASYNC: no signals");
	close(fd);
}

/* siblings stop with their leader */
static void of_a_leader(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, 0);
	struct perf_event_attr other = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int leader = open_self(&attr), sibling;

	other.disabled = 0;
	sibling = door_open_event(&other, 0, -1, leader, 0);
	if (sibling < 0)
		bail_out("cannot open a sibling");
	refresh(leader, 2);
	work(SAMPLES(10));
	between(read_value(leader), 2 * PERIOD, 2 * PERIOD + machine_slack(2 * PERIOD),
		"a leader stops at its limit");
	is(read_value(sibling), read_value(leader), "a sibling stops with its leader");
	close(sibling);
	close(leader);
}

static void touch_pages(size_t pages)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		bail_out("no memory");
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)(memory + i * size) = 1;
	munmap(memory, pages * size);
}

static void of_a_software_event(void)
{
	struct perf_event_attr attr = sampling(0, 1, PERF_SAMPLE_IP);
	struct signals signals;
	struct tally tally;
	struct ring ring;
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	fd = open_self(&attr);
	map_ring(&ring, fd, 8);
	ask_for_signals(fd);
	refresh(fd, 5);
	touch_pages(50);
	tally = drain(&ring, NULL, NULL);
	is(tally.samples, 5, "page faults, REFRESH 5: five samples of fifty");
	is(tally.lost + tally.throttles + tally.unthrottles + tally.others + tally.broken, 0,
	   "the ring holds only the samples");
	is(read_value(fd), 5, "the count stops at the last sample");
	signals = take_signals(fd);
	is(signals.in * 10 + signals.hup, 41, "four POLL_IN and one POLL_HUP");
	ring_unmap(&ring);
	close(fd);
}

static void refused(void)
{
	struct perf_event_attr counting = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, 0);
	int fd = open_self(&counting);

	gives(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL,
	      "REFRESH of an event that does not sample");
	close(fd);
	attr.inherit = 1;
	fd = open_self(&attr);
	gives(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL, "REFRESH of an inherited event");
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(LIMITS_CHECKS + 3 + 2 + 4 + 2);
	cpu_pin(0);
	block_signals();
	limits();
	without_ring();
	of_a_leader();
	of_a_software_event();
	refused();
	return done();
}
