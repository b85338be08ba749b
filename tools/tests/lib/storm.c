// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that take random steps. Called by the tests' main threads; next(),
 * storm_fd() and storm_put() also by the steps.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "machine.h"
#include "storm.h"

/* beyond what the tests open for themselves */
#define FIRST_FD	200

/**
 * next - the next random number
 * @seed: of the caller alone, not 0
 *
 * Return: it, at least 1
 */
uint64_t next(uint64_t *seed)
{
	/* the generator of Lehmer and Park */
	*seed = *seed * 48271 % 2147483647;
	return *seed;
}

/**
 * storm_seconds - how long it is to last
 * @otherwise: if PMURING_SECONDS does not say
 *
 * Return: seconds
 */
unsigned int storm_seconds(unsigned int otherwise)
{
	const char *text = getenv("PMURING_SECONDS");

	return text ? (unsigned int)atoi(text) : otherwise;
}

/**
 * storm_fd - a descriptor that the threads share
 * @slot: which
 *
 * Return: the descriptor, open or not
 */
int storm_fd(unsigned int slot)
{
	return FIRST_FD + slot;
}

/**
 * storm_put - let the threads share what was opened
 * @fd: opened; closed
 * @where: from storm_fd(); what was open there is closed
 */
void storm_put(int fd, int where)
{
	dup3(fd, where, O_CLOEXEC);
	close(fd);
}

static void *take_steps(void *data)
{
	struct storm_thread *self = data;
	struct storm *storm = self->storm;
	uint64_t seed = self->seed;

	while (!storm->stop) {
		storm->step[next(&seed) % STORM_STEPS](&seed);
		storm->steps++;
	}
	return NULL;
}

/**
 * storm_start - let the threads go
 * @storm: with what the test decides filled in; may have been stopped before
 */
void storm_start(struct storm *storm)
{
	storm->begin = now_ns();
	storm->stop = false;
	storm->steps = 0;
	for (int i = 0; i < storm->threads; i++) {
		struct storm_thread *thread = &storm->thread[i];

		thread->storm = storm;
		thread->seed = i + 1;
		pthread_create(&thread->thread, NULL, take_steps, thread);
	}
}

/**
 * storm_wait - wait until it has lasted long enough
 * @storm: started
 * @seconds: since its start
 */
void storm_wait(const struct storm *storm, unsigned int seconds)
{
	uint64_t end = storm->begin + seconds * 1000000000ULL;

	while (now_ns() < end && (!storm->enough || storm->steps < storm->enough))
		sleep_ms(10);
}

/**
 * storm_stop - end the threads
 * @storm: started
 */
void storm_stop(struct storm *storm)
{
	storm->stop = true;
	for (int i = 0; i < storm->threads; i++)
		pthread_join(storm->thread[i].thread, NULL);
}

/**
 * storm_close - close what the threads shared
 * @storm: stopped
 */
void storm_close(const struct storm *storm)
{
	for (int i = 0; i < storm->slots; i++)
		close(storm_fd(i));
}
