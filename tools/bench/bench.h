/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the benchmark programs: the implementation under test, the clock, and the
 * output of a result. One thread, on CPU 0.
 *
 * Each program measures one contestant, which its only argument names, and
 * prints one line per number:
 *
 *	ROW <tab> CONTESTANT <tab> VALUE
 *	ROW <tab> CONTESTANT <tab> - <tab> WHY		not offered
 *
 * It fails if a measurement is not valid. scripts/bench/run.sh starts
 * the programs in the PMU-modelling QEMU, scripts/bench/table.py knows all rows.
 */
#ifndef PMURING_BENCH_H
#define PMURING_BENCH_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * bench_now - read the clock, which counts instructions
 *
 * Under -icount the TSC advances by one with each instruction of whichever
 * CPU, and jumps ahead only while all are idle. Events do not disturb it.
 *
 * Return: instructions since some moment in the past
 */
static inline uint64_t bench_now(void)
{
	return __builtin_ia32_rdtsc();
}

/* What a child does until it is killed; it writes a byte to @ready when it has begun. */
typedef void (*bench_child_fn)(const void *arg, int ready);

void bench_begin(int argc, char **argv);
__attribute__((noreturn)) void bench_fail(const char *what);
int bench_open(struct perf_event_attr *attr, int group_fd);
void bench_raise_limits(void);
void bench_throw(int fd);
void bench_catch(int fd);
pid_t bench_child(bench_child_fn run, const void *arg);
pid_t bench_crowd(struct perf_event_attr *attr, unsigned int tasks);
void bench_end_crowd(pid_t pid);
void bench_result(const char *row, double value);
void bench_not_offered(const char *row, const struct perf_event_attr *attr);
double bench_median(uint64_t *values, size_t count);

#endif
