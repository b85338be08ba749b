// SPDX-License-Identifier: GPL-2.0
/*
 * Test Anything Protocol. Output is unbuffered, so that a test which takes the
 * machine down still shows how far it came. Called from the main thread only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static int planned, run, failed;

static void report(bool good, const char *what, va_list args)
{
	run++;
	if (!good)
		failed++;
	printf("%sok %d - ", good ? "" : "not ", run);
	vprintf(what, args);
	putchar('\n');
}

/**
 * plan - how many checks there will be
 * @tests: skipped ones included
 */
void plan(int tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	planned = tests;
	printf("1..%d\n", tests);
}

/**
 * done - end of the test
 *
 * Return: the program's exit status
 */
int done(void)
{
	if (run != planned)
		diag("%d checks planned, %d run", planned, run);
	if (failed)
		diag("%d of %d checks failed", failed, run);
	return failed || run != planned;
}

/**
 * ok - one check
 * @good: whether it passed
 * @what: what was checked
 *
 * Return: @good
 */
bool ok(bool good, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	report(good, what, args);
	va_end(args);
	return good;
}

/**
 * is - check that a number is the right one
 * @got: the number
 * @want: the right one
 * @what: what was checked
 *
 * Return: whether it is
 */
bool is(uint64_t got, uint64_t want, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	report(got == want, what, args);
	va_end(args);
	if (got != want)
		diag("got %" PRIu64 " (%#" PRIx64 "), want %" PRIu64 " (%#" PRIx64 ")",
		     got, got, want, want);
	return got == want;
}

/**
 * between - check that a number is in a range
 * @got: the number
 * @low: smallest right one
 * @high: largest right one
 * @what: what was checked
 *
 * Return: whether it is
 */
bool between(uint64_t got, uint64_t low, uint64_t high, const char *what, ...)
{
	bool good = low <= got && got <= high;
	va_list args;

	va_start(args, what);
	report(good, what, args);
	va_end(args);
	if (!good)
		diag("got %" PRIu64 ", want %" PRIu64 " to %" PRIu64, got, low, high);
	return good;
}

static const char *errno_text(int err)
{
	return err ? strerrorname_np(err) : "success";
}

/**
 * gives - check the outcome of a call that returns -1 with an errno on failure
 * @got: what the call returned; errno is still the call's
 * @want_errno: the right errno, or 0 for success
 * @what: what was checked
 *
 * Return: whether it is right
 */
bool gives(int got, int want_errno, const char *what, ...)
{
	int err = got < 0 ? errno : 0;
	va_list args;

	va_start(args, what);
	report(err == want_errno, what, args);
	va_end(args);
	if (err != want_errno)
		diag("got %s, want %s", errno_text(err), errno_text(want_errno));
	return err == want_errno;
}

/**
 * skip - checks that cannot be made here
 * @tests: how many
 * @reason: why, for the reader of the summary
 */
void skip(int tests, const char *reason, ...)
{
	va_list args;

	while (tests-- > 0) {
		printf("ok %d # SKIP ", ++run);
		va_start(args, reason);
		vprintf(reason, args);
		va_end(args);
		putchar('\n');
	}
}

/**
 * skip_all - the whole program has nothing to check here
 * @reason: why
 *
 * Return: the program's exit status
 */
int skip_all(const char *reason)
{
	plan(1);
	skip(1, "%s", reason);
	return done();
}

/**
 * diag - a remark for the reader
 * @text: one line
 */
void diag(const char *text, ...)
{
	va_list args;

	fputs("# ", stdout);
	va_start(args, text);
	vprintf(text, args);
	va_end(args);
	putchar('\n');
}

/**
 * bail_out - the test cannot go on, which is a failure
 * @why: what went wrong; the errno of the moment is added
 */
void bail_out(const char *why, ...)
{
	const char *text = strerror(errno);
	va_list args;

	fputs("Bail out! ", stdout);
	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	printf(": %s\n", text);
	exit(1);
}
