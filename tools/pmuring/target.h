/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to watch: the options -a -C -p -t -i and the command, which record and
 * stat share, and the list of (task, CPU) pairs that they come to.
 */
#ifndef PMURING_TOOL_TARGET_H
#define PMURING_TOOL_TARGET_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct target - what the command line says
 * @all_cpus: -a
 * @cpus: -C, or NULL
 * @pids: -p, or NULL
 * @tids: -t, or NULL
 * @no_inherit: -i: leave out what the tasks will start
 * @argv: the command, or NULL
 */
struct target {
	bool all_cpus;
	const char *cpus;
	const char *pids;
	const char *tids;
	bool no_inherit;
	char **argv;
};

/**
 * struct target_slot - one pair to open each event on
 * @pid: thread, or -1 for all tasks of @cpu
 * @cpu: CPU, or -1 for wherever the thread runs
 */
struct target_slot {
	pid_t pid;
	int cpu;
};

/**
 * struct target_slots - all pairs of one run
 * @slots: the pairs
 * @nr: how many
 */
struct target_slots {
	struct target_slot *slots;
	size_t nr;
};

extern const struct argp_child target_children[];

int target_check(struct target *target);
bool target_is_cpus(const struct target *target);
bool target_is_running(const struct target *target);
bool target_inherits(const struct target *target);
int target_resolve(const struct target *target, pid_t command, bool per_cpu,
		   struct target_slots *slots);

int cpu_list_parse(const char *list, int **cpus, size_t *nr);

#endif
