// SPDX-License-Identifier: GPL-2.0
/*
 * The grammar of struct perf_event_attr: every field gets every kind of value, mostly
 * valid ones, since a refused attr tests nothing else.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "attr_gen.h"

/* fields that the module can sample; others are rare */
#define SAMPLED \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	 PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_RAW | \
	 PERF_SAMPLE_IDENTIFIER)

#define READ_FORMATS	0x1fU

static uint64_t cache_config(struct rng *rng)
{
	return rng_below(rng, PERF_COUNT_HW_CACHE_MAX + 1) |
	       rng_below(rng, PERF_COUNT_HW_CACHE_OP_MAX + 1) << 8 |
	       rng_below(rng, PERF_COUNT_HW_CACHE_RESULT_MAX + 1) << 16;
}

static uint64_t raw_config(struct rng *rng)
{
	if (rng_percent(rng, 20))
		return rng_any(rng);
	/* cycles, instructions, reference cycles, branches and their misses */
	return RNG_PICK(rng, 0x003c, 0x00c0, 0x013c, 0x00c4, 0x00c5, 0x0300) |
	       (rng_percent(rng, 15) ? RNG_PICK(rng, 1ULL << 18, 1ULL << 23, 1ULL << 21, 0xffULL << 24,
					      1ULL << 20, 1ULL << 16, 1ULL << 32) : 0);
}

static void make_type(struct perf_event_attr *attr, struct rng *rng)
{
	uint64_t dice = rng_below(rng, 100);

	if (dice < 38) {
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = rng_percent(rng, 70) ? rng_below(rng, 2) : rng_below(rng, 11);
	} else if (dice < 78) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = rng_below(rng, 12);
	} else if (dice < 92) {
		attr->type = PERF_TYPE_RAW;
		attr->config = raw_config(rng);
	} else if (dice < 95) {
		attr->type = PERF_TYPE_HW_CACHE;
		attr->config = cache_config(rng);
	} else {
		attr->type = rng_percent(rng, 80) ? rng_below(rng, 12) : rng_next(rng);
		attr->config = rng_any(rng);
	}
	if (rng_rarely(rng, 50))
		attr->config = rng_any(rng);
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/*
 * Each one is a timer. The shortest, 10 us, are rare: a checking kernel takes longer to
 * serve one, and lets half of its time go there.
 */
static void make_clock_period(struct perf_event_attr *attr, struct rng *rng)
{
	if (rng_percent(rng, 30)) {
		attr->freq = 1;
		attr->sample_freq = RNG_PICK(rng, 1, 10, 99, 250, 1000);
	} else if (rng_percent(rng, 5)) {
		attr->sample_period = RNG_PICK(rng, 1, 100, 10007);
	} else if (rng_percent(rng, 50)) {
		attr->sample_period = RNG_PICK(rng, 1000003, 2000003, 10000019, 1ULL << 31,
					       1ULL << 62, (1ULL << 63) - 1, 1ULL << 63);
	}
}

/* Short ones are rare: each sample costs the machine more than an operation. */
static void make_period(struct perf_event_attr *attr, struct rng *rng)
{
	uint64_t dice = rng_below(rng, 100);

	if (dice < 40)
		return;
	if (is_clock(attr)) {
		make_clock_period(attr, rng);
	} else if (dice < 55) {
		attr->freq = 1;
		attr->sample_freq = RNG_PICK(rng, 1, 10, 99, 1000, 4000, 20000, 100000, 100001);
	} else if (attr->type == PERF_TYPE_SOFTWARE && attr->config >= PERF_COUNT_SW_PAGE_FAULTS &&
		   dice < 85) {
		attr->sample_period = RNG_PICK(rng, 1, 1, 1, 2, 3, 10, 100);
	} else if (dice < 90) {
		attr->sample_period = RNG_PICK(rng, 10007, 50021, 100003, 1000003, 10000019,
					       100000007, 1ULL << 31);
	} else if (dice < 94) {
		attr->sample_period = RNG_PICK(rng, 1, 2, 31, 127, 500, 1000);
	} else {
		attr->sample_period = RNG_PICK(rng, 1ULL << 32, (1ULL << 47) - 1, 1ULL << 47, 1ULL << 48,
					       1ULL << 62, (1ULL << 63) - 1, 1ULL << 63, ~0ULL);
	}
}

static void make_bits(struct perf_event_attr *attr, struct rng *rng, bool may_see_kernel)
{
	attr->disabled = rng_percent(rng, 40);
	attr->inherit = rng_percent(rng, 40);
	attr->pinned = rng_percent(rng, 6);
	attr->exclusive = rng_percent(rng, 4);
	attr->exclude_user = rng_percent(rng, 8);
	attr->exclude_kernel = rng_percent(rng, may_see_kernel ? 30 : 92);
	attr->exclude_hv = rng_percent(rng, 30);
	attr->exclude_idle = rng_percent(rng, 10);
	attr->mmap = rng_percent(rng, 15);
	attr->comm = rng_percent(rng, 15);
	attr->inherit_stat = rng_percent(rng, 12);
	attr->enable_on_exec = rng_percent(rng, 15);
	attr->task = rng_percent(rng, 15);
	attr->watermark = rng_percent(rng, 25);
	attr->precise_ip = rng_rarely(rng, 40) ? rng_below(rng, 4) : 0;
	attr->mmap_data = rng_percent(rng, 5);
	attr->sample_id_all = rng_percent(rng, 50);
	attr->exclude_host = rng_rarely(rng, 60);
	attr->exclude_guest = rng_percent(rng, 20);
	attr->exclude_callchain_kernel = rng_percent(rng, may_see_kernel ? 15 : 90);
	attr->exclude_callchain_user = rng_percent(rng, 15);
	attr->mmap2 = rng_percent(rng, 8);
	attr->comm_exec = rng_percent(rng, 10);
	attr->context_switch = rng_percent(rng, 10);
	attr->write_backward = rng_percent(rng, 8);
	attr->ksymbol = rng_percent(rng, 5);
	attr->bpf_event = rng_percent(rng, 5);
	attr->inherit_thread = attr->inherit ? rng_percent(rng, 25) : rng_rarely(rng, 200);
	attr->remove_on_exec = attr->enable_on_exec ? rng_rarely(rng, 50) : rng_percent(rng, 20);
}

static void make_rare_bits(struct perf_event_attr *attr, struct rng *rng)
{
	switch (rng_below(rng, 200)) {
	case 0:
		attr->namespaces = 1;
		break;
	case 1:
		attr->aux_output = 1;
		break;
	case 2:
		attr->cgroup = 1;
		break;
	case 3:
		attr->text_poke = 1;
		break;
	case 4:
		attr->build_id = 1;
		break;
	case 5:
		attr->sigtrap = 1;
		attr->remove_on_exec = 1;
		break;
	case 6:
		attr->__reserved_1 = rng_next(rng);
		break;
	case 7:
		attr->__reserved_2 = rng_next(rng);
		break;
	}
}

static void make_sample(struct perf_event_attr *attr, struct rng *rng)
{
	attr->sample_type = rng_next(rng) & rng_next(rng) & SAMPLED;
	if (rng_rarely(rng, 12))
		attr->sample_type |= 1ULL << rng_below(rng, 26);
	if (attr->inherit && attr->sample_type & PERF_SAMPLE_READ && !rng_rarely(rng, 20))
		attr->sample_type |= PERF_SAMPLE_TID;
	attr->read_format = rng_next(rng) & rng_next(rng) & READ_FORMATS;
	if (rng_rarely(rng, 100))
		attr->read_format = rng_any(rng);
	attr->sample_regs_user = rng_percent(rng, 80) ? 0xff00fff : rng_any(rng);
	attr->sample_regs_intr = rng_percent(rng, 80) ? 0xff0fff : rng_any(rng);
	attr->sample_stack_user = rng_percent(rng, 80) ? 8 * rng_below(rng, 1024) : rng_any(rng);
	attr->branch_sample_type = rng_percent(rng, 80) ? 1U | 1U << 3 : rng_any(rng);
	attr->sample_max_stack = RNG_PICK(rng, 0, 0, 0, 1, 16, 127, 128, 65535);
	attr->wakeup_events = rng_percent(rng, 40) ? 0 : RNG_PICK(rng, 1, 2, 100, 4096, 1 << 20, ~0U);
}

static void make_rest(struct perf_event_attr *attr, struct rng *rng)
{
	if (rng_percent(rng, 10)) {
		attr->use_clockid = 1;
		attr->clockid = RNG_PICK(rng, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME,
					 CLOCK_BOOTTIME, CLOCK_TAI, CLOCK_PROCESS_CPUTIME_ID, -1, 99);
	}
	if (rng_rarely(rng, 40))
		attr->config1 = rng_any(rng);
	if (rng_rarely(rng, 40))
		attr->config2 = rng_any(rng);
	if (rng_rarely(rng, 100))
		attr->aux_watermark = rng_any(rng);
	if (rng_rarely(rng, 100))
		attr->aux_sample_size = rng_any(rng);
	if (rng_rarely(rng, 100))
		attr->__reserved_3 = rng_any(rng);
	if (rng_rarely(rng, 60))
		attr->bp_type = rng_below(rng, 8);
	attr->size = sizeof(*attr);
	if (rng_percent(rng, 8))
		attr->size = RNG_PICK(rng, 0, 1, 63, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144,
				      4096, 4097, ~0U);
}

/**
 * attr_make() - an attr
 * @attr: where it goes; a page must be readable there, as attr.size may say so
 * @rng: decides
 * @may_see_kernel: events without exclude_kernel are allowed
 */
void attr_make(struct perf_event_attr *attr, struct rng *rng, bool may_see_kernel)
{
	memset(attr, 0, sizeof(*attr));
	make_type(attr, rng);
	make_bits(attr, rng, may_see_kernel);
	make_period(attr, rng);
	make_sample(attr, rng);
	make_rare_bits(attr, rng);
	make_rest(attr, rng);
	if (rng_rarely(rng, 200))
		((uint64_t *)attr)[rng_below(rng, sizeof(*attr) / 8)] = rng_any(rng);
}

/**
 * attr_describe() - describe an attr so that it can be rebuilt
 * @attr: attr
 * @text: where it goes: the words of eight bytes that are not 0
 * @size: room there
 *
 * Return: characters written
 */
int attr_describe(const struct perf_event_attr *attr, char *text, size_t size)
{
	const uint64_t *word = (const uint64_t *)attr;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(*attr) / 8 && len < size; i++)
		if (word[i])
			len += snprintf(text + len, size - len, "%s%zu:%llx", len ? " " : "", i,
					(unsigned long long)word[i]);
	return len < size ? len : size - 1;
}
