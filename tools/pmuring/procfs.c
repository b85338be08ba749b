// SPDX-License-Identifier: GPL-2.0
/*
 * What /proc tells about code. The line parsers are pure; the others read
 * files. Called while recording, from one thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "procfs.h"

/**
 * maps_line_parse - one line of /proc/PID/maps
 * @line: without the newline
 * @map: filled in; the name points into @line
 *
 * Return: true if it maps code
 */
bool maps_line_parse(char *line, struct mapping *map)
{
	char perm[5];
	int name = 0;

	memset(map, 0, sizeof(*map));
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &map->start, &map->end, perm, &map->pgoff, &map->maj, &map->min,
		   &map->ino, &name) != 7 || strlen(perm) != 4)
		return false;
	map->prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) |
		    (perm[2] == 'x' ? PROT_EXEC : 0);
	map->flags = perm[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	/* perf's word for memory without a file */
	map->name = line[name] ? line + name : "//anon";
	return map->prot & PROT_EXEC && map->end > map->start;
}

/**
 * modules_line_parse - one line of /proc/modules
 * @line: "name size refcount users state address"
 * @map: filled in
 * @name: room for the name, which is "[name]"
 *
 * Return: false for a line without an address
 */
bool modules_line_parse(const char *line, struct mapping *map, char name[64])
{
	char module[56];
	uint64_t size;

	memset(map, 0, sizeof(*map));
	if (sscanf(line, "%55s %" SCNu64 " %*s %*s %*s %" SCNx64, module, &size,
		   &map->start) != 3 || !map->start)
		return false;
	snprintf(name, 64, "[%s]", module);
	map->end = map->start + size;
	map->name = name;
	return true;
}

/**
 * procfs_comm - a thread's name
 * @pid: its process
 * @tid: the thread
 * @comm: filled in
 *
 * Return: false if it has gone
 */
bool procfs_comm(pid_t pid, pid_t tid, char comm[16])
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	text = read_file(path, NULL);
	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(comm, 16, "%s", text);
	free(text);
	return true;
}

/* the address in a line of /proc/kallsyms if it is that of @name, else 0 */
static uint64_t address_of(const char *line, const char *name)
{
	const char *at = strchr(line, ' ');

	if (!at || !at[1] || at[2] != ' ' || strcmp(at + 3, name))
		return 0;
	return strtoull(line, NULL, 16);
}

/* stops where the kernel's text does: the rest of the file is the larger part */
static void find_text(FILE *kallsyms, struct mapping *map)
{
	char *line = NULL;
	size_t room = 0;

	while (!map->end && getline(&line, &room, kallsyms) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!map->start)
			map->start = address_of(line, "_stext");
		map->end = address_of(line, "_etext");
	}
	free(line);
}

static int kernel_text(struct record_sink *sink)
{
	struct mapping map = { 0 };
	FILE *kallsyms = fopen("/proc/kallsyms", "re");

	if (!kallsyms)
		return warn("no /proc/kallsyms (CONFIG_KALLSYMS): kernel functions will have no names"), -1;
	find_text(kallsyms, &map);
	fclose(kallsyms);
	if (!map.start || map.end <= map.start)
		return warn("/proc/kallsyms hides its addresses: kernel functions will have no names; run as root, or sysctl kernel.kptr_restrict=0"), -1;
	/* perf finds the kernel's load address by this symbol and offset */
	map.pgoff = map.start;
	map.name = "[kernel.kallsyms]_stext";
	put_kernel_mmap(sink, &map);
	return 0;
}

/**
 * procfs_kernel - records for the kernel and its modules
 * @sink: where to
 *
 * Return: 0, or -1 after a warning: kernel functions will have no names
 */
int procfs_kernel(struct record_sink *sink)
{
	struct mapping map;
	char name[64], *modules, *save, *line;

	if (kernel_text(sink))
		return -1;
	modules = read_file("/proc/modules", NULL);
	if (!modules)
		return 0;
	for (line = strtok_r(modules, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (modules_line_parse(line, &map, name))
			put_kernel_mmap(sink, &map);
	free(modules);
	return 0;
}
