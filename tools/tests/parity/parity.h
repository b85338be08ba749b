/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parity test runs the same cases on two implementations of perf and prints one
 * line per case: name TAB answer. It does not judge the answers:
 * scripts/check/parity.sh runs it on the kernel's perf and on pmuring in one boot and
 * compares the lines. So a line holds nothing that differs between two correct runs:
 * errnos, sizes, exact counts and relations, but no ids and no times.
 *
 * A case runs in its own process and does not have to clean up: its descriptors,
 * mappings and children end with it.
 */
#ifndef PMURING_TESTS_PARITY_H
#define PMURING_TESTS_PARITY_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_reader.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PRINTS(n)	__attribute__((format(printf, n, n + 1)))

/* PERF_FORMAT_LOST; not in every installed header */
#define FORMAT_LOST	(1U << 4)
#define FORMAT_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define FORMATS		32

/* a user without rights */
#define NOBODY		1000

/* cases.c: running cases and collecting their answers */

typedef void (*case_fn)(const void *arg);

/**
 * struct simple_case - a case that needs no argument
 * @name: its name within the theme
 * @run: what it does
 */
struct simple_case {
	const char *name;
	void (*run)(void);
};

void run_case(const char *theme, const char *name, case_fn fn, const void *arg);
void run_simple(const char *theme, const struct simple_case *cases, size_t number);
void choose_cases(char **prefixes);

void say(const char *format, ...) PRINTS(1);
void say_result(const char *what, long result);
void give_up(const char *why, ...) PRINTS(1) __attribute__((noreturn));
const char *error_name(long result);

/* events.c: opening, reading, and the behaviour of an event */

/* value and times, as read with FORMAT_TIMES */
struct count {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

void use_door(const char *node);
int try_open(const void *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);
int open_self(const struct perf_event_attr *attr);
int open_error_event(uint64_t read_format, uint64_t period);

struct perf_event_attr event_attr(uint32_t type, uint64_t config);
struct perf_event_attr instructions(void);
struct perf_event_attr branches(void);
struct perf_event_attr software(uint64_t config);
struct perf_event_attr sampling(uint64_t period, uint64_t sample_type);

void enable(int fd);
void disable(int fd);
uint64_t event_id(int fd);
uint64_t read_value(int fd);
bool read_count(int fd, struct count *count);
void must_map(struct ring *ring, int fd, size_t data_pages);

void say_behaviour(const char *what, int fd);
void say_poll(const char *what, int fd);

/* records.c: what is in a ring */

#define RECORD_TYPES	32

/**
 * struct tally - what a ring held
 * @number: records of each type
 * @size: of the last record of each type
 * @misc: of the last record of each type
 * @same_size: all records of a type had one size
 * @lost: sum of the LOST records
 * @order: types in the order of their first appearance, 0 at the end
 */
struct tally {
	unsigned int number[RECORD_TYPES];
	unsigned int size[RECORD_TYPES];
	unsigned int misc[RECORD_TYPES];
	bool same_size[RECORD_TYPES];
	uint64_t lost;
	unsigned char order[RECORD_TYPES + 1];
};

typedef void (*record_fn)(const struct perf_event_header *rec, void *data);

void drain(struct ring *ring, struct tally *tally, record_fn fn, void *data);
void say_samples(const struct tally *tally);
void say_records(const struct tally *tally);
unsigned int tally_number(struct ring *ring, unsigned int type);

/* framed.c: work at the end of a known chain of stack frames */

void work_framed(int event_fd, uint64_t rounds);

/* helpers.c: other tasks */

/* one round of work() is sixteen instructions, its last one a taken branch */
#define SOME_WORK	2000

/**
 * struct helper - a child that works on request
 * @pid: its process
 * @order: pipe to it
 * @answer: pipe from it
 */
struct helper {
	pid_t pid;
	int order;
	int answer;
};

enum order { ORDER_WORK = 'w', ORDER_FORK = 'f', ORDER_THREAD = 't', ORDER_EXEC = 'e',
	     ORDER_RENAME = 'r', ORDER_YIELD = 'y', ORDER_EXIT = 'x' };

void helper_start(struct helper *helper);
void helper_do(const struct helper *helper, enum order order);
void helper_end(const struct helper *helper);
void helper_stop(const struct helper *helper);
void run_child(void (*fn)(void *), void *data);
void run_thread(void (*fn)(void *), void *data);
void work_for(void *rounds);
void become_program(void *data);
void fixed_program(void);
void set_fixed_program(const char *path);

void pin_to(int cpu);

/* rights.c: limits and rights */

enum knob { KNOB_PARANOID, KNOB_RATE, KNOB_MLOCK, KNOB_STACK, KNOBS };

void knob_set(enum knob knob, long value);
void rate_set(long rate);
void prepare_machine(void);
void be_nobody(void);
void be_nobody_with(int capability);
void lose_capability(int capability);

/* ptrace.c: what --wait does */

_Noreturn void wait_as_target(void);

/* the themes, one file each */

void theme_attr(void);
void theme_bits(void);
void theme_target(void);
void theme_order(void);
void theme_pmu(void);
void theme_read(void);
void theme_ioctl(void);
void theme_ioctl_group(void);
void theme_ioctl_compat(void);
void theme_period(void);
void theme_output(void);
void theme_mmap(void);
void theme_page(void);
void theme_poll(void);
void theme_signal(void);
void theme_sample(void);
void theme_layout(void);
void theme_lost(void);
void theme_sideband(void);
void theme_contents(void);
void theme_group(void);
void theme_inherit(void);
void theme_inherit_group(void);
void theme_exec(void);
void theme_exit(void);
void theme_software(void);
void theme_clocks(void);
void theme_permission(void);
void theme_ptrace(void);
void theme_mlock(void);
void theme_prctl(void);
void theme_share(void);
void theme_hotplug(void);

#endif
