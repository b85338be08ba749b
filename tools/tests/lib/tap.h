/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test Anything Protocol for the end-to-end tests: every test program calls
 * plan() once, reports each check, and returns done() from main().
 */
#ifndef PMURING_TESTS_TAP_H
#define PMURING_TESTS_TAP_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define TAP_PRINTF(n) __attribute__((format(printf, n, n + 1)))

void plan(int tests);
int done(void);

bool ok(bool good, const char *what, ...) TAP_PRINTF(2);
bool is(uint64_t got, uint64_t want, const char *what, ...) TAP_PRINTF(3);
bool between(uint64_t got, uint64_t low, uint64_t high, const char *what, ...) TAP_PRINTF(4);
bool gives(int got, int want_errno, const char *what, ...) TAP_PRINTF(3);

void skip(int tests, const char *reason, ...) TAP_PRINTF(2);
int skip_all(const char *reason);
void diag(const char *text, ...) TAP_PRINTF(1);
void bail_out(const char *why, ...) TAP_PRINTF(1) __attribute__((noreturn));

#endif
