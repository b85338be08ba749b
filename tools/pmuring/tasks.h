/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tasks that the samples come from. The module writes no COMM and MMAP2
 * records yet, so what is needed to name a sample is read from /proc when a
 * sample shows that it is missing.
 */
#ifndef PMURING_TOOL_TASKS_H
#define PMURING_TOOL_TASKS_H

#include "records.h"

struct task;
struct process;
struct dso;

#define TASKS_BUCKETS	1024

/**
 * struct tasks - all that is known
 * @sink: where the records go
 * @threads: hash table by tid
 * @processes: hash table by pid
 * @dsos: hash table of files by name
 * @pass: number of the present pass over all rings
 * @unknown: samples of tasks that had gone before they could be looked at
 */
struct tasks {
	struct record_sink *sink;
	struct task *threads[TASKS_BUCKETS];
	struct process *processes[TASKS_BUCKETS];
	struct dso *dsos[TASKS_BUCKETS];
	unsigned int pass;
	uint64_t unknown;
};

void tasks_init(struct tasks *tasks, struct record_sink *sink);
void tasks_scan_all(struct tasks *tasks);
void tasks_scan(struct tasks *tasks, pid_t pid, uint64_t time);
void tasks_see(struct tasks *tasks, const struct perf_event_header *rec,
	       const struct sample *sample);
void tasks_build_ids(const struct tasks *tasks, struct buf *out);
void tasks_free(struct tasks *tasks);

#endif
