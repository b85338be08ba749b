// SPDX-License-Identifier: GPL-2.0
/*
 * Owns throttling: an event that samples more often than max_sample_rate, or
 * more than the others on a CPU that spends more than cpu_time_max_percent on
 * sampling, goes on counting, and writes no samples until the next tick.
 *
 * pmr_throttle_new_tick(), over_time(), begin(): NMI, or interrupts off for
 * software events. pmr_throttle_end(): the event's CPU, interrupts off, its
 * context locked. The setters: task context. No locks.
 *
 * perf answers a lack of time with a lower max_sample_rate for everybody. Here it
 * costs the one that takes it.
 */
#include <linux/irq_work.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <asm/tsc.h>

#include "sample/sample.h"
#include "sample/throttle.h"

/* Linux's defaults of kernel.perf_event_max_sample_rate and perf_cpu_time_max_percent. */
#define DEFAULT_RATE	100000
#define DEFAULT_PERCENT	25

/* To enter and leave an NMI, and to find, stop and reload a counter. */
#define OVERHEAD_NS	1000

static u32 max_rate = DEFAULT_RATE;
static u32 max_percent = DEFAULT_PERCENT;
static u64 cycles_per_tick __read_mostly = U64_MAX;

u32 pmr_throttle_per_tick __read_mostly = DIV_ROUND_UP(DEFAULT_RATE, HZ);
u32 pmr_throttle_overhead __read_mostly;
DEFINE_PER_CPU(struct pmr_sampling_time, pmr_sampling_time);

/* Leaves NMI context to start the tick. */
static DEFINE_PER_CPU(struct irq_work, leave_nmi);
static void (*start_tick)(void);

static void start_tick_here(struct irq_work *work)
{
	start_tick();
}

/**
 * pmr_throttle_new_tick() - forget what sampling has cost so far
 * @here: this CPU's
 * @tick: jiffies
 */
void pmr_throttle_new_tick(struct pmr_sampling_time *here, unsigned long tick)
{
	here->tick = tick;
	here->spent = 0;
	here->allowed = READ_ONCE(cycles_per_tick);
	here->grace = here->allowed / 4;
	here->most = 0;
}

/**
 * pmr_throttle_over_time() - more time is spent than allowed: who pays?
 * @here: this CPU's
 * @samples: of the event that has just been sampled, in this tick
 *
 * Who has overflowed most. The others get some more time to show whether that
 * was enough, and less with each that follows: in all half of what is allowed.
 *
 * Return: true if it is this event.
 */
bool pmr_throttle_over_time(struct pmr_sampling_time *here, u32 samples)
{
	if (samples < here->most)
		return false;
	here->most = 0;
	here->allowed = here->spent + here->grace;
	here->grace /= 2;
	return true;
}

/**
 * pmr_throttle_begin() - an event has reached a limit
 * @event: event that has just been sampled
 *
 * The tick is on its way afterwards.
 */
void pmr_throttle_begin(struct pmr_event *event)
{
	event->tick_samples = PMR_THROTTLE_TOLD;
	__this_cpu_inc(pmr_cpu_stats.throttled);
	pmr_throttle_output(event, true);
	irq_work_queue(this_cpu_ptr(&leave_nmi));
}

/**
 * pmr_throttle_end() - an event may sample again
 * @event: event that is throttled and does not run; the caller lets it begin
 *	a new period
 *
 * One that was stopped by its last overflow (PERF_EVENT_IOC_REFRESH) was never
 * said to be throttled.
 */
void pmr_throttle_end(struct pmr_event *event)
{
	if (event->tick_samples == PMR_THROTTLE_TOLD)
		pmr_throttle_output(event, false);
	event->tick_samples = 0;
	event->hw.throttled = false;
}

/**
 * pmr_throttle_set_rate() - set the limit of each event
 * @rate: samples per second and event, at least 1
 *
 * Return: 0 or -EINVAL.
 */
int pmr_throttle_set_rate(u32 rate)
{
	if (!rate)
		return -EINVAL;
	WRITE_ONCE(max_rate, rate);
	WRITE_ONCE(pmr_throttle_per_tick, DIV_ROUND_UP_ULL(rate, HZ));
	return 0;
}

/**
 * pmr_throttle_rate() - the limit of each event
 */
u32 pmr_throttle_rate(void)
{
	return READ_ONCE(max_rate);
}

/**
 * pmr_throttle_set_percent() - set the limit of each CPU
 * @percent: of its time; 0 and 100 for no limit
 *
 * Return: 0 or -EINVAL.
 */
int pmr_throttle_set_percent(u32 percent)
{
	u64 cycles = U64_MAX;

	if (percent > 100)
		return -EINVAL;
	if (percent % 100 && tsc_khz)
		cycles = div_u64((u64)tsc_khz * 10 * percent, HZ);
	WRITE_ONCE(max_percent, percent);
	WRITE_ONCE(cycles_per_tick, cycles);
	return 0;
}

/**
 * pmr_throttle_percent() - the limit of each CPU
 */
u32 pmr_throttle_percent(void)
{
	return READ_ONCE(max_percent);
}

/**
 * pmr_throttle_init() - before the first event
 * @start: starts the tick of the CPU that it is called on, interrupts off
 */
void pmr_throttle_init(void (*start)(void))
{
	int cpu;

	start_tick = start;
	for_each_possible_cpu(cpu)
		per_cpu(leave_nmi, cpu) = IRQ_WORK_INIT_HARD(start_tick_here);
	pmr_throttle_overhead = mul_u64_u32_div(tsc_khz, OVERHEAD_NS, USEC_PER_SEC);
	pmr_throttle_set_percent(max_percent);
}

/**
 * pmr_throttle_exit() - when no event is left
 */
void pmr_throttle_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&leave_nmi, cpu));
}
