/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records: what they consist of and how they get into the ring.
 */
#ifndef PMR_SAMPLE_H
#define PMR_SAMPLE_H

#include "core/event.h"
#include "sample/throttle.h"

/**
 * struct pmr_callchain - a call chain, as a sample holds it
 * @nr: addresses and PERF_CONTEXT_* markers
 * @ip: these, the innermost function first
 */
struct pmr_callchain {
	u64 nr;
	u64 ip[];
};

/**
 * struct pmr_read - what the READ field of a record is made from
 * @event: event whose record it is
 * @siblings: siblings in its group at the moment, for PERF_FORMAT_GROUP
 */
struct pmr_read {
	struct pmr_event *event;
	u32 siblings;
};

/**
 * struct pmr_sample - the values that a record may carry
 * @ip: interrupted instruction, 0 if the owner may not see it
 * @pid: process id in the opener's namespace
 * @tid: thread id, likewise
 * @time: event clock, ns
 * @addr: address that a page fault was about, else 0
 * @id: id of the event that user space opened
 * @stream_id: id of the event itself, which may be an inherited copy
 * @cpu: CPU
 * @period: events it stands for
 * @read: counts
 * @callchain: who called
 */
struct pmr_sample {
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u64 addr;
	u64 id;
	u64 stream_id;
	u32 cpu;
	u64 period;
	const struct pmr_read *read;
	const struct pmr_callchain *callchain;
};

/* PERF_SAMPLE_* that nearly all samples consist of. */
#define PMR_SAMPLE_COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			   PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
			   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* PERF_SAMPLE_* that a sample can be made of. */
#define PMR_SAMPLE_TYPES (PMR_SAMPLE_COMMON | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | \
			  PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT_TYPE | \
			  PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION)

/* A struct perf_event_header as one word: type, misc, size */
#define PMR_HEADER_MISC_SHIFT	32
#define PMR_HEADER_SIZE_SHIFT	48

static inline u64 pmr_sample_header(u32 size)
{
	return PERF_RECORD_SAMPLE | (u64)PERF_RECORD_MISC_KERNEL << PMR_HEADER_MISC_SHIFT |
	       (u64)size << PMR_HEADER_SIZE_SHIFT;
}

static inline u64 pmr_two_words(u32 first, u32 second)
{
	return first | (u64)second << 32;
}

/* sample/sample.c */
void pmr_sample_plan(struct pmr_plan *plan, const struct perf_event_attr *attr,
		     struct pid_namespace *pid_ns);
u64 *pmr_sample_write(u64 *pos, u64 sample_type, const struct pmr_sample *sample);
void pmr_sample_output_any(struct pmr_event *event, struct pmr_ring *ring, struct pt_regs *regs);

/**
 * struct pmr_record - a record that is no sample, between begin and end
 * @top: event whose ring it goes into
 * @write: its place in the ring
 * @sample: values of its trailer
 */
struct pmr_record {
	struct pmr_event *top;
	struct pmr_ring_write write;
	struct pmr_sample sample;
};

/* sample/record.c */
u64 *pmr_sample_write_id(u64 *pos, u64 sample_type, const struct pmr_sample *sample);
u64 *pmr_record_begin(struct pmr_record *record, struct pmr_event *event,
		      const struct perf_event_header *header, struct task_struct *task);
void pmr_record_end(struct pmr_record *record, u64 *pos);
void pmr_throttle_output(struct pmr_event *event, bool throttle);

/* sample/read.c */
u32 pmr_read_begin(struct pmr_read *read, struct pmr_event *event);
u64 *pmr_read_write(u64 *pos, const struct pmr_read *read);

/* sample/callchain.c */
int pmr_callchain_reserve(u32 depth);
void pmr_callchain_exit(void);
const struct pmr_callchain *pmr_callchain_begin(const struct pmr_event *event,
						struct pt_regs *regs, u32 used);
void pmr_callchain_end(const struct pmr_callchain *callchain);

bool pmr_event_overflow(struct pmr_hw *hw, struct pt_regs *regs);

#endif /* PMR_SAMPLE_H */
