// SPDX-License-Identifier: GPL-2.0
/*
 * Tests the quirks of CPU models in pmu/x86/quirks.c: which model has which,
 * what counters are loaded with, and which raw events are refused. Called by
 * KUnit in task context.
 */
#include <kunit/test.h>

#include "pmu/x86/quirks.h"

#define MAX31	0x7fffffffULL
#define MAX47	0x7fffffffffffULL

/* Selector bits that are no part of the event's name */
#define USR_OS_INT_EN	0x530000ULL

#define SANDY_BRIDGE	0x2a
#define IVY_BRIDGE_X	0x3e
#define HASWELL_X	0x3f
#define BROADWELL_X	0x4f
#define NEHALEM		0x1e
#define WESTMERE	0x2c
#define SKYLAKE		0x5e
#define SAPPHIRE_RAPIDS	0x8f
#define SILVERMONT	0x37
#define KNIGHTS_LANDING	0x57

static void each_model_has_its_periods(struct kunit *test)
{
	static const struct {
		u32 family, model;
		u64 any, retired;
	} cases[] = {
		{ 6, NEHALEM, 32, 32 },
		{ 6, WESTMERE, 1, 1 },
		{ 6, SANDY_BRIDGE, 1, 1 },
		{ 6, HASWELL_X, 32, 128 },
		{ 6, BROADWELL_X, 1, 128 },
		{ 6, SKYLAKE, 1, 1 },
		{ 6, SAPPHIRE_RAPIDS, 1, 1 },
		/* Another family has models of its own. */
		{ 19, HASWELL_X, 1, 1 },
		{ 5, BROADWELL_X, 1, 1 },
		{ 6, 0xffffffff, 1, 1 },
		{ 6, 0x100 + HASWELL_X, 1, 1 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pmr_quirks *quirks = pmr_quirks_find(cases[i].family, cases[i].model);

		KUNIT_EXPECT_EQ_MSG(test, pmr_quirks_period_min(quirks, 0x00c0 | USR_OS_INT_EN),
				    cases[i].any, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr_quirks_period_min(quirks, 0x01c0 | USR_OS_INT_EN),
				    cases[i].retired, "case %d", i);
	}
}

static void loads_are_raised_and_rounded(struct kunit *test)
{
	static const struct {
		u32 model;
		u64 config, left, max, load;
	} cases[] = {
		{ SKYLAKE, 0x01c0, 2, MAX47, 2 },
		{ SKYLAKE, 0x01c0, MAX47, MAX47, MAX47 },
		{ NEHALEM, 0x003c, 2, MAX31, 32 },
		{ NEHALEM, 0x003c, 33, MAX31, 33 },
		{ HASWELL_X, 0x00c0, 2, MAX47, 32 },
		{ HASWELL_X, 0x00c0, 31, MAX47, 32 },
		{ HASWELL_X, 0x00c0, 32, MAX47, 32 },
		{ HASWELL_X, 0x01c0, 32, MAX47, 128 },
		{ HASWELL_X, 0x01c0, 129, MAX47, 129 },
		{ HASWELL_X, 0x01c0, MAX47, MAX47, MAX47 },
		{ BROADWELL_X, 0x00c0, 2, MAX47, 2 },
		{ BROADWELL_X, 0x00c0, 1001, MAX47, 1001 },
		{ BROADWELL_X, 0x01c0, 2, MAX47, 128 },
		{ BROADWELL_X, 0x01c0, 128, MAX47, 128 },
		{ BROADWELL_X, 0x01c0, 129, MAX47, 192 },
		{ BROADWELL_X, 0x01c0, 1000000, MAX47, 1000000 },
		{ BROADWELL_X, 0x01c0, 1000001, MAX47, 1000064 },
		{ BROADWELL_X, 0x01c0, MAX47, MAX47, MAX47 - 63 },
		{ BROADWELL_X, 0x01c0, MAX31 - 1, MAX31, MAX31 - 63 },
		{ BROADWELL_X, 0x01c0 | USR_OS_INT_EN, 129, MAX47, 192 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    pmr_quirks_load(pmr_quirks_find(6, cases[i].model),
						    cases[i].config, cases[i].left, cases[i].max),
				    cases[i].load, "case %d", i);
}

/* The events of which @config is one are refused on this model. */
struct refusal {
	u32 model;
	u64 config;
	bool alone, smt;
};

static void events_that_count_wrongly_are_refused(struct kunit *test)
{
	static const struct refusal cases[] = {
		{ SANDY_BRIDGE, 0x81d0, false, true },
		{ IVY_BRIDGE_X, 0x01d1, false, true },
		{ HASWELL_X, 0x01d2, false, true },
		{ HASWELL_X, 0x01d3, false, true },
		{ HASWELL_X, 0x01d4, false, false },
		{ HASWELL_X, 0x01cf, false, false },
		{ BROADWELL_X, 0x81d0, false, false },
		{ SKYLAKE, 0x81d0, false, false },
		{ SKYLAKE, 0x01b7, true, true },
		{ SKYLAKE, 0x01bb, true, true },
		{ SKYLAKE, 0x01cd, true, true },
		{ SKYLAKE, 0x01c6, true, true },
		{ SKYLAKE, 0x01c6 | USR_OS_INT_EN, true, true },
		{ SKYLAKE, 0x02c6, false, false },
		{ SKYLAKE, 0x01b7 | USR_OS_INT_EN, true, true },
		{ HASWELL_X, 0x01c6, false, false },
		{ SAPPHIRE_RAPIDS, 0x012a, true, true },
		{ SAPPHIRE_RAPIDS, 0x04c2, true, true },
		{ SAPPHIRE_RAPIDS, 0x01b7, false, false },
		{ KNIGHTS_LANDING, 0x02b7, true, true },
		{ KNIGHTS_LANDING, 0x02bb, false, false },
		{ 0, 0x01b7, false, false },
		{ 0, 0x0000, false, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pmr_quirks *quirks = pmr_quirks_find(6, cases[i].model);

		KUNIT_EXPECT_EQ_MSG(test, !pmr_quirks_allow(quirks, cases[i].config, false),
				    cases[i].alone, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, !pmr_quirks_allow(quirks, cases[i].config, true),
				    cases[i].smt, "case %d, SMT", i);
	}
}

static void models_with_known_faults_say_so(struct kunit *test)
{
	static const u32 with[] = {
		NEHALEM, WESTMERE, SANDY_BRIDGE, IVY_BRIDGE_X, HASWELL_X, SILVERMONT,
		KNIGHTS_LANDING,
	};
	static const u32 without[] = { BROADWELL_X, SKYLAKE, SAPPHIRE_RAPIDS, 0 };
	int i;

	for (i = 0; i < ARRAY_SIZE(with); i++)
		KUNIT_EXPECT_NOT_NULL(test, pmr_quirks_find(6, with[i])->notice);
	for (i = 0; i < ARRAY_SIZE(without); i++)
		KUNIT_EXPECT_NULL(test, pmr_quirks_find(6, without[i])->notice);
}

static struct kunit_case quirks_cases[] = {
	KUNIT_CASE(each_model_has_its_periods),
	KUNIT_CASE(loads_are_raised_and_rounded),
	KUNIT_CASE(events_that_count_wrongly_are_refused),
	KUNIT_CASE(models_with_known_faults_say_so),
	{}
};

static struct kunit_suite quirks_suite = {
	.name = "pmuring_quirks",
	.test_cases = quirks_cases,
};

kunit_test_suite(quirks_suite);
