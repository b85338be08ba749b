// SPDX-License-Identifier: GPL-2.0
/*
 * The tasks that the samples come from. A sample of an unknown thread, or at an
 * address where its process had no code so far, makes us read /proc again; what
 * is new goes into the file with the time just before that sample. A process
 * that lived for less than one pass over the rings stays without a name.
 * Called while recording, from one thread.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_id.h"
#include "procfs.h"
#include "tasks.h"

/**
 * struct dso - a file that code was mapped from
 * @hit: a sample was in it
 */
struct dso {
	struct dso *next;
	bool hit;
	char name[];
};

struct range {
	uint64_t start;
	uint64_t end;
	uint64_t pgoff;
	struct dso *dso;
};

/**
 * struct process - an address space
 * @ranges: its code, sorted, as of the last scan
 * @scanned: the pass in which it was read last
 */
struct process {
	struct process *next;
	pid_t pid;
	struct range *ranges;
	size_t nr;
	unsigned int scanned;
};

struct task {
	struct task *next;
	pid_t tid;
	pid_t pid;
	char comm[16];
};

static struct process *get_process(struct tasks *tasks, pid_t pid)
{
	struct process **bucket = &tasks->processes[(unsigned int)pid % TASKS_BUCKETS];
	struct process *process;

	for (process = *bucket; process; process = process->next)
		if (process->pid == pid)
			return process;
	process = xalloc(sizeof(*process));
	process->pid = pid;
	process->next = *bucket;
	*bucket = process;
	return process;
}

static struct task *find_task(struct tasks *tasks, pid_t tid)
{
	struct task *task = tasks->threads[(unsigned int)tid % TASKS_BUCKETS];

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

static struct task *add_task(struct tasks *tasks, pid_t tid)
{
	struct task **bucket = &tasks->threads[(unsigned int)tid % TASKS_BUCKETS];
	struct task *task = xalloc(sizeof(*task));

	task->tid = tid;
	task->next = *bucket;
	*bucket = task;
	return task;
}

static struct dso *get_dso(struct tasks *tasks, const char *name)
{
	struct dso **bucket, *dso;
	unsigned int hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	bucket = &tasks->dsos[hash % TASKS_BUCKETS];
	for (dso = *bucket; dso; dso = dso->next)
		if (!strcmp(dso->name, name))
			return dso;
	dso = xalloc(sizeof(*dso) + strlen(name) + 1);
	strcpy(dso->name, name);
	dso->next = *bucket;
	*bucket = dso;
	return dso;
}

static struct range *find_range(const struct process *process, uint64_t ip)
{
	size_t low = 0, high = process->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		struct range *range = &process->ranges[mid];

		if (ip >= range->start && ip < range->end)
			return range;
		if (ip < range->start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static bool is_known(const struct process *process, const struct range *range)
{
	const struct range *old = find_range(process, range->start);

	return old && !memcmp(old, range, sizeof(*range));
}

/* takes over the ranges of @text and writes records for those that are new */
static void scan_maps(struct tasks *tasks, struct process *process, char *text,
		      const struct sample *when)
{
	struct range *ranges = NULL;
	struct mapping map;
	char *save, *line;
	size_t nr = 0;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct range *range;

		if (!maps_line_parse(line, &map))
			continue;
		ranges = xrealloc_array(ranges, nr + 1, sizeof(*ranges));
		range = &ranges[nr++];
		*range = (struct range){ map.start, map.end, map.pgoff, get_dso(tasks, map.name) };
		if (!is_known(process, range))
			put_mmap2(tasks->sink, when, &map);
	}
	free(process->ranges);
	process->ranges = ranges;
	process->nr = nr;
}

static void scan_thread(struct tasks *tasks, pid_t pid, pid_t tid, uint64_t time)
{
	struct sample when = { .pid = pid, .tid = tid, .time = time };
	struct task *task = find_task(tasks, tid);
	char comm[16];

	if (!procfs_comm(pid, tid, comm))
		return;
	if (!task)
		task = add_task(tasks, tid);
	else if (task->pid == pid && !strcmp(task->comm, comm))
		return;
	task->pid = pid;
	strcpy(task->comm, comm);
	put_comm(tasks->sink, &when, comm);
}

static void scan_threads(struct tasks *tasks, pid_t pid, uint64_t time)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			scan_thread(tasks, pid, atoi(entry->d_name), time);
	closedir(dir);
}

/**
 * tasks_scan - read names and mappings of a process
 * @tasks: the table
 * @pid: the process
 * @time: from which on they hold
 */
void tasks_scan(struct tasks *tasks, pid_t pid, uint64_t time)
{
	struct sample when = { .pid = pid, .tid = pid, .time = time };
	struct process *process = get_process(tasks, pid);
	char path[64], *text;

	process->scanned = tasks->pass;
	scan_threads(tasks, pid, time);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	text = read_file(path, NULL);
	/* what is about to end shows nothing: its old mappings still hold */
	if (text && *text)
		scan_maps(tasks, process, text, &when);
	free(text);
}

/**
 * tasks_see - make sure that a sample can be named
 * @tasks: the table
 * @rec: the sample's record
 * @sample: its fields
 */
void tasks_see(struct tasks *tasks, const struct perf_event_header *rec,
	       const struct sample *sample)
{
	bool user = sample_mode(rec) == PERF_RECORD_MISC_USER;
	struct process *process = get_process(tasks, sample->pid);
	struct range *range = user ? find_range(process, sample->ip) : NULL;
	uint64_t time = sample->time ? sample->time - 1 : 0;

	if ((!find_task(tasks, sample->tid) || (user && !range)) &&
	    process->scanned != tasks->pass) {
		tasks_scan(tasks, sample->pid, time);
		range = user ? find_range(process, sample->ip) : NULL;
	}
	if (range)
		range->dso->hit = true;
	else if (!find_task(tasks, sample->tid))
		tasks->unknown++;
}

/** tasks_scan_all - read every process that there is, from the start of time */
void tasks_scan_all(struct tasks *tasks)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			tasks_scan(tasks, atoi(entry->d_name), 0);
	if (dir)
		closedir(dir);
}

/**
 * tasks_build_ids - the build IDs of all files that samples were in
 * @tasks: the table
 * @out: struct record_build_id, one after the other
 */
void tasks_build_ids(const struct tasks *tasks, struct buf *out)
{
	build_id_add_kernel(out);
	for (size_t i = 0; i < TASKS_BUCKETS; i++)
		for (struct dso *dso = tasks->dsos[i]; dso; dso = dso->next)
			if (dso->hit && dso->name[0] == '/')
				build_id_add_file(out, dso->name);
}

/**
 * tasks_init - an empty table
 * @tasks: filled in
 * @sink: where the records go
 */
void tasks_init(struct tasks *tasks, struct record_sink *sink)
{
	memset(tasks, 0, sizeof(*tasks));
	tasks->sink = sink;
	tasks->pass = 1;
	/* the idle tasks of all CPUs, which /proc does not show */
	add_task(tasks, 0);
}

/** tasks_free - forget everything */
void tasks_free(struct tasks *tasks)
{
	for (size_t i = 0; i < TASKS_BUCKETS; i++) {
		for (struct task *task = tasks->threads[i], *next; task; task = next) {
			next = task->next;
			free(task);
		}
		for (struct process *process = tasks->processes[i], *next; process;
		     process = next) {
			next = process->next;
			free(process->ranges);
			free(process);
		}
		for (struct dso *dso = tasks->dsos[i], *next; dso; dso = next) {
			next = dso->next;
			free(dso);
		}
	}
}
