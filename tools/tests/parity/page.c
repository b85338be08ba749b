// SPDX-License-Identifier: GPL-2.0
/*
 * The user page: its fields in each state, and the count that a reader computes from
 * them, with RDPMC if allowed.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static volatile struct perf_event_mmap_page *map_page(int fd)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		give_up("mmap: %s", error_name(-1));
	return map;
}

static void say_page(const char *what, volatile struct perf_event_mmap_page *page)
{
	say("%s: lock=%s index=%s", what, page->lock % 2 ? "odd" : "even",
	    page->index ? "counter" : "0");
}

static void constants(void)
{
	struct perf_event_attr attr = sampling(100000, PERF_SAMPLE_IP);
	volatile struct perf_event_mmap_page *page = map_page(open_self(&attr));

	say("version=%u compat=%u size=%u", page->version, page->compat_version, page->size);
	say("bit0=%u deprecated=%u rdpmc=%u", page->cap_bit0, page->cap_bit0_is_deprecated,
	    page->cap_user_rdpmc);
	say("width=%u", page->pmc_width);
	say("head=%llu tail=%llu", (unsigned long long)page->data_head,
	    (unsigned long long)page->data_tail);
	say("data=%llu+%llu", (unsigned long long)page->data_offset,
	    (unsigned long long)page->data_size);
	say("aux=%llu+%llu", (unsigned long long)page->aux_offset,
	    (unsigned long long)page->aux_size);
}

static void time_fields(void)
{
	struct perf_event_attr attr = instructions();
	volatile struct perf_event_mmap_page *page;
	int fd;

	attr.disabled = 0;
	fd = open_self(&attr);
	page = map_page(fd);
	work(SOME_WORK);
	say("user-time=%u zero=%u short=%u", page->cap_user_time, page->cap_user_time_zero,
	    page->cap_user_time_short);
	say("shift=%s mult=%s", page->time_shift ? "some" : "0", page->time_mult ? "some" : "0");
}

static void time_fields_clockid(void)
{
	struct perf_event_attr attr = instructions();
	volatile struct perf_event_mmap_page *page;

	attr.use_clockid = 1;
	attr.clockid = 1;
	attr.disabled = 0;
	page = map_page(open_self(&attr));
	say("user-time=%u zero=%u", page->cap_user_time, page->cap_user_time_zero);
}

static void states(void)
{
	struct perf_event_attr attr = instructions();
	int fd = open_self(&attr);
	volatile struct perf_event_mmap_page *page = map_page(fd);

	say_page("off", page);
	enable(fd);
	say_page("on", page);
	disable(fd);
	say_page("off", page);
	say("offset=%s", page->offset == (int64_t)read_value(fd) ? "count" : "other");
}

static void elsewhere(void)
{
	struct perf_event_attr attr = instructions();
	volatile struct perf_event_mmap_page *page;
	struct helper helper;

	attr.disabled = 0;
	helper_start(&helper);
	page = map_page(must_open(&attr, helper.pid, -1, -1));
	helper_do(&helper, ORDER_WORK);
	helper_stop(&helper);
	say_page("asleep", page);
	say("offset=%s", page->offset >= SOME_WORK * WORK_ROUND ? "work" : "less");
}

static void of_software(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
	volatile struct perf_event_mmap_page *page;

	attr.disabled = 0;
	page = map_page(open_self(&attr));
	say_page("on", page);
	say("rdpmc=%u width=%u", page->cap_user_rdpmc, page->pmc_width);
}

static uint64_t rdpmc(uint32_t index)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return (uint64_t)high << 32 | low;
}

static void say_rdpmc(struct perf_event_attr *attr)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t first, second, count;
	int fd;

	attr->disabled = 0;
	fd = open_self(attr);
	page = map_page(fd);
	if (!page->cap_user_rdpmc || !page->index)
		give_up("rdpmc=%u index=%s", page->cap_user_rdpmc, page->index ? "some" : "0");
	first = rdpmc(page->index - 1);
	work(SOME_WORK);
	second = rdpmc(page->index - 1);
	say("grows=%d", second - first >= SOME_WORK);
	count = page->offset + ((int64_t)(second << (64 - page->pmc_width)) >>
				(64 - page->pmc_width));
	say("count=%s", count <= read_value(fd) && read_value(fd) - count < 10000 ?
	    "as-read" : "other");
}

static void rdpmc_instructions(void)
{
	struct perf_event_attr attr = instructions();

	say_rdpmc(&attr);
}

static void rdpmc_branches(void)
{
	struct perf_event_attr attr = branches();

	say_rdpmc(&attr);
}

static void rdpmc_sampling(void)
{
	struct perf_event_attr attr = sampling(1000000, PERF_SAMPLE_IP);

	say_rdpmc(&attr);
}

static sigjmp_buf back;

static void on_fault(int number)
{
	siglongjmp(back, number);
}

static void try_rdpmc(const char *what)
{
	int number = sigsetjmp(back, 1);

	if (number) {
		say("%s=%s", what, sigabbrev_np(number));
		return;
	}
	rdpmc(0);
	say("%s=ok", what);
}

/* RDPMC is allowed only with a mapping. */
static void rdpmc_allowed(void)
{
	struct perf_event_attr attr = instructions();
	void *map;
	int fd;

	signal(SIGSEGV, on_fault);
	try_rdpmc("before");
	attr.disabled = 0;
	fd = open_self(&attr);
	try_rdpmc("open");
	map = (void *)map_page(fd);
	try_rdpmc("mapped");
	munmap(map, 4096);
	try_rdpmc("unmapped");
}

static const struct simple_case simple[] = {
	{ "constants", constants },
	{ "time", time_fields },
	{ "time-clockid", time_fields_clockid },
	{ "states", states },
	{ "elsewhere", elsewhere },
	{ "software", of_software },
	{ "rdpmc-instructions", rdpmc_instructions },
	{ "rdpmc-branches", rdpmc_branches },
	{ "rdpmc-sampling", rdpmc_sampling },
	{ "rdpmc-allowed", rdpmc_allowed },
};

/**
 * theme_page - the user page
 */
void theme_page(void)
{
	run_simple("page", simple, ARRAY_SIZE(simple));
}
