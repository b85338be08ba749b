// SPDX-License-Identifier: GPL-2.0
/*
 * Child processes that work to order. Between two orders a worker sleeps in
 * read(2), so what an event sees of it from one order to the end of the next is
 * the same number of instructions each time, plus the work. Called by the tests.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "tap.h"
#include "workers.h"

static void serve(int order, int answer, worker_fn fn, void *data)
{
	uint64_t argument;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(order, &argument, sizeof(argument)) == sizeof(argument)) {
		fn(argument, data);
		if (write(answer, &argument, sizeof(argument)) != sizeof(argument))
			break;
	}
	_exit(0);
}

/**
 * worker_start - start a worker, which sleeps until the first order
 * @worker: filled in
 * @fn: what it does on each order
 * @data: for @fn, as it is now
 */
void worker_start(struct worker *worker, worker_fn fn, void *data)
{
	int order[2], answer[2];

	if (pipe(order) || pipe(answer))
		bail_out("no pipe");
	worker->pid = fork();
	if (worker->pid < 0)
		bail_out("no process");
	if (!worker->pid) {
		close(order[1]);
		close(answer[0]);
		serve(order[0], answer[1], fn, data);
	}
	close(order[0]);
	close(answer[1]);
	worker->order = order[1];
	worker->answer = answer[0];
}

/**
 * worker_order - order work, without waiting for its end
 * @worker: started
 * @argument: for its function
 */
void worker_order(const struct worker *worker, uint64_t argument)
{
	if (write(worker->order, &argument, sizeof(argument)) != sizeof(argument))
		bail_out("worker %d takes no order", worker->pid);
}

static bool sleeps(pid_t pid)
{
	char path[32], stat[128];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!file_read(path, stat, sizeof(stat)))
		bail_out("worker %d is gone", pid);
	/* pid (comm) state */
	state = strrchr(stat, ')');
	return state && state[2] == 'S';
}

/**
 * worker_wait - wait for the end of an order
 * @worker: has one
 *
 * And until it sleeps again: an answer is still followed by instructions.
 */
void worker_wait(const struct worker *worker)
{
	uint64_t argument;

	if (read(worker->answer, &argument, sizeof(argument)) != sizeof(argument))
		bail_out("worker %d has died", worker->pid);
	while (!sleeps(worker->pid))
		usleep(200);
}

/**
 * worker_run - order work and wait for its end
 * @worker: started
 * @argument: for its function
 */
void worker_run(const struct worker *worker, uint64_t argument)
{
	worker_order(worker, argument);
	worker_wait(worker);
}

/**
 * worker_end - a worker's end
 * @worker: no longer usable
 *
 * Killed, as closing its orders would not reach it: later workers hold copies.
 */
void worker_end(struct worker *worker)
{
	kill(worker->pid, SIGKILL);
	close(worker->order);
	close(worker->answer);
	waitpid(worker->pid, NULL, 0);
}
