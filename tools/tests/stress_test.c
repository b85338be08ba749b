// SPDX-License-Identifier: GPL-2.0
/*
 * A minute at a high rate on all CPUs, with task events among them. At the end
 * every event must have sampled count / period times, written or lost.
 *
 * PMURING_STRESS_SECONDS changes the minute.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define CPUS_MAX	64
#define EVENTS		3
/* about 45000 samples a second in all: more would cost the PMU QEMU many minutes */
#define PERIOD		40009

/* of one CPU: a busy thread, and what watches it */
struct place {
	int cpu;
	pthread_t thread;
	int fds[EVENTS];
	struct ring rings[EVENTS];
	struct tally sums[EVENTS];
	atomic_bool ready;
};

static atomic_bool stop;

/* two events of the CPU and one of the thread; work, system calls, sleep */
static void open_all(struct place *p)
{
	static const uint64_t configs[EVENTS] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
	};

	for (int i = 0; i < EVENTS; i++) {
		struct perf_event_attr attr = sampling(configs[i], PERIOD * (i + 1),
						       PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						       PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD);

		/* cycles in kernel mode too */
		attr.exclude_kernel = i != 1;
		attr.read_format = FORMAT_LOST;
		p->fds[i] = i == 2 ? open_self(&attr) : open_event(&attr, -1, p->cpu);
		map_ring(&p->rings[i], p->fds[i], 32);
		switch_event(p->fds[i], PERF_EVENT_IOC_ENABLE);
	}
}

static void *busy(void *data)
{
	struct place *p = data;

	cpu_pin(p->cpu);
	open_all(p);
	p->ready = true;
	for (unsigned int i = 0; !stop; i++) {
		work(2000 + i % 7000);
		if (i % 16 == 0)
			usleep(i % 5 * 20);
	}
	for (int i = 0; i < EVENTS; i++)
		switch_event(p->fds[i], PERF_EVENT_IOC_DISABLE);
	return NULL;
}

static void collect(struct place *places, int n)
{
	for (int i = 0; i < n * EVENTS; i++) {
		struct place *p = &places[i / EVENTS];
		struct tally tally, *sum = &p->sums[i % EVENTS];

		if (!p->ready)
			continue;
		tally = drain(&p->rings[i % EVENTS], NULL, NULL);
		sum->samples += tally.samples;
		sum->lost += tally.lost;
		sum->throttles += tally.throttles;
		sum->others += tally.others;
		sum->broken |= tally.broken;
	}
}

/* value, lost */
static void judge(const struct place *p, int i)
{
	uint64_t words[2], period = PERIOD * (i + 1), made, want, slack;
	const struct tally *sum = &p->sums[i];

	if (read(p->fds[i], words, sizeof(words)) != sizeof(words))
		bail_out("cannot read an event with LOST");
	made = sum->samples + words[1];
	ok(!sum->broken && !sum->others, "CPU %d event %d: all records are whole", p->cpu, i);
	/*
	 * An overflow in kernel mode may still be pending when the event is switched
	 * off. What a throttled event skips is not lost, but never made.
	 */
	slack = machine_is_exact() ? i == 1 : 1000;
	want = words[0] / period;
	if (sum->throttles)
		diag("throttled %llu times", (unsigned long long)sum->throttles);
	between(made, sum->throttles ? want / 2 : want - slack, want + slack - (i == 1),
		"written + lost = count / period (%llu + %llu)",
		(unsigned long long)sum->samples, (unsigned long long)words[1]);
	ok(sum->lost <= words[1], "LOST records cover at most the lost samples");
}

/* NMIs that the machine delivered, where it tells */
static bool delivered_nmis(int n, uint64_t *sum)
{
	uint64_t nmis;

	*sum = 0;
	for (int cpu = 0; cpu < n && machine_is_exact(); cpu++) {
		if (!msr_read(cpu, QPMU_NMIS, &nmis))
			return false;
		*sum += nmis;
	}
	return machine_is_exact();
}

/* an unclaimed NMI would be reported as unknown */
static void nmis_are_ours(int n, uint64_t before, uint64_t claimed)
{
	uint64_t after;

	if (delivered_nmis(n, &after))
		is(module_info().nmis - claimed, after - before, "every NMI is claimed");
	else
		skip(1, "delivered NMIs are counted by the PMU QEMU only");
}

int main(void)
{
	const char *text = getenv("PMURING_STRESS_SECONDS");
	unsigned int seconds = text ? atoi(text) : 60;
	int n = cpu_possible() < CPUS_MAX ? cpu_possible() : CPUS_MAX;
	static struct place places[CPUS_MAX];
	uint64_t end, total = 0, nmis, claimed;
	int log;

	if (!pmu_is_there())
		return skip_all("no PMU");
	log = kernel_log_open();
	plan(n * EVENTS * 3 + 4);
	claimed = module_info().nmis;
	delivered_nmis(n, &nmis);
	for (int i = 0; i < n; i++) {
		places[i].cpu = i;
		pthread_create(&places[i].thread, NULL, busy, &places[i]);
	}
	end = now_ns() + seconds * 1000000000ULL;
	/* sometimes too slow, so that samples are lost */
	for (unsigned int i = 0; now_ns() < end; i++) {
		sleep_ms(i % 50 ? 5 : 100);
		collect(places, n);
	}
	stop = true;
	for (int i = 0; i < n; i++)
		pthread_join(places[i].thread, NULL);
	collect(places, n);
	for (int i = 0; i < n * EVENTS; i++) {
		judge(&places[i / EVENTS], i % EVENTS);
		total += places[i / EVENTS].sums[i % EVENTS].samples;
	}
	for (int i = 0; i < n * EVENTS; i++) {
		ring_unmap(&places[i / EVENTS].rings[i % EVENTS]);
		close(places[i / EVENTS].fds[i % EVENTS]);
	}
	ok(total > seconds * 1000ULL, "%llu samples in %u s", (unsigned long long)total, seconds);
	nmis_are_ours(n, nmis, claimed);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
