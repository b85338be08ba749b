/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared memory of all processes of the fuzzer: a lane for each thread that runs
 * operations, with the log of its last ones, and the statistics.
 *
 * Each page of a log names itself (magic, run, lane), so that scripts/fuzz finds
 * it in the memory of a machine that has died.
 */
#ifndef PMURING_FUZZ_LANE_H
#define PMURING_FUZZ_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LANES		64
#define LOG_PAGES	64
#define LOG_SLOTS	15
#define LOG_TEXT	248
#define ERRNOS		136
#define FAMILIES	16
#define LOG_MAGIC	"pmuring-fuzz-log"

/* shared memory comes with this descriptor through each fork and exec */
#define LANE_FD		1000

/* the operations; world.c knows more of each */
enum op_kind {
	OP_OPEN, OP_CLOSE, OP_DUP, OP_READ, OP_POLL, OP_IOCTL, OP_SET_OUTPUT, OP_COMPAT,
	OP_FASYNC, OP_EPOLL, OP_SCM, OP_FDINFO, OP_NODE, OP_MMAP, OP_MUNMAP, OP_MREMAP,
	OP_MPROTECT, OP_MADVISE, OP_TOUCH, OP_RDPMC, OP_MAP_FILE, OP_FORK, OP_SPAWN, OP_THREAD,
	OP_JOIN, OP_REAP, OP_KILL, OP_WORK, OP_SLEEP, OP_AFFINITY, OP_PRCTL, OP_PERF, OP_EXEC,
	OP_PARAM, OP_HOTPLUG,
	OP_KINDS
};

struct log_slot {
	uint64_t seq;		/* from 1; 0: empty */
	char text[LOG_TEXT];
};

struct log_page {
	char magic[16];
	uint64_t run;
	uint32_t lane;
	uint32_t page;
	char unused[224];
	struct log_slot slot[LOG_SLOTS];
};

/**
 * struct lane - one thread that runs operations
 * @pid: its process, 0: the lane is free
 * @tid: its id
 * @seq: operations begun
 * @since_ns: when the current one began, 0 between two
 * @signals: signals handled in it; also its own
 * @kind: enum op_kind of the current one
 * @page: its log
 */
struct lane {
	pid_t pid;
	pid_t tid;
	uint64_t seq;
	uint64_t since_ns;
	uint64_t signals;
	uint32_t kind;
	struct log_page page[LOG_PAGES] __attribute__((aligned(4096)));
};

/**
 * struct shared - what all processes see
 * @run: names this run in the log pages
 * @stop: ends all loops
 * @quota: operations of each family
 * @family_ops: operations of a worker and all that descend from it
 * @results: of each kind: how often which errno; 0 is success
 * @slowest_ns: of each kind
 * @strays: SIGSEGV outside of an access that expects it
 * @no_lane: forks and threads that found no free lane
 */
struct shared {
	uint64_t run;
	uint32_t stop;
	uint64_t quota;
	uint64_t family_ops[FAMILIES];
	uint64_t results[OP_KINDS][ERRNOS];
	uint64_t slowest_ns[OP_KINDS];
	uint64_t strays;
	uint64_t no_lane;
	struct lane lane[LANES];
};

extern struct shared *shared;

void shared_create(uint64_t run);
void shared_attach(void);

int lane_take(pid_t pid);
void lane_give(int lane);
void lanes_give_all_of(pid_t pid);

uint64_t lane_now(void);

#endif
