// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on tasks: children and threads run their own operations beside their
 * parent's, and end in every possible way.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"
#include "world.h"

#define NOBODY		65534
#define STACK		(128UL << 10)

/* of this process; the main thread alone starts and joins */
static struct thread {
	pthread_t id;
	bool used;
	int lane;
	uint64_t seed;
	uint64_t ops;
	struct world world;
	char stack[STACK] __attribute__((aligned(4096)));
} threads[THREADS];

/* thread that forked this process: the main thread runs on its stack */
static struct thread *stands_on;

static void *thread_main(void *data)
{
	struct thread *thread = data;

	world_init(&thread->world, thread->seed, thread->lane);
	world_run(&thread->world, thread->ops);
	lane_give(thread->lane);
	return NULL;
}

static struct thread *unused_thread(void)
{
	for (int i = 0; i < THREADS; i++)
		if (!threads[i].used && &threads[i] != stands_on)
			return &threads[i];
	return NULL;
}

long op_thread(struct world *w)
{
	struct thread *thread = w->thread ? NULL : unused_thread();
	uint64_t seed = rng_next(&w->rng), ops = 5 + rng_below(&w->rng, 60);
	pthread_attr_t attr;
	int code;

	if (!thread)
		return 0;
	thread->lane = lane_take(getpid());
	if (thread->lane < 0)
		return 0;
	op_tell(w, " lane %d seed %llx ops %llu", thread->lane, (unsigned long long)seed,
		(unsigned long long)ops);
	thread->seed = seed;
	thread->ops = ops;
	memcpy(&thread->world, w, sizeof(*w));
	thread->world.thread = true;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, thread->stack, STACK);
	code = pthread_create(&thread->id, &attr, thread_main, thread);
	if (code) {
		lane_give(thread->lane);
		errno = code;
		return -1;
	}
	thread->used = true;
	return 0;
}

static void join(struct thread *thread)
{
	if (!thread->used)
		return;
	pthread_join(thread->id, NULL);
	thread->used = false;
}

long op_join(struct world *w)
{
	int which = rng_below(&w->rng, THREADS);

	op_tell(w, " %d", which);
	if (!w->thread)
		join(&threads[which]);
	return 0;
}

/**
 * threads_join() - wait for all threads of the process
 */
void threads_join(void)
{
	for (int i = 0; i < THREADS; i++)
		join(&threads[i]);
}

/* After a fork: there are none. */
static void forget_threads(const struct world *parent)
{
	for (int i = 0; i < THREADS; i++) {
		threads[i].used = false;
		if (parent == &threads[i].world)
			stands_on = &threads[i];
	}
}

/* A child of root may change its user; any child may become undumpable or unshare. */
static void become_another(struct world *w)
{
	uint64_t dice = rng_below(&w->rng, 100);

	if (w->root && dice < 40) {
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		w->root = false;
		w->may_see_kernel = false;
	} else if (dice < 50) {
		prctl(PR_SET_DUMPABLE, 0);
	} else if (dice < 54) {
		unshare(CLONE_NEWUSER);
	} else if (dice < 57) {
		unshare(CLONE_NEWUSER | CLONE_NEWPID);
	} else if (dice < 70) {
		unshare(CLONE_FILES);
	}
}

static void __attribute__((noreturn)) end(struct world *w)
{
	uint64_t dice = rng_below(&w->rng, 100);

	if (dice < 45)
		exec_something(w);
	if (dice < 52)
		raise(SIGKILL);
	if (dice < 55) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	if (dice < 75)
		threads_join();
	_exit(0);
}

static void __attribute__((noreturn)) kid_main(struct world *parent, int lane, uint64_t seed)
{
	static struct world w;

	memcpy(&w, parent, sizeof(w));
	forget_threads(parent);
	w.thread = false;
	w.depth++;
	world_init(&w, seed, lane);
	become_another(&w);
	world_run(&w, 3 + rng_below(&w.rng, 50));
	end(&w);
}

static void keep_kid(struct world *w, pid_t pid)
{
	w->kid[rng_below(&w->rng, KIDS)] = pid;
}

long op_fork(struct world *w)
{
	uint64_t seed = rng_next(&w->rng);
	int lane = w->depth < DEPTH_MAX ? lane_take(getpid()) : -1;
	pid_t pid;

	if (lane < 0)
		return 0;
	op_tell(w, " lane %d seed %llx", lane, (unsigned long long)seed);
	pid = fork();
	if (!pid)
		kid_main(w, lane, seed);
	if (pid < 0) {
		lane_give(lane);
		return -1;
	}
	shared->lane[lane].pid = pid;
	keep_kid(w, pid);
	return pid;
}

/* vfork and exec, waited for */
long op_spawn(struct world *w)
{
	const char *program = exec_program(w);
	int status;
	pid_t pid;

	op_tell(w, " %s", program);
	pid = vfork();
	if (!pid) {
		execl(program, program, NULL);
		_exit(1);
	}
	if (pid < 0)
		return -1;
	return waitpid(pid, &status, 0);
}

long op_reap(struct world *w)
{
	pid_t pid = waitpid(-1, NULL, WNOHANG);

	if (pid > 0)
		lanes_give_all_of(pid);
	op_tell(w, " %d", pid);
	return pid;
}

long op_kill(struct world *w)
{
	pid_t pid = w->kid[rng_below(&w->rng, KIDS)];
	int sig = RNG_PICK(&w->rng, SIGKILL, SIGUSR1, SIGIO, 0);

	op_tell(w, " %d with %d", pid, sig);
	return pid > 1 ? kill(pid, sig) : 0;
}

static long fault_in(struct world *w, char *at, size_t len)
{
	(void)w;
	for (size_t i = 0; i < len; i += PAGE)
		((volatile char *)at)[i] = 1;
	return 0;
}

long op_work(struct world *w)
{
	uint64_t n = rng_below(&w->rng, 4000);
	char *page;

	op_tell(w, " %llu", (unsigned long long)n);
	for (volatile uint64_t i = 0; i < n; i++)
		;
	for (uint64_t i = rng_below(&w->rng, 20); i; i--)
		syscall(SYS_getppid);
	if (rng_percent(&w->rng, 70))
		return 0;
	page = mmap((void *)(ARENA + (MAPS + 8) * ARENA_SLOT), 4 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	return world_access(w, fault_in, page, 4 * PAGE);
}

long op_sleep(struct world *w)
{
	uint64_t us = rng_below(&w->rng, 1500);

	op_tell(w, " %llu us", (unsigned long long)us);
	return rng_percent(&w->rng, 40) ? sched_yield() : usleep(us);
}

long op_affinity(struct world *w)
{
	pid_t pid = rng_percent(&w->rng, 70) ? 0 : w->kid[rng_below(&w->rng, KIDS)];
	uint64_t bits = 1 + rng_below(&w->rng, (1ULL << cpus()) - 1);

	op_tell(w, " %d %llx", pid, (unsigned long long)bits);
	return syscall(SYS_sched_setaffinity, pid, sizeof(bits), &bits);
}

long op_prctl(struct world *w)
{
	switch (rng_below(&w->rng, 5)) {
	case 0:
		return prctl(PR_SET_DUMPABLE, rng_below(&w->rng, 2));
	case 1:
		return setpriority(PRIO_PROCESS, 0, rng_below(&w->rng, 8));
	case 2:
		return prctl(rng_percent(&w->rng, 50) ? PR_TASK_PERF_EVENTS_DISABLE :
			     PR_TASK_PERF_EVENTS_ENABLE);
	default:
		return prctl(PR_SET_NAME, "another name");
	}
}

/**
 * kids_end() - wait for all descendants of the worker
 *
 * They have been asked to stop; the programs that they exec are short.
 */
void kids_end(struct world *w)
{
	pid_t pid;

	w->op_len = 0;
	while ((pid = waitpid(-1, NULL, 0)) > 0 || errno == EINTR)
		if (pid > 0)
			lanes_give_all_of(pid);
}
