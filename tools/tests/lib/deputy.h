/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workers that fork when they are told to: the child takes over, the parent
 * sleeps until it is ended. What an event of the first one counts from then on
 * is its descendants' alone.
 */
#ifndef PMURING_TESTS_DEPUTY_H
#define PMURING_TESTS_DEPUTY_H

#include <stdint.h>
#include <sys/types.h>

#include "workers.h"

#define DEPUTIES_MAX	16

/**
 * struct deputies - a chain of processes
 * @worker: takes orders: rounds of work(); @worker.pid is the last of the chain
 * @first: the first of the chain
 * @pids: shared with all of them: pids of the chain so far
 * @n: how many have
 */
struct deputies {
	struct worker worker;
	pid_t first;
	pid_t *pids;
	int n;
};

void deputies_start(struct deputies *chain);
void deputies_fork(struct deputies *chain);
void deputies_run(const struct deputies *chain, uint64_t rounds);
void deputies_kill(struct deputies *chain, int which);
void deputies_end(struct deputies *chain);

#endif
