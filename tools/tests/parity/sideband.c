// SPDX-License-Identifier: GPL-2.0
/*
 * Records other than samples: the records that each attr bit enables, their sizes and
 * misc.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "parity.h"

#define RING_PAGES	64

enum bit { COMM = 1, COMM_EXEC = 2, TASK = 4, MMAP = 8, MMAP2 = 16, MMAP_DATA = 32, SWITCH = 64,
	   ID_ALL = 128, INHERIT = 256, ENABLE_ON_EXEC = 512 };

static struct perf_event_attr with_bits(unsigned int bits)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);

	attr.disabled = !!(bits & ENABLE_ON_EXEC);
	attr.enable_on_exec = !!(bits & ENABLE_ON_EXEC);
	attr.comm = !!(bits & COMM);
	attr.comm_exec = !!(bits & COMM_EXEC);
	attr.task = !!(bits & TASK);
	attr.mmap = !!(bits & MMAP);
	attr.mmap2 = !!(bits & MMAP2);
	attr.mmap_data = !!(bits & MMAP_DATA);
	attr.context_switch = !!(bits & SWITCH);
	attr.sample_id_all = !!(bits & ID_ALL);
	attr.inherit = !!(bits & INHERIT);
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	return attr;
}

static void say_one(const struct tally *tally, unsigned int type)
{
	if (tally->number[type])
		say("n=%u size=%u%s misc=%#x", tally->number[type], tally->size[type],
		    tally->same_size[type] ? "" : "..", tally->misc[type]);
}

static void rename_self(void)
{
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_SET_NAME, "fifteen-letters");
	prctl(PR_SET_NAME, "");
}

static void map_code(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void map_data(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void protect_code(void)
{
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(map, 4096, PROT_READ | PROT_EXEC);
}

static void nothing(void *data)
{
	(void)data;
}

static void fork_once(void)
{
	run_child(nothing, NULL);
}

static void thread_once(void)
{
	run_thread(nothing, NULL);
}

static void sleep_once(void)
{
	usleep(1000);
}

static void exec_in_child(void)
{
	run_child(become_program, NULL);
}

static const struct {
	const char *name;
	unsigned int bits;
	void (*act)(void);
	unsigned int type;
} cases[] = {
	{ "comm", COMM, rename_self, PERF_RECORD_COMM },
	{ "comm-id-all", COMM | ID_ALL, rename_self, PERF_RECORD_COMM },
	{ "comm-exec-renamed", COMM | COMM_EXEC, rename_self, PERF_RECORD_COMM },
	{ "comm-exec-alone", COMM_EXEC, rename_self, PERF_RECORD_COMM },
	{ "no-comm", TASK, rename_self, PERF_RECORD_COMM },
	{ "mmap-code", MMAP, map_code, PERF_RECORD_MMAP },
	{ "mmap-data", MMAP, map_data, PERF_RECORD_MMAP },
	{ "mmap2-code", MMAP | MMAP2, map_code, PERF_RECORD_MMAP2 },
	{ "mmap2-code-id-all", MMAP | MMAP2 | ID_ALL, map_code, PERF_RECORD_MMAP2 },
	{ "mmap2-alone", MMAP2, map_code, PERF_RECORD_MMAP2 },
	{ "mmap-data-data", MMAP_DATA, map_data, PERF_RECORD_MMAP },
	{ "mmap-data-code", MMAP_DATA, map_code, PERF_RECORD_MMAP },
	{ "mprotect-code", MMAP, protect_code, PERF_RECORD_MMAP },
	{ "fork-task", TASK, fork_once, PERF_RECORD_FORK },
	{ "fork-comm", COMM, fork_once, PERF_RECORD_FORK },
	{ "fork-mmap", MMAP, fork_once, PERF_RECORD_FORK },
	{ "fork-switch", SWITCH, fork_once, PERF_RECORD_FORK },
	{ "thread-task", TASK, thread_once, PERF_RECORD_FORK },
	{ "switch", SWITCH, sleep_once, PERF_RECORD_SWITCH },
	{ "switch-id-all", SWITCH | ID_ALL, sleep_once, PERF_RECORD_SWITCH },
	{ "exec-child", COMM | MMAP | TASK, exec_in_child, PERF_RECORD_FORK },
};

/* An event of our own on any CPU. */
static void own(const void *arg)
{
	size_t i = *(const size_t *)arg;
	struct perf_event_attr attr = with_bits(cases[i].bits);
	struct tally tally;
	struct ring ring;
	int fd = open_self(&attr);

	must_map(&ring, fd, RING_PAGES);
	drain(&ring, &tally, NULL, NULL);
	cases[i].act();
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
	say_one(&tally, cases[i].type);
}

/* An event of a helper, inherited or not, on the CPU that both are on. */
static void of_helper(unsigned int bits, enum order order, unsigned int type)
{
	struct perf_event_attr attr = with_bits(bits);
	struct helper helper;
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	helper_start(&helper);
	fd = must_open(&attr, helper.pid, 0, -1);
	must_map(&ring, fd, RING_PAGES);
	helper_do(&helper, order);
	helper_end(&helper);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
	say_one(&tally, type);
	say("exits=%u comms=%u", tally.number[PERF_RECORD_EXIT], tally.number[PERF_RECORD_COMM]);
}

static void inherited_fork(void)
{
	of_helper(TASK | INHERIT, ORDER_FORK, PERF_RECORD_FORK);
}

static void inherited_thread(void)
{
	of_helper(TASK | INHERIT, ORDER_THREAD, PERF_RECORD_FORK);
}

static void inherited_exec(void)
{
	of_helper(TASK | COMM | COMM_EXEC | INHERIT, ORDER_EXEC, PERF_RECORD_COMM);
}

static void inherited_exec_maps(void)
{
	of_helper(MMAP | MMAP2 | INHERIT, ORDER_EXEC, PERF_RECORD_MMAP2);
}

static void inherited_enabled_by_exec(void)
{
	of_helper(TASK | COMM | MMAP | INHERIT | ENABLE_ON_EXEC, ORDER_EXEC, PERF_RECORD_COMM);
}

static void helper_exit(void)
{
	of_helper(TASK, ORDER_WORK, PERF_RECORD_EXIT);
}

static void helper_renamed(void)
{
	of_helper(COMM, ORDER_RENAME, PERF_RECORD_COMM);
}

/* A CPU's switches carry the other task. */
static void cpu_wide_switch(void)
{
	struct perf_event_attr attr = with_bits(SWITCH);
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	fd = must_open(&attr, -1, 0, -1);
	must_map(&ring, fd, RING_PAGES);
	usleep(2000);
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
	say("size=%u%s", tally.size[PERF_RECORD_SWITCH_CPU_WIDE],
	    tally.same_size[PERF_RECORD_SWITCH_CPU_WIDE] ? "" : "..");
}

static void cpu_wide_task(void)
{
	struct perf_event_attr attr = with_bits(TASK | COMM);
	struct tally tally;
	struct ring ring;
	int fd;

	pin_to(0);
	fd = must_open(&attr, -1, 0, -1);
	must_map(&ring, fd, RING_PAGES);
	fork_once();
	rename_self();
	disable(fd);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
}

static void off_says_nothing(void)
{
	struct perf_event_attr attr = with_bits(COMM | TASK | MMAP | SWITCH);
	struct tally tally;
	struct ring ring;
	int fd;

	attr.disabled = 1;
	fd = open_self(&attr);
	must_map(&ring, fd, 8);
	rename_self();
	fork_once();
	map_code();
	usleep(1000);
	drain(&ring, &tally, NULL, NULL);
	say_records(&tally);
}

static const struct simple_case simple[] = {
	{ "inherited-fork", inherited_fork },
	{ "inherited-thread", inherited_thread },
	{ "inherited-exec", inherited_exec },
	{ "inherited-exec-maps", inherited_exec_maps },
	{ "inherited-enabled-by-exec", inherited_enabled_by_exec },
	{ "helper-exit", helper_exit },
	{ "helper-renamed", helper_renamed },
	{ "cpu-wide-switch", cpu_wide_switch },
	{ "cpu-wide-task", cpu_wide_task },
	{ "off", off_says_nothing },
};

/**
 * theme_sideband - records other than samples
 */
void theme_sideband(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		run_case("sideband", cases[i].name, own, &i);
	run_simple("sideband", simple, ARRAY_SIZE(simple));
}
