// SPDX-License-Identifier: GPL-2.0
/*
 * Full rings: how much fits, and how losses are counted.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	16000
#define ROUND	(PERIOD / WORK_ROUND)

static int open_small_ring(struct ring *ring, uint64_t sample_type)
{
	struct perf_event_attr attr = sampling(PERIOD, sample_type);
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	must_map(ring, fd, 1);
	return fd;
}

static uint64_t lost_of(int fd)
{
	uint64_t words[2] = {};

	if (read(fd, words, sizeof(words)) != sizeof(words))
		give_up("read: %s", error_name(-1));
	return words[1];
}

static void say_head(const char *what, const struct ring *ring)
{
	say("%s=%llu", what, (unsigned long long)ring_head(ring));
}

/* Until nothing fits, then room again. */
static void fill(uint64_t sample_type)
{
	struct tally tally;
	struct ring ring;
	int fd = open_small_ring(&ring, sample_type);

	work_counted(fd, 1000 * ROUND);
	say_head("head", &ring);
	say("lost=%llu", (unsigned long long)lost_of(fd));
	drain(&ring, &tally, NULL, NULL);
	say_samples(&tally);
	work_counted(fd, 10 * ROUND);
	drain(&ring, &tally, NULL, NULL);
	say_samples(&tally);
	say_records(&tally);
	say("lost=%llu", (unsigned long long)lost_of(fd));
}

static void fill_8(void)
{
	fill(0);
}

static void fill_16(void)
{
	fill(PERF_SAMPLE_IP);
}

static void fill_24(void)
{
	fill(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
}

static void fill_40(void)
{
	fill(PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD);
}

static void reset_keeps_lost(void)
{
	struct ring ring;
	int fd = open_small_ring(&ring, PERF_SAMPLE_IP);

	work_counted(fd, 300 * ROUND);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	say("lost=%llu", (unsigned long long)lost_of(fd));
}

/* The reader never advances the tail of a read-only ring. */
static void overwrite(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct perf_event_mmap_page *page;
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	page = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("mmap: %s", error_name(-1));
	work_counted(fd, 1000 * ROUND);
	say("head=%llu lost=%llu", (unsigned long long)page->data_head,
	    (unsigned long long)lost_of(fd));
}

static void backward(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct perf_event_mmap_page *page;
	const struct perf_event_header *rec;
	unsigned int n = 0;
	uint64_t at;
	int fd;

	attr.write_backward = 1;
	fd = open_self(&attr);
	page = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("mmap: %s", error_name(-1));
	work_counted(fd, 1000 * ROUND);
	say("head=%lld", (long long)page->data_head);
	for (at = page->data_head; at + 16 <= page->data_head + 4096; at += rec->size, n++) {
		rec = (const void *)((const char *)page + 4096 + (at & 4095));
		if (rec->size != 16 || rec->type != PERF_RECORD_SAMPLE)
			break;
	}
	say("records=%u", n);
}

static void backward_writable(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct ring ring;
	int fd;

	attr.write_backward = 1;
	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	must_map(&ring, fd, 1);
	work_counted(fd, 1000 * ROUND);
	say("head=%lld lost=%llu", (long long)ring_head(&ring), (unsigned long long)lost_of(fd));
}

/* A header page without data pages: nothing is written; is it counted as lost? */
static void page_only(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	struct perf_event_mmap_page *page;
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	work_counted(fd, 100 * ROUND);
	say("head=%llu lost=%llu", (unsigned long long)page->data_head,
	    (unsigned long long)lost_of(fd));
	say_result("pause", ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
}

static void no_ring(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	work_counted(fd, 100 * ROUND);
	say("lost=%llu", (unsigned long long)lost_of(fd));
}

static void paused(void)
{
	struct tally tally;
	struct ring ring;
	int fd = open_small_ring(&ring, PERF_SAMPLE_IP);

	ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	work_counted(fd, 20 * ROUND);
	say("lost=%llu", (unsigned long long)lost_of(fd));
	say_poll("poll", fd);
	ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	work_counted(fd, 5 * ROUND);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
	say_samples(&tally);
	say("lost=%llu", (unsigned long long)lost_of(fd));
}

/* An invalid tail. */
static void say_tail(uint64_t tail)
{
	struct ring ring;
	int fd = open_small_ring(&ring, PERF_SAMPLE_IP);

	ring.page->data_tail = tail;
	work_counted(fd, 100 * ROUND);
	say_head("head", &ring);
	say("lost=%llu", (unsigned long long)lost_of(fd));
}

static void tail_minus_1(void)
{
	say_tail(~0ULL);
}

static void tail_8(void)
{
	say_tail(8);
}

static void tail_ring(void)
{
	say_tail(4096);
}

static void tail_half(void)
{
	say_tail(2048);
}

static void tail_huge(void)
{
	say_tail(1ULL << 63);
}

/* A group read has the losses of each member. */
static void lost_in_group(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	uint64_t words[8] = {};
	struct ring ring;
	int leader;

	attr.read_format = PERF_FORMAT_GROUP | FORMAT_LOST;
	leader = open_self(&attr);
	attr = branches();
	attr.disabled = 0;
	must_open(&attr, 0, -1, leader);
	must_map(&ring, leader, 1);
	work_counted(leader, 300 * ROUND);
	say("bytes=%zd", read(leader, words, sizeof(words)));
	say("leader=%llu sibling=%llu", (unsigned long long)words[2], (unsigned long long)words[4]);
}

static const struct simple_case simple[] = {
	{ "fill-8", fill_8 },
	{ "fill-16", fill_16 },
	{ "fill-24", fill_24 },
	{ "fill-40", fill_40 },
	{ "reset", reset_keeps_lost },
	{ "overwrite", overwrite },
	{ "backward", backward },
	{ "backward-writable", backward_writable },
	{ "page-only", page_only },
	{ "no-ring", no_ring },
	{ "paused", paused },
	{ "tail-minus-1", tail_minus_1 },
	{ "tail-8", tail_8 },
	{ "tail-ring", tail_ring },
	{ "tail-half", tail_half },
	{ "tail-huge", tail_huge },
	{ "group", lost_in_group },
};

/**
 * theme_lost - full rings
 */
void theme_lost(void)
{
	run_simple("lost", simple, ARRAY_SIZE(simple));
}
