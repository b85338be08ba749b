// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the fuzzer: creates it, finds it again after an exec, and hands out
 * lanes. Called by any process, without locks.
 */
#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lane.h"

struct shared *shared;

uint64_t lane_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/**
 * shared_attach() - map it, as LANE_FD has it
 */
void shared_attach(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, LANE_FD, 0);
	if (shared == MAP_FAILED)
		err(1, "no shared memory");
}

/**
 * shared_create() - make it
 * @run: names this run
 */
void shared_create(uint64_t run)
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) || dup2(fd, LANE_FD) != LANE_FD)
		err(1, "no shared memory");
	close(fd);
	shared_attach();
	shared->run = run;
	for (int i = 0; i < LANES; i++)
		for (int j = 0; j < LOG_PAGES; j++) {
			struct log_page *page = &shared->lane[i].page[j];

			memcpy(page->magic, LOG_MAGIC, sizeof(page->magic));
			page->run = run;
			page->lane = i;
			page->page = j;
		}
}

/**
 * lane_take() - a lane for a thread that is to run operations
 * @pid: its process, or for now its parent
 *
 * The log of the last user stays until it is overwritten.
 *
 * Return: its number, -1 if all are taken
 */
int lane_take(pid_t pid)
{
	for (int i = 0; i < LANES; i++) {
		pid_t none = 0;

		if (__atomic_compare_exchange_n(&shared->lane[i].pid, &none, pid, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			shared->lane[i].since_ns = 0;
			return i;
		}
	}
	__atomic_fetch_add(&shared->no_lane, 1, __ATOMIC_RELAXED);
	return -1;
}

/**
 * lane_give() - its thread has ended
 * @lane: its number
 */
void lane_give(int lane)
{
	shared->lane[lane].since_ns = 0;
	__atomic_store_n(&shared->lane[lane].pid, 0, __ATOMIC_RELEASE);
}

/**
 * lanes_give_all_of() - a process has ended, however that was
 * @pid: its id
 */
void lanes_give_all_of(pid_t pid)
{
	for (int i = 0; i < LANES; i++)
		if (__atomic_load_n(&shared->lane[i].pid, __ATOMIC_ACQUIRE) == pid)
			lane_give(i);
}
