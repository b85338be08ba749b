// SPDX-License-Identifier: GPL-2.0
/*
 * The machine that was recorded, from COMM, FORK, MMAP and MMAP2 records.
 * Called by report for each record in the order of time. Records come from a
 * file, so each is checked for the size that its type needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"
#include "util.h"

#define MISC_COMM_EXEC	(1 << 13)
#define MISC_MMAP_DATA	(1 << 13)

/** struct thread - @comm has room for what a file may say, not only 16 bytes */
struct thread {
	struct thread *next;
	uint32_t tid;
	char comm[64];
};

struct space {
	struct space *next;
	uint32_t pid;
	struct code_map *maps;
	size_t nr;
};

static struct thread *get_thread(struct machine *machine, uint32_t tid)
{
	struct thread **bucket = &machine->threads[tid % MACHINE_BUCKETS];
	struct thread *thread;

	for (thread = *bucket; thread; thread = thread->next)
		if (thread->tid == tid)
			return thread;
	thread = xalloc(sizeof(*thread));
	thread->tid = tid;
	/* perf's word for a thread that nothing named */
	snprintf(thread->comm, sizeof(thread->comm), tid ? ":%u" : "swapper", tid);
	thread->next = *bucket;
	*bucket = thread;
	return thread;
}

static struct space *get_space(struct machine *machine, uint32_t pid)
{
	struct space **bucket = &machine->spaces[pid % MACHINE_BUCKETS];
	struct space *space;

	for (space = *bucket; space; space = space->next)
		if (space->pid == pid)
			return space;
	space = xalloc(sizeof(*space));
	space->pid = pid;
	space->next = *bucket;
	*bucket = space;
	return space;
}

static void free_maps(struct code_map *maps, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(maps[i].name);
	free(maps);
}

static void add_map(struct code_map **maps, size_t *nr, const struct code_map *map)
{
	/* grows in powers of two */
	if (!(*nr & (*nr - 1)))
		*maps = xrealloc_array(*maps, *nr ? *nr * 2 : 1, sizeof(**maps));
	(*maps)[(*nr)++] = *map;
}

/* the string at @at, which may lack its end inside the record */
static char *string_at(const struct perf_event_header *header, size_t at)
{
	size_t room = header->size - at;
	const char *s = (const char *)header + at;

	return xasprintf("%.*s", (int)strnlen(s, room), s);
}

static void see_comm(struct machine *machine, const struct perf_event_header *header)
{
	const struct record_comm *rec = (const void *)header;
	struct thread *thread;
	char *name;

	if (header->size < sizeof(*rec))
		return;
	name = string_at(header, sizeof(*rec));
	thread = get_thread(machine, rec->tid);
	snprintf(thread->comm, sizeof(thread->comm), "%s", name);
	free(name);
	if (header->misc & MISC_COMM_EXEC) {
		struct space *space = get_space(machine, rec->pid);

		free_maps(space->maps, space->nr);
		space->maps = NULL;
		space->nr = 0;
	}
}

static void see_fork(struct machine *machine, const struct perf_event_header *header)
{
	const struct record_fork *rec = (const void *)header;
	struct space *parent, *child;

	if (header->size < sizeof(*rec))
		return;
	memcpy(get_thread(machine, rec->tid)->comm, get_thread(machine, rec->ptid)->comm,
	       sizeof(((struct thread *)NULL)->comm));
	if (rec->pid == rec->ppid)
		return;
	child = get_space(machine, rec->pid);
	parent = get_space(machine, rec->ppid);
	free_maps(child->maps, child->nr);
	child->maps = NULL;
	child->nr = 0;
	for (size_t i = 0; i < parent->nr; i++) {
		struct code_map map = parent->maps[i];

		map.name = xstrdup(map.name);
		add_map(&child->maps, &child->nr, &map);
	}
}

static void see_mmap(struct machine *machine, const struct perf_event_header *header,
		     size_t fixed)
{
	const struct record_mmap *rec = (const void *)header;
	struct space *space;
	struct code_map map;

	if (header->size < fixed || rec->len > UINT64_MAX - rec->addr)
		return;
	map = (struct code_map){
		.start = rec->addr,
		.end = rec->addr + rec->len,
		.pgoff = rec->pgoff,
		.name = string_at(header, fixed),
	};
	if ((header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		add_map(&machine->kernel, &machine->nr_kernel, &map);
		return;
	}
	space = get_space(machine, rec->pid);
	add_map(&space->maps, &space->nr, &map);
}

/**
 * machine_see - take note of a record
 * @machine: zeroed before the first
 * @rec: any record
 */
void machine_see(struct machine *machine, const struct record *rec)
{
	switch (rec->header->type) {
	case PERF_RECORD_COMM:
		see_comm(machine, rec->header);
		break;
	case PERF_RECORD_FORK:
		see_fork(machine, rec->header);
		break;
	case PERF_RECORD_MMAP:
		if (!(rec->header->misc & MISC_MMAP_DATA))
			see_mmap(machine, rec->header, sizeof(struct record_mmap));
		break;
	case PERF_RECORD_MMAP2:
		if (!(rec->header->misc & MISC_MMAP_DATA))
			see_mmap(machine, rec->header, sizeof(struct record_mmap2));
		break;
	}
}

/**
 * machine_comm - the name of the thread that a sample is from
 * @machine: as of now
 * @sample: of the thread
 *
 * Return: its name, that of its process if it has none, or ":tid"
 */
const char *machine_comm(struct machine *machine, const struct sample *sample)
{
	const struct thread *thread = get_thread(machine, sample->tid);

	if (thread->comm[0] == ':' && sample->pid != sample->tid)
		thread = get_thread(machine, sample->pid);
	return thread->comm;
}

/* the newest mapping hides older ones */
static const struct code_map *find(const struct code_map *maps, size_t nr, uint64_t addr)
{
	while (nr--)
		if (addr >= maps[nr].start && addr < maps[nr].end)
			return &maps[nr];
	return NULL;
}

/** machine_map - the mapping of a process at an address, or NULL */
const struct code_map *machine_map(struct machine *machine, uint32_t pid, uint64_t addr)
{
	const struct space *space = get_space(machine, pid);

	return find(space->maps, space->nr, addr);
}

/** machine_kernel_map - the kernel's or a module's mapping at an address, or NULL */
const struct code_map *machine_kernel_map(const struct machine *machine, uint64_t addr)
{
	return find(machine->kernel, machine->nr_kernel, addr);
}

/** machine_free - forget everything */
void machine_free(struct machine *machine)
{
	for (size_t i = 0; i < MACHINE_BUCKETS; i++) {
		for (struct thread *thread = machine->threads[i], *next; thread; thread = next) {
			next = thread->next;
			free(thread);
		}
		for (struct space *space = machine->spaces[i], *next; space; space = next) {
			next = space->next;
			free_maps(space->maps, space->nr);
			free(space);
		}
	}
	free_maps(machine->kernel, machine->nr_kernel);
}
