// SPDX-License-Identifier: GPL-2.0
/*
 * A software event overflows at each page fault of one thread, while another thread
 * switches, refreshes and closes it, so that an overflow races with the close.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

#define PAGES	64
#define TIMES	400

static atomic_bool stop;
static atomic_int faulting;
static atomic_ulong faults;

static void *fault(void *unused)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *memory = untouched_pages(PAGES);

	cpu_pin(cpu_possible() - 1);
	faulting = syscall(SYS_gettid);
	while (!stop) {
		for (size_t i = 0; i < PAGES; i++)
			*(volatile char *)(memory + i * size) = 1;
		madvise(memory, PAGES * size, MADV_DONTNEED);
		faults += PAGES;
	}
	munmap(memory, PAGES * size);
	return unused;
}

/* @with_ring: closed with its ring still mapped, or without one */
static uint64_t open_and_close(bool with_ring, unsigned int step)
{
	struct perf_event_attr attr = sampling(0, 1, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	unsigned long begun = faults;
	struct tally tally = { 0 };
	struct ring ring;
	int fd;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = step % 2 ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_PAGE_FAULTS;
	attr.disabled = 0;
	fd = open_event(&attr, faulting, -1);
	if (with_ring)
		map_ring(&ring, fd, 4);
	while (faults == begun)
		usleep(10);
	if (step % 3 == 1)
		switch_event(fd, PERF_EVENT_IOC_DISABLE);
	if (step % 3 == 2)
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 3);
	if (step % 4 < 2)
		close(fd);
	if (with_ring) {
		tally = drain(&ring, NULL, NULL);
		ring_unmap(&ring);
	}
	if (step % 4 >= 2)
		close(fd);
	return tally.broken;
}

int main(void)
{
	int log = kernel_log_open();
	uint64_t broken = 0;
	pthread_t thread;

	plan(3);
	cpu_pin(0);
	if (pthread_create(&thread, NULL, fault, NULL))
		bail_out("pthread_create");
	while (!faulting)
		usleep(100);
	for (unsigned int i = 0; i < TIMES; i++)
		broken += open_and_close(i % 5, i);
	stop = true;
	pthread_join(thread, NULL);
	is(broken, 0, "all records are whole after %d closes during overflows", TIMES);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
