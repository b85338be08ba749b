/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of a fuzzer thread: descriptors, mappings, children, threads. The seed and this
 * state determine the next operation and its arguments.
 */
#ifndef PMURING_FUZZ_WORLD_H
#define PMURING_FUZZ_WORLD_H

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lane.h"
#include "rng.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define FDS		48
#define MAPS		12
#define KIDS		6
#define THREADS		3
#define DEPTH_MAX	3
#define PAGE		4096UL

/* Descriptors of the fuzzer itself are from here on, and no operation takes them. */
#define OWN_FDS		1000
#define NODE_FD		1001
#define SOCKET_FD	1002	/* and the next: both ends */
#define EPOLL_FD	1004

/*
 * Where events are mapped: a place that the kernel gives to none of its own
 * choice, so that a stale address hits another event's ring or nothing.
 */
#define ARENA		0x100000000000UL
#define ARENA_SLOT	(1UL << 20)

/**
 * struct world - state of a thread
 * @rng: decides
 * @lane: where it tells what it does
 * @family: the worker that it descends from
 * @depth: forks between that worker and this process
 * @root: it may change the machine
 * @may_see_kernel: events without exclude_kernel are let in
 * @thread: it shares its process with others
 * @fd: event files, -1 for none; after close() by another thread any file
 * @map: where rings are mapped, or were
 * @map_len: their sizes
 * @kid: children
 * @op: text of the current operation
 * @escape: where an access goes on that has faulted
 * @armed: @escape is set
 * @nth: the allocation that fails in this operation, 0 for none
 * @offline: a CPU that was taken offline, 0 for none
 * @fail_fd: where @nth was written, until the operation has ended
 * @attr: room for an attr, and for what attr.size may claim to follow it
 */
struct world {
	struct rng rng;
	int lane;
	int family;
	int depth;
	bool root;
	bool may_see_kernel;
	bool thread;
	int fd[FDS];
	char *map[MAPS];
	size_t map_len[MAPS];
	pid_t kid[KIDS];
	char *op;
	size_t op_len;
	sigjmp_buf escape;
	volatile bool armed;
	unsigned int nth;
	int offline;
	int fail_fd;
	char attr[2 * PAGE] __attribute__((aligned(8)));
};

/* An operation: what the call returned; -1 with errno. */
typedef long (*op_fn)(struct world *w);

void op_tell(struct world *w, const char *text, ...) __attribute__((format(printf, 2, 3)));

int world_fd(struct world *w);
int world_event(struct world *w);
void world_keep_fd(struct world *w, int fd);
void world_init(struct world *w, uint64_t seed, int lane);
void world_run(struct world *w, uint64_t ops);

void fault_handlers(void);
extern __thread struct world *this_world;

/* Memory that another thread or an operation may have unmapped. */
typedef long (*access_fn)(struct world *w, char *at, size_t len);
long world_access(struct world *w, access_fn fn, char *at, size_t len);

const char *op_name(enum op_kind kind);
int cpus(void);

/* ops_event.c */
long op_open(struct world *w);
long op_close(struct world *w);
long op_dup(struct world *w);
long op_read(struct world *w);
long op_poll(struct world *w);
long op_ioctl(struct world *w);
long op_set_output(struct world *w);
long op_compat(struct world *w);
long op_fasync(struct world *w);
long op_epoll(struct world *w);
long op_scm(struct world *w);
long op_fdinfo(struct world *w);
long op_node(struct world *w);

/* ops_memory.c */
long op_mmap(struct world *w);
long op_munmap(struct world *w);
long op_mremap(struct world *w);
long op_mprotect(struct world *w);
long op_madvise(struct world *w);
long op_touch(struct world *w);
long op_rdpmc(struct world *w);
long op_map_file(struct world *w);

/* ops_task.c */
long op_fork(struct world *w);
long op_spawn(struct world *w);
long op_thread(struct world *w);
long op_join(struct world *w);
long op_reap(struct world *w);
long op_kill(struct world *w);
long op_work(struct world *w);
long op_sleep(struct world *w);
long op_affinity(struct world *w);
long op_prctl(struct world *w);
void threads_join(void);
void kids_end(struct world *w);

/* ops_machine.c */
long op_perf(struct world *w);
long op_param(struct world *w);
long op_hotplug(struct world *w);
void machine_restore(struct world *w);

#endif
