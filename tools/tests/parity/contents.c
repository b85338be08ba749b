// SPDX-License-Identifier: GPL-2.0
/*
 * Contents of the records other than samples.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

static struct perf_event_attr dummy(void)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);

	attr.disabled = 0;
	return attr;
}

/* Parent and child ids in FORK and EXIT. */
struct family {
	pid_t child;
};

static const char *who(const struct family *family, uint32_t id)
{
	return id == (uint32_t)family->child ? "child" : id == (uint32_t)getpid() ? "me" :
	       id == (uint32_t)getppid() ? "parent" : "other";
}

static void check_family(const struct perf_event_header *rec, void *data)
{
	struct family *family = data;
	uint32_t ids[4];

	memcpy(ids, rec + 1, sizeof(ids));
	if (rec->type != PERF_RECORD_FORK && rec->type != PERF_RECORD_EXIT)
		return;
	say("%s: pid=%s ppid=%s tid=%s ptid=%s", rec->type == PERF_RECORD_FORK ? "fork" : "exit",
	    who(family, ids[0]), who(family, ids[1]), who(family, ids[2]), who(family, ids[3]));
}

static void family_of_fork(void)
{
	struct perf_event_attr attr = dummy();
	struct family family;
	struct tally tally;
	struct ring ring;
	int fd;

	attr.task = 1;
	attr.inherit = 1;
	pin_to(0);
	fd = must_open(&attr, 0, 0, -1);
	must_map(&ring, fd, 8);
	family.child = fork();
	if (!family.child)
		_exit(0);
	waitpid(family.child, NULL, 0);
	drain(&ring, &tally, check_family, &family);
}

static void say_comm(const struct perf_event_header *rec, void *data)
{
	const char *fields = (const char *)(rec + 1);
	uint32_t ids[2];

	(void)data;
	if (rec->type != PERF_RECORD_COMM)
		return;
	memcpy(ids, fields, sizeof(ids));
	say("comm='%s' size=%u pid=%d tid=%d", fields + 8, rec->size, ids[0] == (uint32_t)getpid(),
	    ids[1] == (uint32_t)syscall(SYS_gettid));
}

static void contents_of_comm(void)
{
	struct perf_event_attr attr = dummy();
	struct tally tally;
	struct ring ring;
	int fd;

	attr.comm = 1;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_SET_NAME, "fifteen-letters");
	prctl(PR_SET_NAME, "");
	drain(&ring, &tally, say_comm, NULL);
}

static void say_map(const struct perf_event_header *rec, void *data)
{
	const unsigned char *fields = (const unsigned char *)(rec + 1);
	uint64_t words[4];

	memcpy(words, fields, sizeof(words));
	if (rec->type == PERF_RECORD_MMAP)
		say("mmap: addr=%s len=%llu file='%s'", words[1] == *(uint64_t *)data ? "right" : "wrong",
		    (unsigned long long)words[2], fields + 32);
	if (rec->type == PERF_RECORD_MMAP2)
		say("mmap2: addr=%s len=%llu prot=%u flags=%#x file='%s'",
		    words[1] == *(uint64_t *)data ? "right" : "wrong", (unsigned long long)words[2],
		    *(uint32_t *)(fields + 56), *(uint32_t *)(fields + 60), fields + 64);
}

static void contents_of_mmap(bool mmap2)
{
	struct perf_event_attr attr = dummy();
	struct tally tally;
	struct ring ring;
	uint64_t at;
	int fd;

	attr.mmap = 1;
	attr.mmap2 = mmap2;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	drain(&ring, &tally, NULL, NULL);
	at = (uintptr_t)mmap(NULL, 3 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	drain(&ring, &tally, say_map, &at);
}

static void contents_of_mmap1(void)
{
	contents_of_mmap(false);
}

static void contents_of_mmap2(void)
{
	contents_of_mmap(true);
}

static const struct simple_case simple[] = {
	{ "family", family_of_fork },
	{ "comm", contents_of_comm },
	{ "mmap", contents_of_mmap1 },
	{ "mmap2", contents_of_mmap2 },
};

/**
 * theme_contents - contents of sideband records
 */
void theme_contents(void)
{
	run_simple("contents", simple, ARRAY_SIZE(simple));
}
