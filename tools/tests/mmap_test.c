// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping a ring: sizes, protections, second mappings, refused changes of a mapping,
 * and the memory charge.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PAGE		4096UL
#define RW		(PROT_READ | PROT_WRITE)
#define PERIOD		20011

/* newer than some installed headers */
#ifndef MADV_DOFORK
#define MADV_DOFORK	11
#endif

static int open_sampling(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);

	return open_self(&attr);
}

static unsigned char *map_pages(int fd, size_t pages, int prot)
{
	void *map = mmap(NULL, pages * PAGE, prot, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		bail_out("cannot map %zu pages", pages);
	return map;
}

static void maps(size_t length, int prot, int flags, off_t offset, int want, const char *what)
{
	int fd = open_sampling();
	void *map = mmap(NULL, length, prot, flags, fd, offset);

	gives(map == MAP_FAILED ? -1 : 0, want, "mmap %s: %s", what,
	      want ? strerrorname_np(want) : "ok");
	if (map != MAP_FAILED)
		munmap(map, length);
	close(fd);
}

static void sizes(void)
{
	static const struct {
		size_t pages;
		int want;
	} cases[] = {
		{ 1, 0 }, { 2, 0 }, { 3, 0 }, { 5, 0 }, { 9, 0 }, { 129, 0 },
		{ 4, EINVAL }, { 6, EINVAL }, { 7, EINVAL }, { 8, EINVAL }, { 16, EINVAL },
		{ 128, EINVAL },
	};
	int fd = open_sampling();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int one = open_sampling();
		void *map = mmap(NULL, cases[i].pages * PAGE, RW, MAP_SHARED, one, 0);

		gives(map == MAP_FAILED ? -1 : 0, cases[i].want, "%zu pages", cases[i].pages);
		if (map != MAP_FAILED)
			munmap(map, cases[i].pages * PAGE);
		close(one);
	}
	maps(2 * PAGE + 1, RW, MAP_SHARED, 0, 0, "of two pages and a byte, which is three");
	maps(3 * PAGE, RW, MAP_PRIVATE, 0, EINVAL, "MAP_PRIVATE");
	maps(3 * PAGE, RW, MAP_SHARED, PAGE, EINVAL, "at offset 1 page");
	maps(3 * PAGE, RW, MAP_SHARED, 3 * PAGE, EINVAL, "at offset 3 pages, where AUX would be");

	/* 4 GiB of ring: refused by a limit or by memory, never by a warning */
	errno = 0;
	ok(mmap(NULL, (1 + (1UL << 20)) * PAGE, RW, MAP_SHARED, fd, 0) == MAP_FAILED &&
	   (errno == EPERM || errno == ENOMEM), "1 + 2^20 pages: EPERM or ENOMEM");
	ok(mmap(NULL, (1 + (1UL << 32)) * PAGE, RW, MAP_SHARED, fd, 0) == MAP_FAILED &&
	   (errno == EPERM || errno == ENOMEM || errno == EINVAL),
	   "1 + 2^32 pages: refused (%s)", strerrorname_np(errno));
	close(fd);
}

#define SIZE_CHECKS (12 + 4 + 2)

/* what the header page says of the ring */
static void header_page(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, PERF_SAMPLE_IP);
	int fd = open_self(&attr);
	struct perf_event_mmap_page *page = (void *)map_pages(fd, 5, RW);

	is(page->version, 0, "header page: version");
	is(page->compat_version, 0, "  compat_version");
	is(page->data_offset, PAGE, "  data_offset");
	is(page->data_size, 4 * PAGE, "  data_size");
	is(page->data_head, 0, "  data_head");
	is(page->aux_size, 0, "  aux_size");
	is(page->index, 0, "  index is 0 without a counter");
	work_counted(fd, PERIOD / WORK_ROUND + 1);
	is(page->data_head, 16, "  data_head after a sample of 16 bytes");
	munmap(page, 5 * PAGE);
	close(fd);
}

static sigjmp_buf out;

static void jump_out(int sig)
{
	siglongjmp(out, sig);
}

/* store - whether a store hits a wall: the signal, or 0 */
static int store(volatile unsigned char *at)
{
	struct sigaction action = { .sa_handler = jump_out }, segv, bus;
	int sig;

	sigaction(SIGSEGV, &action, &segv);
	sigaction(SIGBUS, &action, &bus);
	sig = sigsetjmp(out, 1);
	if (!sig)
		*at = *at;
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return sig;
}

static void data_is_read_only(void)
{
	int fd = open_sampling(), hit = 0;
	unsigned char *map = map_pages(fd, 5, RW);

	is(store(map + offsetof(struct perf_event_mmap_page, data_tail)), 0,
	   "the header page is writable");
	for (int page = 1; page < 5; page++)
		hit += !!store(map + page * PAGE + 8);
	is(hit, 4, "a store to each data page gets SIGSEGV or SIGBUS");
	madvise(map, 5 * PAGE, MADV_WILLNEED);
	is(!!store(map + PAGE), 1, "a data page is not writable after MADV_WILLNEED");
	mprotect(map, 5 * PAGE, RW);
	is(!!store(map + PAGE), 1, "a data page is not writable after mprotect");
	munmap(map, 5 * PAGE);
	close(fd);
}

/* On x86 a writable page is readable. Runs in a child with an alarm. */
static void write_only(void)
{
	int fd = open_sampling(), status;
	pid_t pid = fork();

	if (!pid) {
		volatile unsigned char *map = map_pages(fd, 3, PROT_WRITE);

		alarm(1);
		(void)map[PAGE];
		_exit(store(map + PAGE) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	is(status, 0, "without PROT_READ: data pages are readable and not writable");
	close(fd);
}

/* No reader consumes a mapping without PROT_WRITE: old records are overwritten. */
static void overwrite_mode(void)
{
	int fd = open_sampling();
	struct perf_event_mmap_page *page = (void *)map_pages(fd, 2, PROT_READ);
	const struct perf_event_header *first = (void *)((char *)page + PAGE);

	/* 256 samples of 16 bytes fill the page; these go on after them */
	work_counted(fd, 300 * PERIOD / WORK_ROUND + 1);
	is(page->data_head, 300 * 16, "read-only mapping: new records overwrite old ones");
	is(first->type, PERF_RECORD_SAMPLE, "read-only mapping: no LOST record is written");
	munmap(page, 2 * PAGE);
	close(fd);
}

static void second_mapping(void)
{
	int fd = open_sampling();
	unsigned char *a = map_pages(fd, 3, RW), *b;

	ok(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	   "a second mapping of another size: EINVAL");
	ok(mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	   "a second mapping of the header page only: EINVAL");
	b = map_pages(fd, 3, RW);
	work_counted(fd, PERIOD / WORK_ROUND + 1);
	is(((struct perf_event_mmap_page *)a)->data_head, 16,
	   "two mappings: the first sees the sample");
	is(((struct perf_event_mmap_page *)b)->data_head, 16,
	   "two mappings: the second sees the sample");
	munmap(a, 3 * PAGE);
	work_counted(fd, PERIOD / WORK_ROUND + 1);
	is(((struct perf_event_mmap_page *)b)->data_head, 32,
	   "the second mapping works after the first is unmapped");
	munmap(b, 3 * PAGE);
	a = map_pages(fd, 5, RW);
	is(((struct perf_event_mmap_page *)a)->data_size, 4 * PAGE,
	   "another size can be mapped after the last unmap");
	munmap(a, 5 * PAGE);
	close(fd);
}

/* a mapping cannot be split: CVE-2025-38563 */
static void no_splitting(void)
{
	int fd = open_sampling();
	unsigned char *map = map_pages(fd, 9, RW), *moved;

	gives(munmap(map + 5 * PAGE, 4 * PAGE), EINVAL, "munmap of the last pages: EINVAL");
	gives(munmap(map, PAGE), EINVAL, "munmap of the first page: EINVAL");
	gives(munmap(map + 3 * PAGE, PAGE), EINVAL, "munmap of a page inside: EINVAL");
	gives(mprotect(map + 3 * PAGE, PAGE, PROT_READ), EINVAL,
	      "mprotect of a page inside: EINVAL");
	moved = mremap(map, 9 * PAGE, 5 * PAGE, 0);
	ok(moved == MAP_FAILED && errno == EINVAL, "mremap to less: EINVAL");
	moved = mremap(map, 9 * PAGE, 17 * PAGE, MREMAP_MAYMOVE);
	ok(moved == MAP_FAILED && errno == EFAULT, "mremap to more: EFAULT");
	gives(mprotect(map, 9 * PAGE, RW | PROT_EXEC), EACCES, "mprotect to PROT_EXEC: EACCES");

	moved = mmap(NULL, 9 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(map, 9 * PAGE, 9 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
	ok(moved != MAP_FAILED, "mremap of the whole to another place");
	work_counted(fd, PERIOD / WORK_ROUND + 1);
	is(((struct perf_event_mmap_page *)moved)->data_head, 16,
	   "a moved mapping sees new samples");
	gives(munmap(moved, 9 * PAGE), 0, "munmap of the whole");
	close(fd);
}

static int child_status(const volatile unsigned char *at)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		(void)*at;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void advice(void)
{
	int fd = open_sampling();
	unsigned char *map = map_pages(fd, 3, RW);
	struct perf_event_mmap_page *page = (void *)map;

	is(child_status(map), SIGSEGV, "fork: the child has no mapping");
	work_counted(fd, PERIOD / WORK_ROUND + 1);
	madvise(map, 3 * PAGE, MADV_DONTNEED);
	is(page->data_head, 16, "MADV_DONTNEED keeps the ring");
	is(((struct perf_event_header *)(map + PAGE))->size, 16, "MADV_DONTNEED keeps the records");
	ok(store(map + PAGE) != 0, "MADV_DONTNEED keeps the data pages read-only");
	page->data_tail = 16;
	work_counted(fd, 256 * PERIOD / WORK_ROUND + 1);
	is(page->data_head, 16 + 256 * 16,
	   "after MADV_DONTNEED the kernel writes to the same ring");

	if (madvise(map, 3 * PAGE, MADV_DOFORK)) {
		skip(1, "MADV_DOFORK is refused");
	} else {
		int status = child_status(map);

		ok(status == 0 || status == SIGSEGV, "MADV_DOFORK: the child survives or faults");
	}
	is(page->data_head, 16 + 256 * 16, "the ring stays valid after the child's exit");
	munmap(map, 3 * PAGE);
	close(fd);
}

/* the ring lives until the last file and the last mapping are gone */
static void close_before_unmap(void)
{
	int fd = open_sampling(), copy;
	struct perf_event_mmap_page *page = (void *)map_pages(fd, 3, RW);

	copy = dup(fd);
	close(fd);
	work_counted(copy, PERIOD / WORK_ROUND + 1);
	is(page->data_head, 16, "the ring works after dup and close of the first descriptor");
	close(copy);
	is(page->data_head, 16, "the records stay after close of the last descriptor");
	is(((struct perf_event_header *)((char *)page + PAGE))->size, 16,
	   "the records stay whole after the last close");
	work(PERIOD);
	is(page->data_head, 16, "no record is written after the last close");
	munmap(page, 3 * PAGE);
}

/* memory charged to this process, in KiB */
static uint64_t charged(void)
{
	return status_kb("VmPin") + status_kb("VmLck");
}

static void charge(void)
{
	uint64_t before = charged();
	struct pmuring_info info = module_info();
	size_t pages = 1;
	unsigned char *map;
	int fd;

	/* the largest ring within the allowance of one CPU, and one far beyond that of all */
	while ((2 * pages + 1) * 4 <= info.mlock_kb)
		pages *= 2;
	fd = open_sampling();
	map = map_pages(fd, pages + 1, RW);
	is(charged(), before, "a ring within the allowance charges nothing to the process");
	munmap(map, (pages + 1) * PAGE);
	map = map_pages(fd, 16384 + 1, RW);
	between(charged() - before, 16385 * 4 - (uint64_t)info.mlock_kb * cpu_possible(),
		16385 * 4 - info.mlock_kb, "a ring of 64 MiB is charged beyond the allowance");
	munmap(map, 16385 * PAGE);
	is(charged(), before, "unmapped: nothing is charged");

	for (int i = 0; i < 1000; i++) {
		map = map_pages(fd, 129, RW);
		munmap(map, 129 * PAGE);
	}
	is(charged(), before, "mapped 1000 times: nothing is charged");
	for (int i = 0; i < 1000; i++)
		if (mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0) != MAP_FAILED)
			bail_out("4 pages were mapped");
	is(charged(), before, "refused 1000 times: nothing is charged");

	/* mapped twice, the first fd closed: one charge */
	map = map_pages(fd, 16384 + 1, RW);
	before = charged();
	munmap(map_pages(fd, 16384 + 1, RW), 16385 * PAGE);
	is(charged(), before, "a second mapping is not charged again, nor uncharged");
	close(fd);
	is(charged(), before, "close does not uncharge while it is mapped");
	munmap(map, 16385 * PAGE);
	between(charged(), 0, before - 1, "the last unmap uncharges");
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(SIZE_CHECKS + 8 + 4 + 1 + 2 + 6 + 10 + 7 + 4 + 8);
	sizes();
	header_page();
	data_is_read_only();
	write_only();
	overwrite_mode();
	second_mapping();
	no_splitting();
	advice();
	close_before_unmap();
	charge();
	return done();
}
