// SPDX-License-Identifier: GPL-2.0
/*
 * Other tasks for the cases: children and threads that work, exec and end. Called
 * by the cases.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

static const char *program = "/root/spin";

/**
 * set_fixed_program - which program is run for exec
 * @path: a program of known length
 */
void set_fixed_program(const char *path)
{
	program = path;
}

/**
 * fixed_program - become the program of known length
 */
void fixed_program(void)
{
	/* without the environment: no library is preloaded there */
	execle(program, program, NULL, &(char *){ NULL });
	_exit(99);
}

static void some_work(void *data)
{
	(void)data;
	work(SOME_WORK);
}

/**
 * work_for - work, for run_child() and run_thread()
 * @rounds: uint64_t, how much
 */
void work_for(void *rounds)
{
	work(*(const uint64_t *)rounds);
}

/**
 * become_program - fixed_program(), for run_child()
 * @data: unused
 */
void become_program(void *data)
{
	(void)data;
	fixed_program();
}

static void obey(char order)
{
	switch (order) {
	case ORDER_WORK:
		work(SOME_WORK);
		break;
	case ORDER_FORK:
		run_child(some_work, NULL);
		break;
	case ORDER_THREAD:
		run_thread(some_work, NULL);
		break;
	case ORDER_EXEC:
		run_child(become_program, NULL);
		break;
	case ORDER_RENAME:
		prctl(PR_SET_NAME, "renamed");
		break;
	case ORDER_YIELD:
		usleep(1000);
		break;
	default:
		_exit(0);
	}
}

static void serve(int orders, int answers)
{
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(orders, &order, 1) == 1) {
		obey(order);
		if (write(answers, &order, 1) != 1)
			break;
	}
	_exit(0);
}

/**
 * helper_start - start a child that waits for orders
 * @helper: filled in
 */
void helper_start(struct helper *helper)
{
	int orders[2], answers[2];

	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		give_up("pipe: %s", error_name(-1));
	helper->pid = fork();
	if (helper->pid < 0)
		give_up("fork: %s", error_name(-1));
	if (!helper->pid) {
		close(orders[1]);
		close(answers[0]);
		serve(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	helper->order = orders[1];
	helper->answer = answers[0];
}

/**
 * helper_do - give an order and wait until it is done
 * @helper: started
 * @order: what to do
 */
void helper_do(const struct helper *helper, enum order order)
{
	char word = order;

	if (write(helper->order, &word, 1) != 1 || read(helper->answer, &word, 1) != 1)
		give_up("the helper is gone");
}

/**
 * helper_end - a helper exits and is waited for
 * @helper: started
 */
void helper_end(const struct helper *helper)
{
	char word = ORDER_EXIT;

	if (write(helper->order, &word, 1) != 1)
		give_up("the helper is gone");
	waitpid(helper->pid, NULL, 0);
}

/**
 * helper_stop - a helper is stopped, and no longer on any CPU
 * @helper: started
 */
void helper_stop(const struct helper *helper)
{
	int status;

	kill(helper->pid, SIGSTOP);
	waitpid(helper->pid, &status, WUNTRACED);
}

/**
 * run_child - run a function in a child and wait for its end
 * @fn: the function
 * @data: for @fn
 */
void run_child(void (*fn)(void *), void *data)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork: %s", error_name(-1));
	if (!pid) {
		fn(data);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

struct start {
	void (*fn)(void *data);
	void *data;
};

static void *run_start(void *arg)
{
	struct start *start = arg;

	start->fn(start->data);
	return NULL;
}

/**
 * run_thread - run a function in a thread and wait until the kernel has ended it
 * @fn: the function
 * @data: for @fn
 */
void run_thread(void (*fn)(void *), void *data)
{
	struct start start = { fn, data };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_start, &start))
		give_up("no thread");
	pthread_join(thread, NULL);
	/* its events are folded a little later than the join ends */
	usleep(20000);
}

/**
 * pin_to - run on one CPU from now on
 * @cpu: which
 */
void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		give_up("cannot run on CPU %d", cpu);
}
