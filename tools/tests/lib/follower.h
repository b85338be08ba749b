/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that do one thing after the other, when they are told to; and a
 * program of known length for them to execute.
 */
#ifndef PMURING_TESTS_FOLLOWER_H
#define PMURING_TESTS_FOLLOWER_H

#include <sys/types.h>

/* spin.S: instructions of user space */
#define SPIN	20000004ULL

struct follower {
	pid_t pid;
	int go;
	int tell;
};

typedef void (*act)(int go, int tell);

void follower_start(struct follower *follower, act fn);
void follower_go(const struct follower *follower);
pid_t follower_tells(const struct follower *follower);
int follower_ends(const struct follower *follower);

void wait_for_go(int go);
void tell(int fd, pid_t pid);
const char *spin_path(void);
void spin(void);

#endif
