/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two tasks that hand a byte to and fro, so that they take turns: work_pingpong().
 */
#ifndef PMURING_TESTS_PLAYERS_H
#define PMURING_TESTS_PLAYERS_H

#include <stdint.h>

#include "workers.h"

struct players {
	int pipes[2][2];
	struct worker workers[2];
};

void players_start(struct players *players, int cpu_a, int cpu_b, uint64_t loops);
void players_run(struct players *players, uint64_t rounds);
void players_end(struct players *players);

#endif
