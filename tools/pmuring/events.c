// SPDX-License-Identifier: GPL-2.0
/*
 * Event names as perf writes them: generic names, rXXXX, cpu/event=…,umask=…/,
 * with modifiers behind a colon; names of a CPU's own events go to libpfm4.
 * Called while the command line is parsed; touches no device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "events_pfm.h"
#include "util.h"

static const struct {
	const char *name;
	uint64_t config;
} generic_events[] = {
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

static bool parse_generic(const char *name, struct perf_event_attr *attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(generic_events); i++) {
		if (strcmp(generic_events[i].name, name))
			continue;
		attr->type = PERF_TYPE_HARDWARE;
		attr->config = generic_events[i].config;
		return true;
	}
	return false;
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
		return fail("cpu/…/: '%s%s%s' is no term with a value that fits; there are event, umask, cmask, inv, edge, any, pc, config, name",
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

/*
 * The last ":…" if it consists of perf's modifier letters only; a name such as
 * libpfm's "br_inst_retired:conditional" stays whole.
 */
static char *split_modifiers(char *name)
{
	char *colon = strrchr(name, '/');

	/* cpu/…/u needs no colon */
	if (colon && colon != strchr(name, '/') && colon[1]) {
		memmove(colon + 2, colon + 1, strlen(colon + 1) + 1);
		colon[1] = '\0';
		return colon + 2;
	}
	colon = strrchr(name, ':');
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "ukhGHpP")])
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static void set_modifiers(const char *mods, struct event *event)
{
	struct perf_event_attr *attr = &event->attr;

	if (!mods)
		return;
	if (strpbrk(mods, "ukh")) {
		event->modifiers = true;
		attr->exclude_user = !strchr(mods, 'u');
		attr->exclude_kernel = !strchr(mods, 'k');
		attr->exclude_hv = !strchr(mods, 'h');
	}
	if (strpbrk(mods, "GH")) {
		attr->exclude_host = !strchr(mods, 'H');
		attr->exclude_guest = !strchr(mods, 'G');
	}
	for (; *mods; mods++)
		if (*mods == 'p' && attr->precise_ip < 3)
			attr->precise_ip++;
}

static int parse_vendor_name(const char *name, struct perf_event_attr *attr)
{
	struct pfm_code code;
	const char *why;

	if (events_pfm_encode(name, &code, &why))
		return fail("no event '%s' (%s); try cycles, instructions, branches, rXXXX, cpu/event=0x..,umask=0x../ or a name that libpfm4 knows for this CPU",
			    name, why);
	attr->type = code.type;
	attr->config = code.config[0];
	attr->config1 = code.config[1];
	attr->config2 = code.config[2];
	return 0;
}

static int parse_body(char *body, struct event *event)
{
	size_t len = strlen(body);

	if (parse_generic(body, &event->attr) || parse_raw(body, &event->attr))
		return 0;
	if (!strncmp(body, "cpu/", 4) && len > 5 && body[len - 1] == '/') {
		body[len - 1] = '\0';
		return parse_pmu(body + 4, &event->attr, &event->name);
	}
	return parse_vendor_name(body, &event->attr);
}

static int add_one(struct event_list *list, const char *name, size_t len)
{
	struct event *event;
	char *body = xalloc(len + 2), *mods;
	int ret;

	memcpy(body, name, len);
	list->events = xrealloc_array(list->events, list->nr + 1, sizeof(*list->events));
	event = &list->events[list->nr++];
	memset(event, 0, sizeof(*event));
	event->name = xstrdup(body);
	event->attr.size = sizeof(event->attr);
	mods = split_modifiers(body);
	if (mods && mods[strspn(mods, "ukhGHpP")])
		ret = fail("event '%s': modifiers are u k h G H p", event->name);
	else
		ret = parse_body(body, event);
	set_modifiers(mods, event);
	free(body);
	return ret;
}

/* commas between slashes belong to the event */
static size_t name_length(const char *names)
{
	bool inside = false;
	size_t len;

	for (len = 0; names[len]; len++) {
		if (names[len] == '/')
			inside = !inside;
		else if (names[len] == ',' && !inside)
			break;
	}
	return len;
}

/**
 * events_add - add the events of one -e option
 * @list: grows
 * @names: comma-separated
 *
 * Return: 0, or -1 after a message to the user
 */
int events_add(struct event_list *list, const char *names)
{
	for (;;) {
		size_t len = name_length(names);

		if (!len)
			return fail("an event name is missing: -e takes NAME[:MODIFIERS][,…]");
		if (add_one(list, names, len))
			return -1;
		if (!names[len])
			return 0;
		names += len + 1;
	}
}

/** events_free - forget all events */
void events_free(struct event_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->events[i].name);
	free(list->events);
	memset(list, 0, sizeof(*list));
}
