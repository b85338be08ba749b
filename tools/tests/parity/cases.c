// SPDX-License-Identifier: GPL-2.0
/*
 * Runs each case in a child and prints its line. The child writes its words to shared
 * memory, so that a case that crashes or hangs still has a line with all words up to
 * that point. One case at a time.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

/* far longer than any case takes; a slower case counts as hung */
#define CASE_SECONDS	20

struct line {
	size_t used;
	char text[4000];
};

static struct line *line;
static char **chosen;

/**
 * choose_cases - run these cases only
 * @prefixes: of their names, NULL at the end; none at all means every case
 */
void choose_cases(char **prefixes)
{
	chosen = prefixes;
}

static bool is_chosen(const char *name)
{
	char **prefix = chosen;

	if (!prefix || !*prefix)
		return true;
	for (; *prefix; prefix++)
		if (!strncmp(name, *prefix, strlen(*prefix)))
			return true;
	return false;
}

/**
 * say - add a word to the line of the case
 * @format: as for printf
 */
void say(const char *format, ...)
{
	size_t room = sizeof(line->text) - line->used;
	va_list args;
	int len;

	if (line->used && room > 1) {
		line->text[line->used++] = ' ';
		room--;
	}
	va_start(args, format);
	len = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	line->used += (size_t)len < room ? (size_t)len : room - 1;
}

/**
 * error_name - name of a system call's result
 * @result: what it returned; errno is as it left it
 *
 * Return: "ok", or the name of the errno
 */
const char *error_name(long result)
{
	const char *name;

	if (result >= 0)
		return "ok";
	name = strerrorname_np(errno);
	return name ? name : "unknown";
}

/**
 * say_result - add a system call's result
 * @what: which one
 * @result: what it returned; errno is as it left it
 */
void say_result(const char *what, long result)
{
	say("%s=%s", what, error_name(result));
}

/**
 * give_up - end the case because a precondition fails
 * @why: as for printf
 */
void give_up(const char *why, ...)
{
	char text[200];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	say("stopped: %s", text);
	_exit(0);
}

static void run_in_child(case_fn fn, const void *arg)
{
	setpgid(0, 0);
	alarm(CASE_SECONDS);
	fn(arg);
	_exit(0);
}

/* Kill its children too; they are reparented to this process. */
static void clean_up(pid_t group)
{
	kill(-group, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void print_line(const char *name, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		say("HANGS");
	else if (WIFSIGNALED(status))
		say("DIES: SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		say("EXITS: %d", WEXITSTATUS(status));
	printf("%s\t%s\n", name, line->text);
	fflush(stdout);
}

/**
 * run_case - run one case and print its line
 * @theme: first part of its name
 * @name: second part of its name
 * @fn: what it does, in a child of ours
 * @arg: for @fn
 */
void run_case(const char *theme, const char *name, case_fn fn, const void *arg)
{
	char whole[120];
	int status;
	pid_t pid;

	snprintf(whole, sizeof(whole), "%s.%s", theme, name);
	if (!is_chosen(whole))
		return;
	if (!line)
		line = mmap(NULL, sizeof(*line), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	line->used = 0;
	line->text[0] = '\0';
	pid = fork();
	if (pid < 0) {
		perror("parity: fork");
		exit(1);
	}
	if (!pid)
		run_in_child(fn, arg);
	waitpid(pid, &status, 0);
	clean_up(pid);
	print_line(whole, status);
}

static void run_without_argument(const void *arg)
{
	const struct simple_case *simple = arg;

	simple->run();
}

/**
 * run_simple - run cases that need no argument
 * @theme: first part of their names
 * @cases: the cases
 * @number: how many
 */
void run_simple(const char *theme, const struct simple_case *cases, size_t number)
{
	for (size_t i = 0; i < number; i++)
		run_case(theme, cases[i].name, run_without_argument, &cases[i]);
}
