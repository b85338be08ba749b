// SPDX-License-Identifier: GPL-2.0
/*
 * Explanations of door.c for an errno with several causes. The module is not loaded, so
 * the parameters have their defaults.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "door.h"
#include "tap.h"

static struct perf_event_attr event(bool user_only)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(struct perf_event_attr),
		.exclude_kernel = user_only,
	};
}

static void names(int err, const struct perf_event_attr *attr, pid_t pid, const char *cause)
{
	const char *text = door_explain_event(err, attr, pid, pid == -1 ? 0 : -1);

	ok(strstr(text, cause), "%s: %s", strerror(err), cause);
}

/* at the limit of open files */
static void without_files(const struct perf_event_attr *attr)
{
	struct rlimit was, none;

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	names(EMFILE, attr, 0, "ulimit -n");
	setrlimit(RLIMIT_NOFILE, &was);
}

int main(void)
{
	struct perf_event_attr user = event(true), kernel = event(false), unknown = event(true);

	plan(7);
	names(EACCES, &user, -1, "whole CPUs");
	names(EACCES, &kernel, 1, "watching the kernel");
	names(EACCES, &user, 1, "another user");
	names(E2BIG, &user, 0, "group");
	/* as PMURING_IOC_OPEN leaves it if the known size is smaller */
	unknown.size = PERF_ATTR_SIZE_VER0;
	names(E2BIG, &unknown, 0, "older");
	names(EMFILE, &user, 0, "max_events");
	without_files(&user);
	return done();
}
