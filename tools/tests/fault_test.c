// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults: a program touches a known number of new pages from user mode, from
 * the kernel, with page faults disabled, or another process reads its pages. pmuring
 * counts the same faults as the kernel's perf.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

#define PAGES		100
#define PAGE		4096UL
#define PERIOD		10

/* counted modes; more than the requested mode would include the kernel's faults */
enum mode { BOTH, USER, KERNEL };

/* A mapping without pages; none comes as part of a larger one. */
static char *new_pages(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		bail_out("no memory");
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	return pages;
}

static __attribute__((noinline)) void touch(char *pages)
{
	for (unsigned long i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * PAGE] = 1;
}

static void let_the_kernel_touch(char *pages)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, pages, PAGES * PAGE) != (ssize_t)(PAGES * PAGE))
		bail_out("cannot read /dev/zero");
	close(fd);
}

/* The futex code reads the word with page faults disabled, then again with them enabled. */
static void let_a_futex_touch(char *pages)
{
	for (unsigned long i = 0; i < PAGES; i++)
		if (!syscall(SYS_futex, pages + i * PAGE, FUTEX_WAIT_PRIVATE, 1, NULL))
			bail_out("the futex is not 0");
}

/* The kernel looks up the pages without an access, so there is no fault. */
static void let_others_look(char *pages)
{
	static char copy[PAGES * PAGE];
	struct iovec to = { copy, sizeof(copy) }, from = { pages, sizeof(copy) };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof(copy))
		bail_out("cannot read my own memory");
}

static void touch_kernel_space(char *pages)
{
	for (unsigned long i = 0; i < PAGES; i++)
		if (write(-1, (char *)-PAGE, 1) != -1 || open((char *)-PAGE, O_RDONLY) != -1)
			bail_out("the kernel is mine");
	(void)pages;
}

/**
 * struct deed - a way to fault
 * @what: what it is
 * @fn: does it
 * @user: faults that user mode causes
 * @kernel: faults that the kernel causes
 */
struct deed {
	const char *what;
	void (*fn)(char *pages);
	uint64_t user;
	uint64_t kernel;
};

static const struct deed deeds[] = {
	{ "touched by user mode", touch, PAGES, 0 },
	{ "touched by the kernel", let_the_kernel_touch, 0, PAGES },
	{ "touched by a futex", let_a_futex_touch, 0, PAGES },
	{ "read by another process", let_others_look, 0, 0 },
	{ "kernel addresses", touch_kernel_space, 0, 0 },
};

static uint64_t faults_of(const struct deed *deed, uint64_t config, enum mode mode)
{
	if (config == PERF_COUNT_SW_PAGE_FAULTS_MAJ)
		return 0;
	return (mode != KERNEL ? deed->user : 0) + (mode != USER ? deed->kernel : 0);
}

static void count_faults(const struct deed *deed, uint64_t config, enum mode mode, bool on_cpu)
{
	static const char *const modes[] = { "", ":u", ":k" };
	struct perf_event_attr attr = software(config);
	char *pages = new_pages();
	struct both both;

	attr.exclude_user = mode == KERNEL;
	attr.exclude_kernel = mode == USER;
	both = both_open(&attr, on_cpu ? -1 : 0, on_cpu ? 0 : -1);
	both_switch(&both, PERF_EVENT_IOC_ENABLE);
	deed->fn(pages);
	both_switch(&both, PERF_EVENT_IOC_DISABLE);
	diag("%ju%s on %s: %s", (uintmax_t)config, modes[mode], on_cpu ? "CPU 0" : "the task",
	     deed->what);
	both_are(&both, faults_of(deed, config, mode), deed->what);
	both_close(&both);
	munmap(pages, PAGES * PAGE);
}

/* The first time brings in pages of the program itself. */
static void counting(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(deeds); i++) {
		char *pages = new_pages();

		deeds[i].fn(pages);
		munmap(pages, PAGES * PAGE);
		for (enum mode mode = BOTH; mode <= KERNEL; mode++) {
			count_faults(&deeds[i], PERF_COUNT_SW_PAGE_FAULTS, mode, false);
			count_faults(&deeds[i], PERF_COUNT_SW_PAGE_FAULTS_MIN, mode, false);
		}
		count_faults(&deeds[i], PERF_COUNT_SW_PAGE_FAULTS_MAJ, BOTH, false);
		count_faults(&deeds[i], PERF_COUNT_SW_PAGE_FAULTS, BOTH, true);
		count_faults(&deeds[i], PERF_COUNT_SW_PAGE_FAULTS_MIN, BOTH, true);
	}
}

/* Answers each fault with a page of zeroes. */
static void *serve_faults(void *data)
{
	int fd = *(int *)data;
	struct uffd_msg msg;

	while (read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage page = {
			.range = { msg.arg.pagefault.address & -PAGE, PAGE },
		};

		if (ioctl(fd, UFFDIO_ZEROPAGE, &page))
			bail_out("no page of zeroes");
	}
	return NULL;
}

/*
 * A fault that has to wait is a major fault, except in user mode on some kernels.
 */
static void major_faults(void (*fn)(char *pages))
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *pages = new_pages();
	struct both all, minor, major;
	struct perf_event_attr attr;
	pthread_t server;

	range.range.start = (uintptr_t)pages;
	range.range.len = PAGES * PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		skip(fn == let_the_kernel_touch ? 6 : 5, "no userfaultfd");
		return;
	}
	pthread_create(&server, NULL, serve_faults, &fd);
	attr = software(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	major = both_open(&attr, 0, -1);
	attr = software(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	minor = both_open(&attr, 0, -1);
	attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	all = both_open(&attr, 0, -1);
	both_switch(&major, PERF_EVENT_IOC_ENABLE);
	both_switch(&minor, PERF_EVENT_IOC_ENABLE);
	both_switch(&all, PERF_EVENT_IOC_ENABLE);
	fn(pages);
	both_switch(&all, PERF_EVENT_IOC_DISABLE);
	both_switch(&minor, PERF_EVENT_IOC_DISABLE);
	both_switch(&major, PERF_EVENT_IOC_DISABLE);
	both_agree(&major, "major faults");
	both_agree(&minor, "minor faults");
	both_agree(&all, "all faults");
	is(read_value(major.ours) + read_value(minor.ours), PAGES,
	   "each page has one major or minor fault");
	between(read_value(all.ours), PAGES, 3 * PAGES, "each page has one to three faults");
	if (fn == let_the_kernel_touch)
		is(read_value(major.ours), PAGES, "all kernel faults are major");
	both_close(&all);
	both_close(&minor);
	both_close(&major);
	pthread_cancel(server);
	pthread_join(server, NULL);
	close(fd);
	munmap(pages, PAGES * PAGE);
}

struct fault_samples {
	const char *pages;
	uint64_t step;
	uint64_t seen;
	uint64_t good;
};

/* ip, addr: the pages in the order in which they are touched */
static void check_fault(const struct record *rec, void *data)
{
	struct fault_samples *samples = data;
	uint64_t number = ++samples->seen * samples->step;
	/* touch() has ended where the next function begins */
	uint64_t begin = (uintptr_t)touch, end = begin + 128;

	samples->good += rec->header.type == PERF_RECORD_SAMPLE &&
			 (rec->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			 PERF_RECORD_MISC_USER &&
			 rec->field[0] >= begin && rec->field[0] < end &&
			 rec->field[1] == (uintptr_t)samples->pages + (number - 1) * PAGE;
}

static struct tally sample_faults(uint64_t config, uint64_t period, uint64_t more_types,
				  struct fault_samples *samples)
{
	struct perf_event_attr attr = software(config);
	char *pages = new_pages();
	struct tally tally;
	struct ring ring;
	int fd;

	samples->pages = pages;
	attr.exclude_kernel = 1;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | more_types;
	fd = open_self(&attr);
	map_ring(&ring, fd, 8);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	touch(pages);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	is(read_value(fd), PAGES,
	   "event %ju, period %ju: all faults are counted", (uintmax_t)config,
	   (uintmax_t)period);
	tally = drain(&ring, check_fault, samples);
	ring_unmap(&ring);
	close(fd);
	munmap(pages, PAGES * PAGE);
	return tally;
}

static void sampling_faults(uint64_t config)
{
	struct fault_samples each = { .step = 1 }, tenth = { .step = PERIOD }, with = { .step = 1 };

	is(sample_faults(config, 1, 0, &each).samples, PAGES, "period 1 samples each fault");
	is(each.good, PAGES, "each sample has the right ip and address");
	is(sample_faults(config, PERIOD, 0, &tenth).samples, PAGES / PERIOD,
	   "period 10 samples one fault in ten");
	is(tenth.good, PAGES / PERIOD, "each sample has the address of the tenth fault");
	is(sample_faults(config, PERIOD, PERF_SAMPLE_PERIOD, &with).samples, PAGES,
	   "with PERIOD each fault is sampled, as in perf");
	is(with.good, PAGES, "each sample has the right ip and address");
}

int main(void)
{
	plan(5 * 9 * 2 + 5 + 6 + 2 * 9);
	cpu_pin(0);
	counting();
	major_faults(touch);
	major_faults(let_the_kernel_touch);
	sampling_faults(PERF_COUNT_SW_PAGE_FAULTS);
	sampling_faults(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	return done();
}
