// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that exist before a recording begins: names and mappings from
 * /proc, written as records that hold from the start of time. What comes later,
 * the kernel's own records tell. Called by record.c, one thread.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"
#include "scan.h"

static void scan_thread(struct record_sink *sink, pid_t pid, pid_t tid)
{
	struct sample when = { .pid = pid, .tid = tid };
	char comm[16];

	if (procfs_comm(pid, tid, comm))
		put_comm(sink, &when, comm);
}

static void scan_maps(struct record_sink *sink, pid_t pid)
{
	struct sample when = { .pid = pid, .tid = pid };
	char path[64], *text, *save, *line;
	struct mapping map;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	text = read_file(path, NULL);
	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (maps_line_parse(line, &map))
			put_mmap2(sink, &when, &map);
	free(text);
}

static void scan_process(struct record_sink *sink, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			scan_thread(sink, pid, atoi(entry->d_name));
	if (dir)
		closedir(dir);
	scan_maps(sink, pid);
}

/**
 * scan_thread_group - the process that a thread is of
 * @sink: where the records go
 * @tid: any of its threads
 */
void scan_thread_group(struct record_sink *sink, pid_t tid)
{
	char path[64], *text, *line;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = read_file(path, NULL);
	line = text ? strstr(text, "\nTgid:\t") : NULL;
	if (line)
		scan_process(sink, atoi(line + 7));
	free(text);
}

/**
 * scan_all - every process that there is
 * @sink: where the records go
 */
void scan_all(struct record_sink *sink)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			scan_process(sink, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}
