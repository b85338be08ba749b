// SPDX-License-Identifier: GPL-2.0
/*
 * The preload library without the module. Its code is in this very program, where
 * it interposes libc's syscall() and prctl() as LD_PRELOAD would, and the
 * sanitizers see it. Tests of the finished library use the one in
 * build/tools/. scripts/check/clients.sh tests successful opens.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define STACK 65536

static char library[PATH_MAX];

/* find_library - beside this program, or beside the one with sanitizers */
static bool find_library(void)
{
	static const char *const places[] = { "../tools", "../../tools" };
	char self[PATH_MAX] = "";
	char *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return false;
	slash = strrchr(self, '/');
	*slash = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int n = snprintf(library, sizeof(library), "%s/%s/libpmuring-preload.so", self,
				 places[i]);

		if (n < (int)sizeof(library) && !access(library, R_OK))
			return true;
	}
	return false;
}

static long open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The sixth argument is the offset: 4096 is a page, 1 is none. */
static void test_six_arguments(void)
{
	int fd = memfd_create("preload", 0);
	char *page;

	if (fd < 0 || ftruncate(fd, 8192) || pwrite(fd, "second", 7, 4096) != 7)
		bail_out("no file to map: %s", strerror(errno));
	page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)fd, 4096L);
	ok(page != MAP_FAILED && !strcmp(page, "second"), "all six arguments are passed");
	if (page != MAP_FAILED)
		munmap(page, 4096);
	gives(syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)fd, 1L),
	      EINVAL, "an error is -1 and errno");
	close(fd);
}

static void test_results(void)
{
	errno = 0;
	is(syscall(SYS_getpid), getpid(), "a result is returned as it is");
	is(errno, 0, "and errno left alone");
	gives(syscall(SYS_close, -1L), EBADF, "an error sets it");
}

static void leave(void)
{
	syscall(SYS_exit_group, 42L);
}

/* The child returns on a stack that has an address to return to, and no more. */
static void test_clone(void)
{
	static uintptr_t stack[STACK / sizeof(uintptr_t)] __attribute__((aligned(16)));
	uintptr_t *top = &stack[ARRAY_SIZE(stack) - 16];
	int status = -1;
	long child;

	*top = (uintptr_t)leave;
	child = syscall(SYS_clone, (long)SIGCHLD, top, NULL, NULL, NULL);
	ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	   WEXITSTATUS(status) == 42, "the child of a clone() returns on its own stack");
}

static void test_prctl(void)
{
	char name[16] = "";

	is(prctl(PR_SET_NAME, "preloaded"), 0, "prctl() passes on");
	is(syscall(SYS_prctl, PR_GET_NAME, name), 0, "syscall(SYS_prctl) passes on");
	ok(!strcmp(name, "preloaded"), "prctl() sets and gets the name");
	gives(prctl(-1), EINVAL, "an option that does not exist");
	is(prctl(PR_TASK_PERF_EVENTS_DISABLE), 0, "perf's option without the node: as the kernel");
	is(syscall(SYS_prctl, PR_TASK_PERF_EVENTS_ENABLE), 0, "by syscall() too");
}

static void test_no_node(void)
{
	int free_fd = dup(0);

	close(free_fd);
	gives(open_event(), ENOENT, "no node: the errno of its open");
	is(dup(0), free_fd, "and no fd is left behind");
	close(free_fd);
}

/* another_node - what a program like this one gets with a certain node */
static void another_node(const char *node, int want)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		setenv("PMURING_DEVICE", node, 1);
		execl("/proc/self/exe", "preload_test", "errno", NULL);
		_exit(255);
	}
	waitpid(child, &status, 0);
	is(WIFEXITED(status) ? WEXITSTATUS(status) : 255, want, "node %s: errno %s", node,
	   strerrorname_np(want));
}

/* output_is - what a shell command prints */
static void output_is(const char *want, const char *what, const char *command, ...)
{
	char line[PATH_MAX * 2], got[PATH_MAX] = "";
	va_list args;
	FILE *pipe;
	size_t n;

	va_start(args, command);
	vsnprintf(line, sizeof(line), command, args);
	va_end(args);
	pipe = popen(line, "r");
	n = pipe ? fread(got, 1, sizeof(got) - 1, pipe) : 0;
	got[n] = 0;
	if (pipe)
		pclose(pipe);
	if (!ok(!strcmp(got, want), "%s", what))
		diag("got '%s', want '%s'", got, want);
}

static void test_library(void)
{
	if (!find_library()) {
		ok(false, "build/tools/libpmuring-preload.so exists");
		return;
	}
	ok(true, "build/tools/libpmuring-preload.so exists");
	output_is("prctl\nsyscall\n", "it exports two functions and nothing else",
		  "nm -D --defined-only '%s' | awk '{ print $3 }' | sort", library);
	output_is("harmless\n", "a workload does not notice it",
		  "PMURING_VERBOSE=1 LD_PRELOAD='%s' sh -c 'echo harmless' 2>&1", library);
}

static void test_verbose(void)
{
	output_is("1\n", "PMURING_VERBOSE: one line for two failed opens",
		  "PMURING_VERBOSE=1 PMURING_DEVICE=/nonexistent /proc/%d/exe errno 2>&1 | grep -c 'pmuring: cannot open /nonexistent: the module is not loaded'",
		  getpid());
	output_is("", "and without it none", "PMURING_DEVICE=/nonexistent /proc/%d/exe errno 2>&1",
		  getpid());
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "errno")) {
		open_event();
		return open_event() < 0 ? errno : 0;
	}
	if (!getenv("PMURING_DEVICE")) {
		/* this machine may have the module */
		setenv("PMURING_DEVICE", "/nonexistent/pmuring", 1);
		execv("/proc/self/exe", argv);
	}
	plan(22);
	test_six_arguments();
	test_results();
	test_clone();
	test_prctl();
	test_no_node();
	another_node("/dev/null", ENOTTY);
	another_node("/", EISDIR);
	another_node("/nonexistent/pmuring", ENOENT);
	test_library();
	test_verbose();
	return done();
}
