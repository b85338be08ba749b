// SPDX-License-Identifier: GPL-2.0
/*
 * Two tasks that take turns. Called by the tests; main thread only.
 */
#include <unistd.h>

#include "machine.h"
#include "players.h"
#include "tap.h"
#include "workload.h"

struct side {
	struct players *players;
	int index;
	int cpu;
	uint64_t loops;
};

static void play(uint64_t rounds, void *data)
{
	const struct side *side = data;
	struct players *p = side->players;

	cpu_pin(side->cpu);
	work_pingpong(p->pipes[side->index][0], p->pipes[!side->index][1], rounds, side->loops);
}

/**
 * players_start - start the two; they wait for players_run()
 * @players: filled in
 * @cpu_a: where the first one runs
 * @cpu_b: where the second one does
 * @loops: length of what they do in each round
 */
void players_start(struct players *players, int cpu_a, int cpu_b, uint64_t loops)
{
	struct side sides[] = { { players, 0, cpu_a, loops }, { players, 1, cpu_b, loops } };

	for (int i = 0; i < 2; i++)
		if (pipe(players->pipes[i]))
			bail_out("no pipe");
	for (int i = 0; i < 2; i++)
		worker_start(&players->workers[i], play, &sides[i]);
}

/**
 * players_run - let both play
 * @players: from players_start()
 * @rounds: of each; on one CPU there are twice as many switches
 *
 * Returns when both sleep.
 */
void players_run(struct players *players, uint64_t rounds)
{
	for (int i = 0; i < 2; i++)
		worker_order(&players->workers[i], rounds);
	for (int i = 0; i < 2; i++)
		worker_wait(&players->workers[i]);
}

/**
 * players_end - end both
 * @players: from players_start()
 */
void players_end(struct players *players)
{
	for (int i = 0; i < 2; i++) {
		worker_end(&players->workers[i]);
		close(players->pipes[i][0]);
		close(players->pipes[i][1]);
	}
}
