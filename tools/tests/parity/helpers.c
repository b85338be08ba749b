// SPDX-License-Identifier: GPL-2.0
/*
 * Other tasks for the cases, the knobs of both implementations, and ways to have
 * fewer rights. Called by the cases, and by main() before the first one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
	char *argv[] = { (char *)program, NULL };
	char *none[] = { NULL };

	execve(program, argv, none);
	_exit(99);
}

static void some_work(void *data)
{
	(void)data;
	work(SOME_WORK);
}

static void exec_program(void *data)
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
		run_child(exec_program, NULL);
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

/* The same limit of both implementations. */
static const struct {
	const char *sysctl;
	const char *parameter;
} knobs[KNOBS] = {
	[KNOB_PARANOID] = { "perf_event_paranoid", "paranoid" },
	[KNOB_RATE] = { "perf_event_max_sample_rate", "max_sample_rate" },
	[KNOB_MLOCK] = { "perf_event_mlock_kb", "mlock_kb" },
	[KNOB_STACK] = { "perf_event_max_stack", "max_stack" },
};

static void write_number(const char *folder, const char *name, long value)
{
	char path[200], text[30];
	int fd, len;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = snprintf(text, sizeof(text), "%ld\n", value);
	if (write(fd, text, len) != len)
		fprintf(stderr, "parity: cannot write %ld to %s: %s\n", value, path, error_name(-1));
	close(fd);
}

/**
 * knob_set - set a limit in the kernel's perf, and in pmuring where it is loaded
 * @knob: which one
 * @value: new value
 */
void knob_set(enum knob knob, long value)
{
	write_number("/proc/sys/kernel", knobs[knob].sysctl, value);
	write_number("/sys/module/pmuring/parameters", knobs[knob].parameter, value);
}

/**
 * prepare_machine - the same limits for everybody
 */
void prepare_machine(void)
{
	struct rlimit files = { 4096, 4096 };

	/* the rate can be set while the CPU time is limited, and only then */
	write_number("/proc/sys/kernel", "perf_cpu_time_max_percent", 25);
	knob_set(KNOB_RATE, 1000000);
	write_number("/proc/sys/kernel", "perf_cpu_time_max_percent", 0);
	knob_set(KNOB_PARANOID, 2);
	knob_set(KNOB_MLOCK, 516);
	knob_set(KNOB_STACK, 127);
	setrlimit(RLIMIT_NOFILE, &files);
}

static void set_capabilities(uint64_t set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = set, .permitted = set },
		{ .effective = set >> 32, .permitted = set >> 32 },
	};

	if (syscall(SYS_capset, &header, data))
		give_up("capset: %s", error_name(-1));
}

static void change_user(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		give_up("setuid: %s", error_name(-1));
}

/**
 * be_nobody - go on as a user without rights, who could be traced by himself
 */
void be_nobody(void)
{
	change_user();
	prctl(PR_SET_DUMPABLE, 1);
}

/**
 * be_nobody_with - go on as that user, with one capability
 * @capability: CAP_*
 */
void be_nobody_with(int capability)
{
	prctl(PR_SET_KEEPCAPS, 1);
	change_user();
	set_capabilities(1ULL << capability);
	prctl(PR_SET_DUMPABLE, 1);
}

/**
 * lose_capability - go on as root without one capability
 * @capability: CAP_*
 */
void lose_capability(int capability)
{
	set_capabilities(((1ULL << (CAP_LAST_CAP + 1)) - 1) & ~(1ULL << capability));
	prctl(PR_SET_DUMPABLE, 1);
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
