// SPDX-License-Identifier: GPL-2.0
/*
 * Loss: a slow, sleeping or hostile reader loses records, and each lost record is
 * counted: written + lost = produced.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define PERIOD		20011
/* rounds that complete n periods and not one more */
#define SAMPLES(n)	((n) * PERIOD / WORK_ROUND + 1)

/* samples of 32 bytes: 127 of them leave no room for another, as one byte stays free */
#define SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID)
#define FIT		127

static int open_lossy(struct ring *ring, uint64_t sample_type)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, sample_type);
	int fd;

	attr.read_format = FORMAT_LOST;
	attr.sample_id_all = 1;
	fd = open_self(&attr);
	map_ring(ring, fd, 1);
	return fd;
}

/* value, lost */
static uint64_t read_lost(int fd)
{
	uint64_t words[2];

	if (read(fd, words, sizeof(words)) != sizeof(words))
		bail_out("cannot read an event with LOST");
	return words[1];
}

struct seen {
	uint64_t id;
	uint64_t size;
	uint64_t wrong;
};

static void check_lost(const struct record *rec, void *data)
{
	struct seen *seen = data;

	if (rec->header.type != PERF_RECORD_LOST)
		return;
	/* id, lost, and the trailer: pid and tid, id */
	seen->wrong += rec->header.size != seen->size || rec->field[0] != seen->id ||
		       rec->field[2] != ((uint32_t)getpid() | (uint64_t)gettid() << 32) ||
		       rec->field[3] != seen->id;
}

static void ring_full(void)
{
	struct seen seen = { .size = 8 + 16 + 16 };
	struct tally tally;
	struct ring ring;
	int fd = open_lossy(&ring, SAMPLE_TYPE);

	seen.id = event_id(fd);
	work_counted(fd, SAMPLES(FIT + 73));
	is(ring_head(&ring), FIT * 32, "an unread ring fills up except for the last bytes");
	is(read_lost(fd), 73, "PERF_FORMAT_LOST counts the lost samples");
	tally = drain(&ring, check_lost, &seen);
	is(tally.samples, FIT, "a full ring holds %d samples", FIT);
	is(tally.lost_records, 0, "a full ring holds no LOST record");
	work_counted(fd, SAMPLES(1));
	tally = drain(&ring, check_lost, &seen);
	is(tally.lost_records, 1, "a LOST record precedes the next sample");
	is(tally.lost, 73, "the LOST record has the number of lost samples");
	is(tally.samples, 1, "the sample after the LOST record is written");
	is(seen.wrong, 0, "the LOST record has the right size, id and trailer");
	is(read_lost(fd), 73, "PERF_FORMAT_LOST stays the same after the LOST record");
	switch_event(fd, PERF_EVENT_IOC_RESET);
	is(read_lost(fd), 73, "RESET keeps PERF_FORMAT_LOST");
	ring_unmap(&ring);
	close(fd);
}

/* one record at a time: wraps of every kind, with and without LOST */
static void slow_reader(void)
{
	const struct perf_event_header *header;
	uint64_t produced = 0, samples = 0, lost = 0;
	struct tally rest;
	struct ring ring;
	int fd = open_lossy(&ring, PERF_SAMPLE_IP | PERF_SAMPLE_TID);

	for (int i = 0; i < 200; i++) {
		work_counted(fd, 20 * PERIOD / WORK_ROUND);
		for (int n = 0; n < 13 && ring_next(&ring, &header) > 0; n++) {
			const struct record *rec = (const void *)header;

			samples += header->type == PERF_RECORD_SAMPLE;
			lost += header->type == PERF_RECORD_LOST ? rec->field[1] : 0;
		}
		ring_release(&ring);
	}
	produced = read_value(fd) / PERIOD;
	rest = drain(&ring, NULL, NULL);
	ok(!rest.broken, "a reader that is a third too slow finds whole records");
	is(samples + rest.samples + read_lost(fd), produced,
	   "slow reader: written + lost = produced (%llu lost)", (unsigned long long)read_lost(fd));
	between(lost + rest.lost, 1, read_lost(fd),
		"the LOST records cover at most the lost samples");
	ring_unmap(&ring);
	close(fd);
}

static atomic_bool stop;

static void *fast_reader(void *data)
{
	struct tally *sum = data, tally;
	struct ring *ring = *(struct ring **)(sum + 1);

	while (!stop) {
		tally = drain(ring, NULL, NULL);
		sum->samples += tally.samples;
		sum->lost += tally.lost;
		sum->broken |= tally.broken;
	}
	return NULL;
}

/* reader and writer on two CPUs at once, for many times round the ring */
static void concurrent_reader(void)
{
	struct {
		struct tally sum;
		struct ring *ring;
	} reader = { 0 };
	struct tally rest;
	struct ring ring;
	pthread_t thread;
	int fd = open_lossy(&ring, SAMPLE_TYPE);

	reader.ring = &ring;
	stop = false;
	pthread_create(&thread, NULL, fast_reader, &reader);
	work_counted(fd, SAMPLES(5000));
	stop = true;
	pthread_join(thread, NULL);
	rest = drain(&ring, NULL, NULL);
	ok(!reader.sum.broken && !rest.broken, "a concurrent reader finds whole records");
	is(reader.sum.samples + rest.samples + read_lost(fd), read_value(fd) / PERIOD,
	   "concurrent reader: written + lost = produced");
	ring_unmap(&ring);
	close(fd);
}

static void *mad_reader(void *data)
{
	struct perf_event_mmap_page *page = data;
	volatile uint64_t *tail = (volatile uint64_t *)&page->data_tail;

	while (!stop) {
		*tail = 0;
		*tail = page->data_head + 1;
		*tail = ~0ULL;
		*tail = page->data_head - (1ULL << 40);
		*tail = page->data_head + 8;
		*tail = 1ULL << 63;
		*tail = 3;
	}
	return NULL;
}

/* data_tail belongs to the reader: a bad value only harms the reader */
static void hostile_tail(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 1009, SAMPLE_TYPE);
	struct ring ring;
	struct tally tally;
	pthread_t thread;
	uint64_t lost;
	int fd, log = kernel_log_open();

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	map_ring(&ring, fd, 1);
	stop = false;
	pthread_create(&thread, NULL, mad_reader, ring.page);
	work_counted(fd, 2000000);
	stop = true;
	pthread_join(thread, NULL);
	lost = read_lost(fd);
	ok(kernel_log_is_clean(log), "bad data_tail: the kernel log is clean (%llu lost)",
	   (unsigned long long)lost);

	/* start a new tick for the limit on samples per tick */
	sleep_ms(20);
	ring.tail = ring_head(&ring);
	ring_release(&ring);
	work_counted(fd, 1009 * 50 / WORK_ROUND + 1);
	tally = drain(&ring, NULL, NULL);
	ok(!tally.broken, "a valid data_tail again: the records are whole");
	between(tally.samples, 50, 51, "a valid data_tail again: all samples are written");
	is(read_lost(fd), lost, "a valid data_tail again: no sample is lost");
	ring_unmap(&ring);
	close(fd);
}

/* perf never wakes this reader, so it never learns of the loss */
static void watermark_beyond_ring(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, SAMPLE_TYPE);
	struct pollfd pfd = { .events = POLLIN };
	struct ring ring;

	attr.watermark = 1;
	attr.wakeup_watermark = 1U << 31;
	pfd.fd = open_self(&attr);
	map_ring(&ring, pfd.fd, 1);
	work_counted(pfd.fd, SAMPLES(FIT));
	poll(&pfd, 1, 0);
	is(pfd.revents, 0, "a full ring does not wake with a watermark beyond it");
	work_counted(pfd.fd, SAMPLES(1));
	poll(&pfd, 1, 0);
	is(pfd.revents, POLLIN, "the first loss wakes with a watermark beyond the ring");
	ring_unmap(&ring);
	close(pfd.fd);
}

/* a mapping of the header page alone asks for no records, so none is lost */
static void header_page_only(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD, SAMPLE_TYPE);
	struct perf_event_mmap_page *page;
	int fd;

	attr.read_format = FORMAT_LOST;
	fd = open_self(&attr);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	work_counted(fd, SAMPLES(10));
	is(page->data_head, 0, "header page only: nothing is written");
	is(read_lost(fd), 0, "header page only: nothing is lost");
	munmap(page, 4096);
	close(fd);
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	if (!machine_is_exact())
		diag("no PMU QEMU: counts of samples may be off by the machine's interrupts");
	cpu_pin(0);
	plan(10 + 3 + 2 + 4 + 2 + 2);
	ring_full();
	slow_reader();
	concurrent_reader();
	hostile_tail();
	watermark_beyond_ring();
	header_page_only();
	return done();
}
