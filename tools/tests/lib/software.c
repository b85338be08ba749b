// SPDX-License-Identifier: GPL-2.0
/*
 * Software events of pmuring and of the kernel's perf. Called by the tests.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"
#include "perf_syscall.h"
#include "software.h"
#include "tap.h"

/**
 * software - a software event in user and kernel mode, not yet enabled
 * @config: PERF_COUNT_SW_*
 *
 * Return: its attributes
 */
struct perf_event_attr software(uint64_t config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
	};
}

/**
 * both_open - open an event with pmuring and with perf; both must open
 * @attr: attributes of both
 * @pid: task to count
 * @cpu: CPU to count on
 *
 * Return: their descriptors
 */
struct both both_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct both both = {
		.ours = open_event(attr, pid, cpu),
		.perf = perf_open(attr, pid, cpu),
	};

	if (both.perf < 0)
		bail_out("perf opens no event %#llx", (unsigned long long)attr->config);
	return both;
}

/**
 * both_switch - ENABLE, DISABLE or RESET of both
 * @both: the events
 * @request: PERF_EVENT_IOC_*
 */
void both_switch(const struct both *both, unsigned long request)
{
	switch_event(both->ours, request);
	switch_event(both->perf, request);
}

/**
 * both_are - check what both have counted; two checks
 * @both: the events
 * @want: the right number
 * @what: what was counted
 */
void both_are(const struct both *both, uint64_t want, const char *what)
{
	is(read_value(both->ours), want, "%s", what);
	is(read_value(both->perf), want, "%s, by perf", what);
}

/**
 * both_agree - check that both have counted the same
 * @both: the events
 * @what: what was counted
 */
void both_agree(const struct both *both, const char *what)
{
	is(read_value(both->ours), read_value(both->perf), "%s: the same count as perf", what);
}

/**
 * both_close - close both
 * @both: the events
 */
void both_close(const struct both *both)
{
	close(both->ours);
	close(both->perf);
}

/**
 * whole_file - what is in a file of several lines
 * @path: its name
 * @text: filled in
 * @size: bytes of @text; what does not fit is left out
 *
 * Return: whether it could be read
 */
bool whole_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, text + length, size - 1 - length)) > 0)
		length += got;
	close(fd);
	text[length] = '\0';
	return !got;
}

/**
 * untouched_pages - memory each page of which is one page fault away
 * @number: of pages; for munmap()
 *
 * Return: its beginning
 */
char *untouched_pages(size_t number)
{
	size_t size = number * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		bail_out("no memory");
	/* none comes as part of a larger one */
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}
