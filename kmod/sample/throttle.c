// SPDX-License-Identifier: GPL-2.0
/*
 * Owns throttling: an event that samples more often than max_sample_rate, or
 * more than the others on a CPU that spends more than cpu_time_max_percent on
 * sampling, goes on counting, and writes no samples until the next tick.
 *
 * pmr_throttle_new_tick(), over_time(), refill(), begin(): NMI, or interrupts off
 * for software events. pmr_throttle_may_end(), _end(): the event's CPU, interrupts
 * off, its context locked; the NMI takes no sample of an event that is throttled.
 * The setters: task context. No locks.
 *
 * The rate limit is a budget: each tick adds max_sample_rate / HZ samples to it,
 * each sample takes one. What a tick leaves is kept for the next one, up to one
 * more tick's worth, and one sample too many is taken from the next tick's. So an
 * event that samples at the limit is never throttled, one that samples faster
 * gets the limit, and neither depends on where in a tick the samples come.
 *
 * perf answers a lack of time with a lower max_sample_rate for everybody. Here it
 * costs the one that takes it.
 */
#include <linux/irq_work.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <asm/tsc.h>

#include "core/context.h"
#include "sample/sample.h"
#include "sample/throttle.h"

/* Linux's defaults of kernel.perf_event_max_sample_rate and perf_cpu_time_max_percent. */
#define DEFAULT_RATE	100000
#define DEFAULT_PERCENT	25

/* To enter and leave an NMI or an interrupt; in a kernel that checks itself as well. */
#define OVERHEAD_NS	(IS_ENABLED(CONFIG_PROVE_LOCKING) ? 4000 : 1000)

static u32 max_rate = DEFAULT_RATE;
static u32 max_percent = DEFAULT_PERCENT;
static s64 cycles_per_tick __read_mostly = S64_MAX;

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
 * pmr_throttle_new_tick() - forget what sampling has cost before this tick
 * @here: this CPU's
 * @tick: jiffies
 */
void pmr_throttle_new_tick(struct pmr_sampling_time *here, unsigned long tick)
{
	if (here->tick == tick)
		return;
	here->tick = tick;
	here->left = READ_ONCE(cycles_per_tick);
	here->grace = here->left / 4;
	here->most = 0;
}

/**
 * pmr_throttle_over_time() - more time is spent than allowed: who pays?
 * @here: this CPU's
 * @tick: jiffies
 * @samples: of the event that has just been sampled, in this tick
 *
 * Who has overflowed most. The others get some more time to show whether that
 * was enough, and less with each that follows: in all half of what is allowed.
 *
 * Return: true if it is this event.
 */
bool pmr_throttle_over_time(struct pmr_sampling_time *here, unsigned long tick, u32 samples)
{
	if (here->tick != tick) {
		pmr_throttle_new_tick(here, tick);
		return false;
	}
	if (samples < here->most)
		return false;
	here->most = 0;
	here->left = here->grace;
	here->grace /= 2;
	return true;
}

/**
 * pmr_throttle_refill() - what an event may sample in another tick
 * @throttle: the event's
 * @tick: jiffies, later than @throttle->tick
 *
 * An event that PERF_EVENT_IOC_PERIOD lets sample again and again owes one
 * tick's samples at most, or it would be silent for long.
 */
void pmr_throttle_refill(struct pmr_throttle *throttle, unsigned long tick)
{
	s64 rate = READ_ONCE(max_rate);
	s64 ticks = min(tick - throttle->tick, 2 * HZ + 2UL);
	s64 credit = throttle->credit - (s64)throttle->samples * HZ + ticks * rate;

	throttle->credit = clamp_t(s64, credit, -rate - HZ, rate + max_t(s64, rate, HZ));
	throttle->allowed = throttle->credit > 0 ? div_u64(throttle->credit, HZ) : 0;
	throttle->samples = 0;
	throttle->tick = tick;
}

/**
 * pmr_throttle_is_over() - is there something left for an event to sample?
 * @throttle: the event's; the event is throttled
 * @tick: jiffies
 *
 * With a limit below HZ it takes several ticks until there is. An event that the
 * limits have not throttled may begin at once: it was stopped by its last
 * overflow (PERF_EVENT_IOC_REFRESH).
 */
bool pmr_throttle_is_over(struct pmr_throttle *throttle, unsigned long tick)
{
	if (!throttle->told)
		return true;
	if (throttle->tick == tick)
		return false;
	pmr_throttle_refill(throttle, tick);
	return throttle->credit >= 0;
}

/**
 * pmr_throttle_may_end() - may an event sample again?
 * @event: event that is throttled
 */
bool pmr_throttle_may_end(struct pmr_event *event)
{
	unsigned long now = jiffies;

	lockdep_assert_irqs_disabled();
	pmr_throttle_new_tick(this_cpu_ptr(&pmr_sampling_time), now);
	return pmr_throttle_is_over(&event->throttle, now);
}

/**
 * pmr_throttle_begin() - an event has reached a limit
 * @event: event that has just been sampled
 *
 * The tick is on its way afterwards.
 */
void pmr_throttle_begin(struct pmr_event *event)
{
	lockdep_assert_irqs_disabled();
	event->throttle.told = true;
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
	lockdep_assert_held(&event->context->lock);
	if (event->throttle.told)
		pmr_throttle_output(event, false);
	event->throttle.told = false;
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
	s64 cycles = S64_MAX;

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
