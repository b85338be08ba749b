// SPDX-License-Identifier: GPL-2.0
/*
 * What to watch. Called by record and stat: the argp child while they parse
 * their command line, target_resolve() before they open events.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "util.h"

/* more than any kernel is built for; keeps "0-4294967295" from eating memory */
#define CPU_MAX	8192

struct numbers {
	int *values;
	size_t nr;
};

static const struct argp_option target_options[] = {
	{ "all-cpus", 'a', NULL, 0, "Watch every online CPU", 1 },
	{ "cpu", 'C', "LIST", 0, "Watch only these CPUs, e.g. 0-3,5", 1 },
	{ "pid", 'p', "PIDS", 0, "Watch these processes", 1 },
	{ "tid", 't', "TIDS", 0, "Watch these threads", 1 },
	{ "no-inherit", 'i', NULL, 0, "Do not follow children and threads that watched tasks start", 1 },
	{ 0 }
};

static error_t parse_target(int key, char *arg, struct argp_state *state)
{
	struct target *target = state->input;

	switch (key) {
	case 'a':
		target->all_cpus = true;
		return 0;
	case 'C':
		target->cpus = arg;
		return 0;
	case 'p':
		target->pids = arg;
		return 0;
	case 't':
		target->tids = arg;
		return 0;
	case 'i':
		target->no_inherit = true;
		return 0;
	case ARGP_KEY_ARG:
		/* the first argument that is not an option begins the command */
		target->argv = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp target_argp = {
	.options = target_options,
	.parser = parse_target,
};

/* target_children - the options and the command; their input is a struct target */
const struct argp_child target_children[] = {
	{ &target_argp, 0, "What to watch:", 1 },
	{ 0 }
};

static void numbers_add(struct numbers *numbers, int value)
{
	numbers->values = xrealloc_array(numbers->values, numbers->nr + 1, sizeof(int));
	numbers->values[numbers->nr++] = value;
}

static bool parse_number(const char **at, long max, int *value)
{
	char *end;
	long number;

	if (**at < '0' || **at > '9')
		return false;
	number = strtol(*at, &end, 10);
	if (number > max)
		return false;
	*value = number;
	*at = end;
	return true;
}

/* "0-3,5"; without ranges when @max is not that of CPUs */
static bool parse_numbers(const char *list, long max, struct numbers *numbers)
{
	for (;;) {
		int first, last;

		if (!parse_number(&list, max, &first))
			return false;
		last = first;
		if (max == CPU_MAX && *list == '-' &&
		    (list++, !parse_number(&list, max, &last) || last < first))
			return false;
		for (int i = first; i <= last; i++)
			numbers_add(numbers, i);
		if (!*list || *list == '\n')
			return true;
		if (*list++ != ',')
			return false;
	}
}

/**
 * cpu_list_parse - the kernel's notation of a set of CPUs
 * @list: e.g. "0-3,5"
 * @cpus: the numbers, to be freed
 * @nr: how many
 *
 * Return: 0, or -1 if @list is malformed
 */
int cpu_list_parse(const char *list, int **cpus, size_t *nr)
{
	struct numbers numbers = { 0 };

	if (!parse_numbers(list, CPU_MAX, &numbers)) {
		free(numbers.values);
		return -1;
	}
	*cpus = numbers.values;
	*nr = numbers.nr;
	return 0;
}

/**
 * target_check - refuse what contradicts itself
 * @target: as parsed
 *
 * Return: 0, or -1 after a message to the user
 */
int target_check(struct target *target)
{
	bool tasks = target->pids || target->tids;

	if (target->pids && target->tids)
		return fail("-p and -t are mutually exclusive: list the threads of all processes with -t");
	if (target->all_cpus && tasks)
		return fail("-a and -%c are mutually exclusive: watch either CPUs or tasks",
			    target->pids ? 'p' : 't');
	if (!tasks && !target->argv && !target->all_cpus && !target->cpus)
		return fail("nothing to watch: give a command after --, or -a, -C, -p or -t");
	return 0;
}

/** target_is_cpus - whether CPUs are watched and not tasks */
bool target_is_cpus(const struct target *target)
{
	return target->all_cpus || (target->cpus && !target->pids && !target->tids);
}

/**
 * target_is_running - whether there is something to watch before the command starts
 *
 * The command is then only what the run lasts for.
 */
bool target_is_running(const struct target *target)
{
	return target_is_cpus(target) || target->pids || target->tids;
}

/** target_inherits - whether events are to follow what the watched tasks start */
bool target_inherits(const struct target *target)
{
	return !target->no_inherit && !target_is_cpus(target);
}

static int list_cpus(const struct target *target, bool per_cpu, struct numbers *cpus)
{
	char *online;
	int ret;

	if (target->cpus) {
		if (cpu_list_parse(target->cpus, &cpus->values, &cpus->nr))
			return fail("-C %s: not a list of CPUs such as 0-3,5", target->cpus);
		return 0;
	}
	if (!target->all_cpus && !per_cpu) {
		numbers_add(cpus, -1);
		return 0;
	}
	online = read_file("/sys/devices/system/cpu/online", NULL);
	if (!online)
		return fail("cannot read /sys/devices/system/cpu/online: %s; is /sys mounted?",
			    strerror(errno));
	ret = cpu_list_parse(online, &cpus->values, &cpus->nr);
	free(online);
	return ret;
}

static int list_threads(int pid, struct numbers *tids)
{
	char path[64];
	struct dirent *entry;
	size_t before = tids->nr;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return fail("-p %d: no such process", pid);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			numbers_add(tids, atoi(entry->d_name));
	closedir(dir);
	return tids->nr == before ? fail("-p %d: the process has just exited", pid) : 0;
}

static int list_tasks(const struct target *target, pid_t command, struct numbers *tids)
{
	const char *list = target->pids ? target->pids : target->tids;
	struct numbers pids = { 0 };
	int ret = 0;

	if (target_is_cpus(target)) {
		numbers_add(tids, -1);
		return 0;
	}
	if (!list) {
		numbers_add(tids, command);
		return 0;
	}
	if (!parse_numbers(list, INT_MAX, &pids))
		ret = fail("-%c %s: give numbers, separated by commas",
			   target->pids ? 'p' : 't', list);
	for (size_t i = 0; !ret && i < pids.nr; i++) {
		if (target->pids)
			ret = list_threads(pids.values[i], tids);
		else
			numbers_add(tids, pids.values[i]);
	}
	free(pids.values);
	return ret;
}

/**
 * target_resolve - the pairs to open events on, as of now
 * @target: checked
 * @command: pid of the command, when there is one
 * @per_cpu: with a pair for each CPU where otherwise one would do for all
 * @slots: filled in; to be freed
 *
 * Return: 0, or -1 after a message to the user
 */
int target_resolve(const struct target *target, pid_t command, bool per_cpu,
		   struct target_slots *slots)
{
	struct numbers cpus = { 0 }, tids = { 0 };
	int ret = list_cpus(target, per_cpu, &cpus);

	if (!ret)
		ret = list_tasks(target, command, &tids);
	if (!ret) {
		slots->slots = xrealloc_array(NULL, cpus.nr * tids.nr, sizeof(*slots->slots));
		slots->nr = 0;
		for (size_t t = 0; t < tids.nr; t++)
			for (size_t c = 0; c < cpus.nr; c++)
				slots->slots[slots->nr++] = (struct target_slot){
					.pid = tids.values[t],
					.cpu = cpus.values[c],
				};
	}
	free(cpus.values);
	free(tids.values);
	return ret;
}
