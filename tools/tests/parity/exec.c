// SPDX-License-Identifier: GPL-2.0
/*
 * Events over exec of their task.
 */
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"
#include "workload.h"

/* a child that execs the fixed program on request */
struct runner {
	pid_t pid;
	int start;
};

static void runner_start(struct runner *runner)
{
	int pipes[2];
	char byte;

	if (pipe(pipes))
		give_up("pipe: %s", error_name(-1));
	runner->pid = fork();
	if (!runner->pid) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) < 0)
			_exit(1);
		fixed_program();
	}
	close(pipes[0]);
	runner->start = pipes[1];
	/* until it sleeps in read() */
	usleep(20000);
}

static void runner_go(const struct runner *runner)
{
	close(runner->start);
	waitpid(runner->pid, NULL, 0);
}

static int follow(const struct runner *runner, struct perf_event_attr attr, int cpu)
{
	attr.read_format = FORMAT_TIMES;
	return must_open(&attr, runner->pid, cpu, -1);
}

static void say_count(const char *what, int fd)
{
	struct count count = {};
	bool whole = read_count(fd, &count);

	say("%s:%s=%llu", what, whole ? "value" : "no", (unsigned long long)count.value);
	say("times=%s", !count.enabled ? "none" : count.enabled == count.running ? "equal" : "differ");
}

/* Return: an event of a task that has run the program since @first, which may be NULL */
static int over_program(struct perf_event_attr attr, int cpu, void (*first)(int fd))
{
	struct runner runner;
	int fd;

	runner_start(&runner);
	fd = follow(&runner, attr, cpu);
	if (first)
		first(fd);
	runner_go(&runner);
	return fd;
}

static void say_group_over_program(struct perf_event_attr leader, struct perf_event_attr sibling)
{
	struct runner runner;
	int fds[2];

	runner_start(&runner);
	fds[0] = follow(&runner, leader, -1);
	sibling.read_format = FORMAT_TIMES;
	fds[1] = must_open(&sibling, runner.pid, -1, fds[0]);
	runner_go(&runner);
	say_count("leader", fds[0]);
	say_count("sibling", fds[1]);
}

static void say_before(int fd)
{
	say_count("before", fd);
}

static void enable_on_exec(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.enable_on_exec = 1;
	fd = over_program(attr, -1, say_before);
	say_count("after", fd);
	say_poll("poll", fd);
}

static void enable_on_exec_branches(void)
{
	struct perf_event_attr attr = branches();

	attr.enable_on_exec = 1;
	say_count("after", over_program(attr, -1, NULL));
}

static void enable_on_exec_group(void)
{
	struct perf_event_attr leader = instructions(), sibling = branches();

	leader.enable_on_exec = 1;
	sibling.disabled = 0;
	say_group_over_program(leader, sibling);
}

/* A sibling alone is not enabled by exec unless it says so. */
static void sibling_alone(void)
{
	struct perf_event_attr leader = instructions(), sibling = leader;

	sibling.enable_on_exec = 1;
	say_group_over_program(leader, sibling);
}

static void without(void)
{
	say_count("after", over_program(instructions(), -1, NULL));
}

static void survives(void)
{
	struct perf_event_attr attr = instructions();
	struct count count;

	attr.disabled = 0;
	read_count(over_program(attr, -1, NULL), &count);
	say("value=%s", count.value > 20000004 ? "more" : count.value ? "less" : "none");
}

static void enabled_and_on_exec(void)
{
	struct perf_event_attr attr = instructions();

	attr.enable_on_exec = 1;
	attr.disabled = 0;
	say("more=%d", read_value(over_program(attr, -1, NULL)) > 0);
}

static void enable_and_disable(int fd)
{
	enable(fd);
	disable(fd);
}

static void disabled_again(void)
{
	struct perf_event_attr attr = instructions();

	attr.enable_on_exec = 1;
	say_count("after", over_program(attr, -1, enable_and_disable));
}

static void cpu_elsewhere(void)
{
	struct perf_event_attr attr = instructions();

	pin_to(0);
	attr.enable_on_exec = 1;
	say_count("after", over_program(attr, 1, NULL));
}

static void of_cpu(void)
{
	struct perf_event_attr attr = instructions();
	struct runner runner;
	int fd;

	attr.enable_on_exec = 1;
	attr.read_format = FORMAT_TIMES;
	fd = must_open(&attr, -1, 0, -1);
	runner_start(&runner);
	runner_go(&runner);
	say_count("after", fd);
}

static void remove_on_exec(void)
{
	struct perf_event_attr attr = sampling(1000000, PERF_SAMPLE_IP);
	struct runner runner;
	struct ring ring;
	int fd;

	runner_start(&runner);
	attr.remove_on_exec = 1;
	attr.disabled = 0;
	fd = follow(&runner, attr, -1);
	must_map(&ring, fd, 8);
	say_poll("before", fd);
	runner_go(&runner);
	say_poll("after", fd);
	say("samples=%u", tally_number(&ring, PERF_RECORD_SAMPLE));
	say("value=%s", read_value(fd) < 1000000 ? "less" : "all");
	say_result("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
}

static void program_in_child(void *data)
{
	(void)data;
	run_child(become_program, NULL);
}

static void remove_inherited(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.remove_on_exec = 1;
	attr.inherit = 1;
	attr.disabled = 0;
	fd = open_self(&attr);
	run_child(program_in_child, NULL);
	say("value=%s", read_value(fd) < 20000004 ? "without-program" : "with-program");
	say_poll("poll", fd);
}

static void inherited_by_exec(void)
{
	struct perf_event_attr attr = instructions();
	int fd;

	attr.inherit = 1;
	attr.enable_on_exec = 1;
	fd = open_self(&attr);
	run_child(become_program, NULL);
	say("value=%llu", (unsigned long long)read_value(fd));
}

static const struct simple_case simple[] = {
	{ "enable", enable_on_exec },
	{ "enable-branches", enable_on_exec_branches },
	{ "enable-group", enable_on_exec_group },
	{ "enable-sibling-alone", sibling_alone },
	{ "without", without },
	{ "survives", survives },
	{ "enabled-and-on-exec", enabled_and_on_exec },
	{ "disabled-again", disabled_again },
	{ "cpu-elsewhere", cpu_elsewhere },
	{ "of-cpu", of_cpu },
	{ "remove", remove_on_exec },
	{ "remove-inherited", remove_inherited },
	{ "inherited", inherited_by_exec },
};

/**
 * theme_exec - exec
 */
void theme_exec(void)
{
	run_simple("exec", simple, ARRAY_SIZE(simple));
}
