/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records: what a sample consists of and how it gets into the ring.
 */
#ifndef PMR_SAMPLE_H
#define PMR_SAMPLE_H

#include <linux/jiffies.h>

#include "core/event.h"

/**
 * struct pmr_sample - the values that a sample may carry
 * @ip: interrupted instruction, 0 if the owner may not see it
 * @pid: process id in the opener's namespace
 * @tid: thread id, likewise
 * @time: event clock, ns
 * @id: id of the event, also its stream id
 * @cpu: CPU
 * @period: events it stands for
 */
struct pmr_sample {
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u64 id;
	u32 cpu;
	u64 period;
};

/* PERF_SAMPLE_* that a sample can be made of on this floor. */
#define PMR_SAMPLE_TYPES (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			  PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
			  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

void pmr_sample_plan(struct pmr_plan *plan, const struct perf_event_attr *attr,
		     struct pid_namespace *pid_ns);
u64 *pmr_sample_write(u64 *pos, u64 sample_type, const struct pmr_sample *sample);
u64 *pmr_sample_write_id(u64 *pos, u64 sample_type, const struct pmr_sample *sample);
void pmr_sample_output(struct pmr_event *event, struct pt_regs *regs);
void pmr_throttle_output(struct pmr_event *event, bool throttle);

bool pmr_event_overflow(struct pmr_hw *hw, struct pt_regs *regs);

/* Samples of one event and tick at which it is throttled. */
extern u32 pmr_throttle_per_tick;

/**
 * pmr_throttle_account() - count a sample against the rate limit
 * @event: event that has just been sampled
 *
 * Ticks are told apart by jiffies: where samples come so fast that nothing
 * else runs, those stand still, and the limit is reached.
 *
 * Return: true if the event has reached the limit.
 */
static __always_inline bool pmr_throttle_account(struct pmr_event *event)
{
	unsigned long now = READ_ONCE(jiffies);

	if (event->tick != now) {
		event->tick = now;
		event->tick_samples = 0;
	}
	return ++event->tick_samples >= READ_ONCE(pmr_throttle_per_tick);
}

void pmr_throttle_begin(struct pmr_event *event);
int pmr_throttle_set_rate(u32 rate);
u32 pmr_throttle_rate(void);
void pmr_throttle_init(void);
void pmr_throttle_exit(void);

#endif /* PMR_SAMPLE_H */
