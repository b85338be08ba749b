// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: number, size and misc for each bit of sample_type and each read
 * format, of user and of kernel mode.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

#define PERIOD	16000
#define ROUNDS	10000

static struct perf_event_attr complete(struct perf_event_attr attr)
{
	attr.sample_regs_user = 0xff0fff;
	attr.sample_regs_intr = 0xff0fff;
	attr.sample_stack_user = 256;
	attr.exclude_callchain_kernel = 1;
	/* the user's part of a chain ends where the stack frames of work_framed() do */
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	return attr;
}

static void say_sampled(struct perf_event_attr attr)
{
	struct tally tally;
	struct ring ring;
	int fd = try_open(&attr, 0, -1, -1, 0);

	if (fd < 0) {
		say_result("open", fd);
		return;
	}
	must_map(&ring, fd, 16);
	work_framed(fd, ROUNDS);
	drain(&ring, &tally, NULL, NULL);
	say_samples(&tally);
}

static void sample_bit(const void *arg)
{
	const unsigned int *bit = arg;

	say_sampled(complete(sampling(PERIOD, 1ULL << *bit)));
}

/* All fields at once except those that need PMU support. */
static void many_fields(void)
{
	say_sampled(complete(sampling(PERIOD, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
		PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
		PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
		PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
		PERF_SAMPLE_TRANSACTION)));
}

static void no_fields(void)
{
	say_sampled(sampling(PERIOD, 0));
}

struct read_trial {
	uint64_t format;
	bool group;
};

/* A sample with counts: of its event, or of a group. */
static void sample_read(const void *arg)
{
	const struct read_trial *trial = arg;
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_READ);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.read_format = trial->format;
	fd = open_self(&attr);
	if (trial->group) {
		attr = branches();
		attr.read_format = trial->format;
		attr.disabled = 0;
		must_open(&attr, 0, -1, fd);
	}
	must_map(&ring, fd, 16);
	work_counted(fd, ROUNDS);
	drain(&ring, &tally, NULL, NULL);
	say_samples(&tally);
}

/* Samples of kernel mode too: misc has the mode. */
struct modes {
	unsigned int user;
	unsigned int kernel;
	unsigned int other;
	unsigned int high_ips;
};

static void count_modes(const struct perf_event_header *rec, void *data)
{
	struct modes *modes = data;
	uint64_t ip;

	if (rec->type != PERF_RECORD_SAMPLE)
		return;
	memcpy(&ip, rec + 1, sizeof(ip));
	modes->high_ips += ip >> 63;
	switch (rec->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_USER:
		modes->user++;
		break;
	case PERF_RECORD_MISC_KERNEL:
		modes->kernel++;
		break;
	default:
		modes->other++;
	}
}

static void say_modes(bool user, bool kernel)
{
	struct perf_event_attr attr = sampling(10007, PERF_SAMPLE_IP);
	struct modes modes = {};
	struct tally tally;
	struct ring ring;
	int fd;

	attr.exclude_user = !user;
	attr.exclude_kernel = !kernel;
	fd = open_self(&attr);
	must_map(&ring, fd, 16);
	enable(fd);
	for (int i = 0; i < 300; i++) {
		work(100);
		getppid();
		usleep(1);
	}
	disable(fd);
	drain(&ring, &tally, count_modes, &modes);
	/* An overflow at the end of one mode may be found in the other. */
	if (user)
		say("user=%s", modes.user ? "some" : "none");
	if (kernel)
		say("kernel=%s", modes.kernel ? "some" : "none");
	say("other=%u", modes.other);
	say("ips=%s", modes.high_ips == modes.kernel ? "as-modes" : "wrong");
}

static void modes_user(void)
{
	say_modes(true, false);
}

static void modes_kernel(void)
{
	say_modes(false, true);
}

static void modes_both(void)
{
	say_modes(true, true);
}

static void modes_none(void)
{
	say_modes(false, false);
}

/* Distance of the IP from the end of the period. */
static void count_hits(const struct perf_event_header *rec, void *data)
{
	uint64_t ip;

	memcpy(&ip, rec + 1, sizeof(ip));
	if (rec->type == PERF_RECORD_SAMPLE && work_counted_has_ip(ip))
		(*(unsigned int *)data)++;
}

static void ip_in_loop(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_IP);
	unsigned int hits = 0;
	struct tally tally;
	struct ring ring;
	int fd = open_self(&attr);

	must_map(&ring, fd, 8);
	work_counted(fd, ROUNDS);
	drain(&ring, &tally, count_hits, &hits);
	say("samples=%u in-loop=%u", tally.number[PERF_RECORD_SAMPLE], hits);
}

/* The sum of all PERIOD fields, also in frequency mode. */
static void sum_periods(const struct perf_event_header *rec, void *data)
{
	uint64_t period;

	memcpy(&period, rec + 1, sizeof(period));
	if (rec->type == PERF_RECORD_SAMPLE)
		*(uint64_t *)data += period;
}

static void period_field(void)
{
	struct perf_event_attr attr = sampling(PERIOD, PERF_SAMPLE_PERIOD);
	struct tally tally;
	struct ring ring;
	uint64_t sum = 0;
	int fd = open_self(&attr);

	must_map(&ring, fd, 8);
	work_counted(fd, ROUNDS);
	drain(&ring, &tally, sum_periods, &sum);
	say("samples=%u sum=%llu", tally.number[PERF_RECORD_SAMPLE], (unsigned long long)sum);
}

/* Frequency mode gives roughly the requested number of samples. */
static void frequency(void)
{
	struct perf_event_attr attr = sampling(2000, PERF_SAMPLE_PERIOD);
	struct tally tally;
	struct ring ring;
	unsigned int n;
	uint64_t sum = 0;
	int fd;

	attr.freq = 1;
	fd = open_self(&attr);
	must_map(&ring, fd, 64);
	enable(fd);
	/* 0.2 seconds, if an instruction takes a nanosecond */
	work(200000000 / WORK_ROUND);
	disable(fd);
	drain(&ring, &tally, sum_periods, &sum);
	n = tally.number[PERF_RECORD_SAMPLE];
	say("samples=%s", n < 200 ? "few" : n > 800 ? "many" : "about-400");
	say("sum=%s", sum > 150000000 && sum < 220000000 ? "the-work" : "other");
}

static void software_clock(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);

	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	/* longer than the work takes */
	attr.sample_period = 1000000000;
	say_sampled(attr);
}

static const struct simple_case simple[] = {
	{ "no-fields", no_fields },
	{ "many-fields", many_fields },
	{ "modes-user", modes_user },
	{ "modes-kernel", modes_kernel },
	{ "modes-both", modes_both },
	{ "modes-none", modes_none },
	{ "ip-in-loop", ip_in_loop },
	{ "period-field", period_field },
	{ "frequency", frequency },
	{ "software-clock", software_clock },
};

/**
 * theme_sample - samples by their fields
 */
void theme_sample(void)
{
	struct read_trial trial;
	char name[30];

	for (unsigned int bit = 0; bit < 25; bit++) {
		snprintf(name, sizeof(name), "bit-%u", bit);
		run_case("sample", name, sample_bit, &bit);
	}
	for (trial.group = false;; trial.group = true) {
		for (trial.format = 0; trial.format < FORMATS; trial.format++) {
			snprintf(name, sizeof(name), "read-%s%llu", trial.group ? "group-" : "",
				 (unsigned long long)trial.format);
			run_case("sample", name, sample_read, &trial);
		}
		if (trial.group)
			break;
	}
	run_simple("sample", simple, ARRAY_SIZE(simple));
}
