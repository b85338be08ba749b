// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that exist before sampling begins: names and mappings from /proc,
 * written as records. The kernel's own records arrive before the scan begins, so
 * they tell what changes during and after it. Called by record.c, one thread.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"
#include "scan.h"

/* no kernel has larger thread IDs */
#define TID_MAX		(1 << 22)
/* a directory of /proc may lack an entry when another one vanishes meanwhile */
#define PASSES_MAX	8

/**
 * struct scan - one scan
 * @sink: where the records go
 * @seen: a bit for each thread that has its record
 * @nr_seen: how many
 */
struct scan {
	struct record_sink *sink;
	unsigned char *seen;
	size_t nr_seen;
};

static struct scan scan_begin(struct record_sink *sink)
{
	return (struct scan){ .sink = sink, .seen = xalloc(TID_MAX / 8) };
}

/* Return: whether it was not seen before */
static bool see(struct scan *scan, pid_t tid)
{
	if (tid <= 0 || tid >= TID_MAX || scan->seen[tid / 8] & 1 << tid % 8)
		return false;
	scan->seen[tid / 8] |= 1 << tid % 8;
	scan->nr_seen++;
	return true;
}

static bool is_seen(const struct scan *scan, pid_t tid)
{
	return tid > 0 && tid < TID_MAX && scan->seen[tid / 8] & 1 << tid % 8;
}

static void put_thread(struct record_sink *sink, const struct sample *when)
{
	char comm[16];

	if (procfs_comm(when->pid, when->tid, comm))
		put_comm(sink, when, comm);
}

static void put_maps(struct record_sink *sink, const struct sample *when)
{
	char path[64], *text, *save, *line;
	struct mapping map;

	snprintf(path, sizeof(path), "/proc/%u/maps", when->pid);
	text = read_file(path, NULL);
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (maps_line_parse(line, &map))
			put_mmap2(sink, when, &map);
	free(text);
}

static void scan_tasks(struct scan *scan, pid_t pid)
{
	struct sample when = { .pid = pid };
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		when.tid = atoi(entry->d_name);
		if (see(scan, when.tid))
			put_thread(scan->sink, &when);
	}
	if (dir)
		closedir(dir);
}

static void scan_process(struct scan *scan, pid_t pid)
{
	struct sample when = { .pid = pid, .tid = pid };
	size_t before;
	int pass = 0;

	do {
		before = scan->nr_seen;
		scan_tasks(scan, pid);
	} while (scan->nr_seen != before && ++pass < PASSES_MAX);
	put_maps(scan->sink, &when);
}

/* Return: the process of a thread, 0 if it has gone */
static pid_t process_of(pid_t tid)
{
	char path[64], *text, *line;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = read_file(path, NULL);
	line = text ? strstr(text, "\nTgid:\t") : NULL;
	pid = line ? atoi(line + 7) : 0;
	free(text);
	return pid;
}

/**
 * scan_thread_groups - the processes that threads are of
 * @sink: where the records go
 * @tids: the threads
 * @nr: how many
 */
void scan_thread_groups(struct record_sink *sink, const pid_t *tids, size_t nr)
{
	struct scan scan = scan_begin(sink);

	for (size_t i = 0; i < nr; i++)
		if (!is_seen(&scan, tids[i]))
			scan_process(&scan, process_of(tids[i]));
	free(scan.seen);
}

static void scan_processes(struct scan *scan)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    !is_seen(scan, atoi(entry->d_name)))
			scan_process(scan, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

/**
 * scan_all - every process that there is
 * @sink: where the records go
 */
void scan_all(struct record_sink *sink)
{
	struct scan scan = scan_begin(sink);
	size_t before;
	int pass = 0;

	do {
		before = scan.nr_seen;
		scan_processes(&scan);
	} while (scan.nr_seen != before && ++pass < PASSES_MAX);
	free(scan.seen);
}

/**
 * scan_newborn - a task that began before the scan came to its parent
 * @sink: where the records go, behind its FORK record
 * @newborn: the task
 *
 * The FORK record gives it what the scan found out about its parent, which may have
 * changed its name or mappings between the fork and the scan.
 */
void scan_newborn(struct record_sink *sink, const struct newborn *newborn)
{
	const struct sample when = {
		.pid = newborn->pid,
		.tid = newborn->tid,
		.time = newborn->time,
	};

	put_thread(sink, &when);
	if (when.pid == when.tid)
		put_maps(sink, &when);
}
