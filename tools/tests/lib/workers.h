/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Child processes that do a measured piece of work when they are told to, so
 * that a test can open events on them before and read these after.
 */
#ifndef PMURING_TESTS_WORKERS_H
#define PMURING_TESTS_WORKERS_H

#include <stdint.h>
#include <sys/types.h>

struct worker {
	pid_t pid;
	int order;
	int answer;
};

typedef void (*worker_fn)(uint64_t argument, void *data);

void worker_start(struct worker *worker, worker_fn fn, void *data);
void worker_order(const struct worker *worker, uint64_t argument);
void worker_wait(const struct worker *worker);
void worker_run(const struct worker *worker, uint64_t argument);
void worker_end(struct worker *worker);

#endif
