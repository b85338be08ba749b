/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that keeps a group of events busy, so that what else is to be done to
 * them has to wait. It changes nothing.
 */
#ifndef PMURING_TESTS_BUSY_H
#define PMURING_TESTS_BUSY_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define BUSY_SIBLINGS_MAX	128

/**
 * struct busy - the thread
 * @leader: of the group, or -1 before there is one
 * @siblings: that make the group large
 * @n: how many
 * @stop: it is to end
 * @thread: itself
 */
struct busy {
	atomic_int leader;
	int siblings[BUSY_SIBLINGS_MAX];
	int n;
	atomic_bool stop;
	pthread_t thread;
};

void busy_create(struct busy *busy);
void busy_start(struct busy *busy, int leader, pid_t pid, int cpu, int inherit, int siblings);
void busy_end(struct busy *busy);

#endif
