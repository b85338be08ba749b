// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the quirks of CPU models: which loads a counter needs, and which events
 * would count wrongly. pmr_quirks_init() runs at load time; the rest is pure
 * functions of constant tables, from any context. No locks.
 *
 * Sources: Intel's specification updates (the errata are named), and the events
 * that Intel's tables give with a further register (MSRIndex).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <asm/cpufeature.h>
#include <asm/perf_event.h>

#include "pmu/x86/quirks.h"

#define CODE_AND_UMASK	(ARCH_PERFMON_EVENTSEL_EVENT | ARCH_PERFMON_EVENTSEL_UMASK)
/* INST_RETIRED.ALL of Broadwell, .PREC_DIST of others */
#define RETIRED_PRECISE	0x01c0

/* Codes of events that a further register refines */
#define OFFCORE		0x01b7
#define OFFCORE_BIG	0x01bb
#define OFFCORE_SMALL	0x02b7
#define LOAD_LATENCY	0x01cd
#define FRONTEND	0x01c6

#define BIG_CORE_EVENTS	{ OFFCORE, OFFCORE_BIG, LOAD_LATENCY }
#define SKYLAKE_EVENTS	{ OFFCORE, OFFCORE_BIG, LOAD_LATENCY, FRONTEND }
#define ATOM_EVENTS	{ OFFCORE, OFFCORE_SMALL }

#define SMT_LEAK_NOTICE \
	"events D0H to D3H are refused while SMT is possible: they change counters of the other thread (errata BJ122, BV98, HSD29)"
#define RESET_NOTICE \
	"general counters may miscount on this CPU model (erratum AAK100, not worked around)"
#define ERRATA_NOTICE \
	"this CPU model has errata of its counters that are not worked around: see its specification update"

static const struct pmr_quirks none;

static const struct pmr_quirks nehalem = {
	.notice = RESET_NOTICE,
	.period_min = 32,
	.register_events = { OFFCORE, 0x100b },
};

static const struct pmr_quirks westmere = {
	.notice = RESET_NOTICE,
	.register_events = { OFFCORE, OFFCORE_BIG, 0x100b },
};

static const struct pmr_quirks sandy_bridge = {
	.notice = SMT_LEAK_NOTICE,
	.smt_leak = true,
	.register_events = BIG_CORE_EVENTS,
};

/* HSW11 */
static const struct pmr_quirks haswell = {
	.notice = SMT_LEAK_NOTICE,
	.smt_leak = true,
	.period_min = 32,
	.retired_min = 128,
	.register_events = BIG_CORE_EVENTS,
};

/* BDM11: at least 100; BDM55: the six lowest bits clear */
static const struct pmr_quirks broadwell = {
	.retired_min = 128,
	.retired_step = 64,
	.register_events = BIG_CORE_EVENTS,
};

static const struct pmr_quirks skylake = { .register_events = SKYLAKE_EVENTS };

static const struct pmr_quirks golden_cove = {
	.register_events = { 0x012a, 0x012b, LOAD_LATENCY, FRONTEND, 0x40ad, 0x04c2 },
};

static const struct pmr_quirks redwood_cove = {
	.register_events = { 0x012a, 0x012b, LOAD_LATENCY, 0x03c6, 0x40ad, 0x04c2 },
};

static const struct pmr_quirks silvermont = {
	.notice = ERRATA_NOTICE,
	.register_events = ATOM_EVENTS,
};

static const struct pmr_quirks goldmont = { .register_events = ATOM_EVENTS };

static const struct pmr_quirks gracemont = {
	.register_events = { OFFCORE, OFFCORE_SMALL, 0x05d0 },
};

/* All of family 6. The names of asm/intel-family.h changed in 6.12. */
static const struct {
	u8 model;
	const struct pmr_quirks *quirks;
} models[] = {
	{ 0x1e, &nehalem }, { 0x1f, &nehalem }, { 0x1a, &nehalem }, { 0x2e, &nehalem },
	{ 0x25, &westmere }, { 0x2c, &westmere }, { 0x2f, &westmere },
	{ 0x2a, &sandy_bridge }, { 0x2d, &sandy_bridge },
	/* Ivy Bridge */
	{ 0x3a, &sandy_bridge }, { 0x3e, &sandy_bridge },
	{ 0x3c, &haswell }, { 0x3f, &haswell }, { 0x45, &haswell }, { 0x46, &haswell },
	{ 0x3d, &broadwell }, { 0x47, &broadwell }, { 0x4f, &broadwell }, { 0x56, &broadwell },
	/* Skylake to Comet Lake */
	{ 0x4e, &skylake }, { 0x5e, &skylake }, { 0x55, &skylake }, { 0x8e, &skylake },
	{ 0x9e, &skylake }, { 0xa5, &skylake }, { 0xa6, &skylake }, { 0x66, &skylake },
	/* Ice Lake, Rocket Lake, Tiger Lake */
	{ 0x6a, &skylake }, { 0x6c, &skylake }, { 0x7d, &skylake }, { 0x7e, &skylake },
	{ 0x9d, &skylake }, { 0xa7, &skylake }, { 0x8c, &skylake }, { 0x8d, &skylake },
	/* Sapphire Rapids, Emerald Rapids; Granite Rapids */
	{ 0x8f, &golden_cove }, { 0xcf, &golden_cove },
	{ 0xad, &redwood_cove }, { 0xae, &redwood_cove },
	/* Silvermont, Airmont; Knights Landing, Knights Mill */
	{ 0x37, &silvermont }, { 0x4d, &silvermont }, { 0x4a, &silvermont },
	{ 0x4c, &silvermont }, { 0x5a, &silvermont }, { 0x75, &silvermont },
	{ 0x57, &silvermont }, { 0x85, &silvermont },
	/* Goldmont to Tremont; Gracemont without big cores */
	{ 0x5c, &goldmont }, { 0x5f, &goldmont }, { 0x7a, &goldmont },
	{ 0x86, &goldmont }, { 0x96, &goldmont }, { 0x9c, &goldmont },
	{ 0xbe, &gracemont },
};

const struct pmr_quirks *pmr_quirks = &none;
DEFINE_STATIC_KEY_FALSE(pmr_quirks_limit_loads);

/**
 * pmr_quirks_find() - the quirks of a CPU model of Intel's
 * @family: CPU family
 * @model: CPU model
 *
 * Return: its quirks, or those of a CPU without any.
 */
const struct pmr_quirks *pmr_quirks_find(u32 family, u32 model)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (family == 6 && model == models[i].model)
			return models[i].quirks;
	return &none;
}

static bool is_retired_precise(u64 config)
{
	return (config & CODE_AND_UMASK) == RETIRED_PRECISE;
}

/**
 * pmr_quirks_period_min() - the smallest period that an event can have
 * @quirks: quirks of the CPU model
 * @config: selector of the event
 *
 * Return: the smallest period; perf refuses a smaller one.
 */
u64 pmr_quirks_period_min(const struct pmr_quirks *quirks, u64 config)
{
	u64 min = max_t(u64, quirks->period_min, 1);

	return is_retired_precise(config) ? max_t(u64, min, quirks->retired_min) : min;
}

/**
 * pmr_quirks_load() - what a counter is to be loaded with
 * @quirks: quirks of the CPU model
 * @config: selector of the event
 * @left: events until the next PMI, at most @max
 * @max: largest value that can be loaded
 *
 * A longer load is not a wrong count: the PMI comes late, and the next period is
 * shorter by as much.
 *
 * Return: @left, or the nearest larger value that the counter can take.
 */
u64 pmr_quirks_load(const struct pmr_quirks *quirks, u64 config, u64 left, u64 max)
{
	u64 step = quirks->retired_step;

	left = max(left, pmr_quirks_period_min(quirks, config));
	if (!step || !is_retired_precise(config))
		return left;
	return min(round_up(left, step), round_down(max, step));
}

/**
 * pmr_quirks_allow() - does an event count what it should, and only that?
 * @quirks: quirks of the CPU model
 * @config: selector of a raw event
 * @smt: cores may run two threads
 */
bool pmr_quirks_allow(const struct pmr_quirks *quirks, u64 config, bool smt)
{
	unsigned int i;

	for (i = 0; i < PMR_QUIRK_REGISTER_EVENTS && quirks->register_events[i]; i++)
		if ((config & CODE_AND_UMASK) == quirks->register_events[i])
			return false;
	return !(quirks->smt_leak && smt && (config & 0xfc) == 0xd0);
}

/**
 * pmr_quirks_unusable_counters() - general counters that microcode uses itself
 *
 * Where transactions can be forced to abort, counter 3 is the microcode's unless
 * they are.
 *
 * Return: bits of GLOBAL_STATUS.
 */
u64 pmr_quirks_unusable_counters(void)
{
	return boot_cpu_has(X86_FEATURE_TSX_FORCE_ABORT) ? BIT_ULL(3) : 0;
}

/**
 * pmr_quirks_init() - find the quirks of this machine, and tell of them
 * @family: CPU family
 * @model: CPU model
 */
void pmr_quirks_init(u32 family, u32 model)
{
	pmr_quirks = pmr_quirks_find(family, model);
	if (pmr_quirks->period_min || pmr_quirks->retired_min)
		static_branch_enable(&pmr_quirks_limit_loads);
	if (pmr_quirks->notice)
		pr_notice("%s\n", pmr_quirks->notice);
	if (pmr_quirks_unusable_counters())
		pr_notice("general counter 3 is not used: the microcode needs it for TSX\n");
}
