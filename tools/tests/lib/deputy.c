// SPDX-License-Identifier: GPL-2.0
/*
 * See deputy.h. Called by the tests, one thread.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deputy.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

static void serve(uint64_t rounds, void *data)
{
	pid_t *pids = data;
	int n = 0;

	if (rounds) {
		work(rounds);
		return;
	}
	while (pids[n])
		n++;
	if (fork())
		for (;;)
			pause();
	pids[n] = getpid();
}

/**
 * deputies_start - start the first of a chain
 * @chain: filled in
 */
void deputies_start(struct deputies *chain)
{
	size_t size = (DEPUTIES_MAX + 1) * sizeof(*chain->pids);

	memset(chain, 0, sizeof(*chain));
	chain->pids = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (chain->pids == MAP_FAILED)
		bail_out("no shared memory");
	worker_start(&chain->worker, serve, chain->pids);
	chain->first = chain->worker.pid;
	/* it may not sleep yet */
	deputies_run(chain, 1);
}

/**
 * deputies_fork - let the last of a chain fork; its child is the last then
 * @chain: its chain
 */
void deputies_fork(struct deputies *chain)
{
	if (chain->n == DEPUTIES_MAX)
		bail_out("too many deputies");
	worker_run(&chain->worker, 0);
	chain->worker.pid = chain->pids[chain->n++];
	/* it has answered, and may not sleep yet */
	deputies_run(chain, 1);
}

/**
 * deputies_run - let the last of a chain work, and wait until it sleeps again
 * @chain: its chain
 * @rounds: of work(), at least one
 */
void deputies_run(const struct deputies *chain, uint64_t rounds)
{
	worker_run(&chain->worker, rounds);
}

static bool has_ended(pid_t pid)
{
	char path[32], stat[128];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!file_read(path, stat, sizeof(stat)))
		return true;
	/* pid (comm) state */
	state = strrchr(stat, ')');
	return state && state[2] == 'Z';
}

/**
 * deputies_kill - end one of a chain, and wait until it is gone
 * @chain: its chain
 * @which: 0 for the first
 *
 * Its parent sleeps and does not ask for it, so it becomes a zombie.
 */
void deputies_kill(struct deputies *chain, int which)
{
	pid_t pid = which ? chain->pids[which - 1] : chain->first;

	kill(pid, SIGKILL);
	while (!has_ended(pid))
		usleep(200);
}

/**
 * deputies_end - end what is left of a chain
 * @chain: its chain
 */
void deputies_end(struct deputies *chain)
{
	for (int i = 0; i < chain->n; i++)
		deputies_kill(chain, i + 1);
	chain->worker.pid = chain->first;
	worker_end(&chain->worker);
	munmap(chain->pids, (DEPUTIES_MAX + 1) * sizeof(*chain->pids));
}
