/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that always does the same: maps, forks, changes its name, execs.
 */
#ifndef PMURING_TESTS_ACTOR_H
#define PMURING_TESTS_ACTOR_H

#include <sys/types.h>

int actor_main(int argc, char **argv);
pid_t actor_start(int *go);

#endif
