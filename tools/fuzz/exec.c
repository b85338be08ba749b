// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that the fuzzer execs: short ones, set-user-ID and unreadable ones, and
 * itself, which continues with the remaining descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"

/* where scripts/fuzz has put them */
#define FOLDER	"/fuzz/"

/**
 * exec_program() - a short program
 */
const char *exec_program(struct world *w)
{
	static const char *const programs[] = {
		FOLDER "short", FOLDER "short", FOLDER "short-suid", FOLDER "short-suid",
		FOLDER "short-unreadable", FOLDER "short-unreadable", FOLDER "short-sgid",
		FOLDER "none", FOLDER,
	};

	return programs[rng_below(&w->rng, ARRAY_SIZE(programs))];
}

static void exec_self(struct world *w)
{
	char lane[12], seed[24], family[12], depth[12], rights[4];

	snprintf(lane, sizeof(lane), "%d", w->lane);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)rng_next(&w->rng));
	snprintf(family, sizeof(family), "%d", w->family);
	snprintf(depth, sizeof(depth), "%d", w->depth + 1);
	snprintf(rights, sizeof(rights), "%d", w->root | w->may_see_kernel << 1);
	execl("/proc/self/exe", "fuzz", "continue", lane, seed, family, depth, rights, NULL);
}

/**
 * exec_something() - exec another program
 *
 * Return: only if that failed
 */
void exec_something(struct world *w)
{
	const char *program;

	if (w->depth < DEPTH_MAX && rng_percent(&w->rng, 30)) {
		exec_self(w);
	} else {
		program = exec_program(w);
		/* the lane stays taken until the parent has reaped us */
		execl(program, program, NULL);
	}
	__atomic_fetch_add(&shared->results[OP_EXEC][errno], 1, __ATOMIC_RELAXED);
}

/**
 * exec_continue() - continue after exec_self()
 */
int exec_continue(int argc, char **argv)
{
	static struct world w;
	int lane, n = 0;

	if (argc != 7)
		return 2;
	shared_attach();
	__atomic_fetch_add(&shared->results[OP_EXEC][0], 1, __ATOMIC_RELAXED);
	fault_handlers();
	lane = atoi(argv[2]);
	w.family = atoi(argv[4]);
	w.depth = atoi(argv[5]);
	w.root = atoi(argv[6]) & 1;
	w.may_see_kernel = atoi(argv[6]) & 2;
	for (int i = 0; i < FDS; i++)
		w.fd[i] = -1;
	for (int fd = 3; fd < 400 && n < FDS; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			w.fd[n++] = fd;
	world_init(&w, strtoull(argv[3], NULL, 10), lane);
	world_run(&w, 3 + rng_below(&w.rng, 40));
	_exit(0);
}
