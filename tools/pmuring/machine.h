/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine that was recorded: threads with their names, address spaces with
 * their mappings, built up record by record.
 */
#ifndef PMURING_TOOL_MACHINE_H
#define PMURING_TOOL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata_read.h"

struct thread;
struct space;

#define MACHINE_BUCKETS	1024

/**
 * struct code_map - where a piece of a file was mapped
 * @start: first address
 * @end: behind the last
 * @pgoff: offset in the file
 * @name: the file; owned by the machine
 */
struct code_map {
	uint64_t start;
	uint64_t end;
	uint64_t pgoff;
	char *name;
};

/**
 * struct machine - as of the record that was seen last
 * @threads: hash table by tid
 * @spaces: hash table by pid
 * @kernel: mappings of the kernel and its modules
 * @nr_kernel: how many
 */
struct machine {
	struct thread *threads[MACHINE_BUCKETS];
	struct space *spaces[MACHINE_BUCKETS];
	struct code_map *kernel;
	size_t nr_kernel;
};

void machine_see(struct machine *machine, const struct record *rec);
const char *machine_comm(struct machine *machine, const struct sample *sample);
const struct code_map *machine_map(struct machine *machine, uint32_t pid, uint64_t addr);
const struct code_map *machine_kernel_map(const struct machine *machine, uint64_t addr);
void machine_free(struct machine *machine);

#endif
