/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that all take random steps at once, on descriptors that they share, so
 * that each acts on what another closes.
 */
#ifndef PMURING_TESTS_STORM_H
#define PMURING_TESTS_STORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define STORM_THREADS_MAX	4
#define STORM_STEPS		8

typedef void (*step_fn)(uint64_t *seed);

struct storm;

/**
 * struct storm_thread - one of them
 * @storm: of which
 * @seed: of its random numbers at the beginning
 * @thread: itself
 */
struct storm_thread {
	struct storm *storm;
	uint64_t seed;
	pthread_t thread;
};

/**
 * struct storm - the threads
 * @step: what they do, one drawn after the other; it is given the thread's seed
 * @threads: how many, STORM_THREADS_MAX at most
 * @slots: how many descriptors they share
 * @enough: steps after which it ends early, or 0
 * @begin: when it began, in ns
 * @steps: taken since then
 * @stop: the threads are to end
 * @thread: each of them
 */
struct storm {
	step_fn step[STORM_STEPS];
	int threads;
	int slots;
	unsigned long enough;
	uint64_t begin;
	atomic_ulong steps;
	atomic_bool stop;
	struct storm_thread thread[STORM_THREADS_MAX];
};

uint64_t next(uint64_t *seed);

unsigned int storm_seconds(unsigned int otherwise);
int storm_fd(unsigned int slot);
void storm_put(int fd, int where);
void storm_start(struct storm *storm);
void storm_wait(const struct storm *storm, unsigned int seconds);
void storm_stop(struct storm *storm);
void storm_close(const struct storm *storm);

#endif
