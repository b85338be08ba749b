// SPDX-License-Identifier: GPL-2.0
/*
 * Event names as perf writes them: generic and software events, rXXXX,
 * cpu/event=…,umask=…/; names of a CPU's own events go to libpfm4. Called by
 * events.c while the command line is parsed; touches no device.
 */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "events_pfm.h"
#include "util.h"

struct named_event {
	const char *name;
	uint64_t config;
};

static const struct named_event generic_events[] = {
	{ "cycles",			PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles",			PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions",		PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references",		PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses",		PERF_COUNT_HW_CACHE_MISSES },
	{ "branches",			PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions",	PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses",		PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles",			PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend",	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend",	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend",	PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend",	PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles",			PERF_COUNT_HW_REF_CPU_CYCLES },
};

static const struct named_event software_events[] = {
	{ "cpu-clock",			PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock",			PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults",		PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults",			PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches",		PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs",				PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations",		PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations",			PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults",		PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults",		PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults",		PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults",		PERF_COUNT_SW_EMULATION_FAULTS },
	{ "dummy",			PERF_COUNT_SW_DUMMY },
};

/* The x86 selector's fields; fixed by the architecture, so no look into sysfs,
 * which has no "cpu" folder when the kernel's perf found no PMU.
 */
static const struct {
	const char *name;
	unsigned int shift;
	unsigned int bits;
} selector_fields[] = {
	{ "umask", 8, 8 },
	{ "edge", 18, 1 },
	{ "pc", 19, 1 },
	{ "any", 21, 1 },
	{ "inv", 23, 1 },
	{ "cmask", 24, 8 },
	{ "in_tx", 32, 1 },
	{ "in_tx_cp", 33, 1 },
};

/**
 * events_generic_name - perf's name of a generic hardware event
 * @config: PERF_COUNT_HW_*
 *
 * Return: the name, or NULL
 */
const char *events_generic_name(uint64_t config)
{
	for (size_t i = 0; i < ARRAY_SIZE(generic_events); i++)
		if (generic_events[i].config == config)
			return generic_events[i].name;
	return NULL;
}

static bool parse_named(const struct named_event *events, size_t nr, uint32_t type,
			const char *name, struct perf_event_attr *attr)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(events[i].name, name))
			continue;
		attr->type = type;
		attr->config = events[i].config;
		return true;
	}
	return false;
}

static bool parse_generic(const char *name, struct perf_event_attr *attr)
{
	return parse_named(generic_events, ARRAY_SIZE(generic_events), PERF_TYPE_HARDWARE,
			   name, attr);
}

static bool parse_software(const char *name, struct perf_event_attr *attr)
{
	return parse_named(software_events, ARRAY_SIZE(software_events), PERF_TYPE_SOFTWARE,
			   name, attr);
}

static bool parse_raw(const char *name, struct perf_event_attr *attr)
{
	char *end;

	if (name[0] != 'r' || !name[1] || strlen(name) > 17 ||
	    name[1 + strspn(name + 1, "0123456789abcdefABCDEF")])
		return false;
	attr->type = PERF_TYPE_RAW;
	attr->config = strtoull(name + 1, &end, 16);
	return true;
}

static bool set_event_code(struct perf_event_attr *attr, uint64_t value)
{
	/* AMD's codes have 12 bits, in two pieces */
	if (value > 0xfff)
		return false;
	attr->config |= (value & 0xff) | (value >> 8) << 32;
	return true;
}

static bool set_term(struct perf_event_attr *attr, const char *name, uint64_t value)
{
	if (!strcmp(name, "event"))
		return set_event_code(attr, value);
	if (!strcmp(name, "config"))
		return attr->config = value, true;
	if (!strcmp(name, "config1"))
		return attr->config1 = value, true;
	if (!strcmp(name, "config2"))
		return attr->config2 = value, true;
	for (size_t i = 0; i < ARRAY_SIZE(selector_fields); i++) {
		if (strcmp(selector_fields[i].name, name))
			continue;
		if (value >> selector_fields[i].bits)
			return false;
		attr->config |= value << selector_fields[i].shift;
		return true;
	}
	return false;
}

/* one "umask=0x1", "inv" or "instructions" between the slashes */
static int parse_term(char *term, struct perf_event_attr *attr, char **name)
{
	char *value = strchr(term, '=');
	uint64_t number = 1;

	if (!value && parse_generic(term, attr))
		return 0;
	if (value)
		*value++ = '\0';
	if (value && !strcmp(term, "name")) {
		free(*name);
		*name = xstrdup(value);
		return 0;
	}
	if ((value && !parse_u64(value, &number)) || !set_term(attr, term, number))
		return fail("cpu/…/: '%s%s%s' is not a valid term or its value is too large; the terms are event, umask, cmask, inv, edge, any, pc, config, name",
			    term, value ? "=" : "", value ? value : "");
	return 0;
}

static int parse_pmu(char *terms, struct perf_event_attr *attr, char **name)
{
	char *save, *term;

	attr->type = PERF_TYPE_RAW;
	for (term = strtok_r(terms, ",", &save); term; term = strtok_r(NULL, ",", &save))
		if (parse_term(term, attr, name))
			return -1;
	return 0;
}

static int parse_vendor_name(const char *name, struct perf_event_attr *attr)
{
	struct pfm_code code;
	const char *why;

	if (events_pfm_encode(name, &code, &why))
		return fail("no event '%s' (%s); try cycles, instructions, cpu-clock, page-faults, rXXXX, cpu/event=0x..,umask=0x../ or a name that libpfm4 knows for this CPU",
			    name, why);
	attr->type = code.type;
	attr->config = code.config[0];
	attr->config1 = code.config[1];
	attr->config2 = code.config[2];
	return 0;
}

/**
 * event_name_parse - what a name without modifiers stands for
 * @body: the name; overwritten
 * @attr: type and config* are set
 * @name: replaced by what name=… in it says
 *
 * Return: 0, or -1 after a message to the user
 */
int event_name_parse(char *body, struct perf_event_attr *attr, char **name)
{
	size_t len = strlen(body);

	if (parse_generic(body, attr) || parse_software(body, attr) || parse_raw(body, attr))
		return 0;
	if (!strncmp(body, "cpu/", 4) && len > 5 && body[len - 1] == '/') {
		body[len - 1] = '\0';
		return parse_pmu(body + 4, attr, name);
	}
	return parse_vendor_name(body, attr);
}
