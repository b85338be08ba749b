// SPDX-License-Identifier: GPL-2.0
/*
 * The argument of -e: names with modifiers behind a colon, groups in braces.
 * What a name stands for is event_names.c's. Called while the command line is
 * parsed; touches no device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "util.h"

/* perf's letters, and those of them that say how the group is used */
#define LETTERS		"ukhIGHpPSDe"
#define GROUP_LETTERS	"SDe"

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
		return colon + 2 + (colon[2] == ':');
	}
	colon = strrchr(name, ':');
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, LETTERS)])
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static void set_modes(const char *mods, struct event *event)
{
	struct perf_event_attr *attr = &event->attr;

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
	if (strchr(mods, 'I'))
		attr->exclude_idle = 1;
	/* P is as precise as can be, which is not at all */
	for (; *mods; mods++)
		if (*mods == 'p' && attr->precise_ip < 3)
			attr->precise_ip++;
}

static void set_modifiers(const char *mods, struct event *event, bool leads)
{
	set_modes(mods, event);
	event->sample_read = strchr(mods, 'S');
	/* only a group as a whole can be either */
	event->attr.pinned = leads && strchr(mods, 'D');
	event->attr.exclusive = leads && strchr(mods, 'e');
}

/* the name as it would be written without the group */
static void rename_in_group(struct event *event, bool has_mods, const char *group_mods)
{
	char *name;
	size_t len = strcspn(group_mods, GROUP_LETTERS);

	if (!len)
		return;
	name = xasprintf("%s%s%.*s", event->name, has_mods ? "" : ":", (int)len, group_mods);
	free(event->name);
	event->name = name;
}

/* @leader: SIZE_MAX if the event is alone */
static int add_one(struct event_list *list, const char *name, size_t len, size_t leader,
		   const char *group_mods)
{
	struct event *event;
	char *body = xalloc(len + 3), *mods, *all;
	int ret;

	memcpy(body, name, len);
	list->events = xrealloc_array(list->events, list->nr + 1, sizeof(*list->events));
	event = &list->events[list->nr];
	memset(event, 0, sizeof(*event));
	event->leader = leader == SIZE_MAX ? list->nr : leader;
	event->name = xstrdup(body);
	event->attr.size = sizeof(event->attr);
	mods = split_modifiers(body);
	if (mods && mods[strspn(mods, LETTERS)])
		ret = fail("event '%s': modifiers are u k h I G H p P S D e", event->name);
	else
		ret = event_name_parse(body, &event->attr, &event->name);
	all = xasprintf("%s%s", mods ? mods : "", group_mods);
	set_modifiers(all, event, event->leader == list->nr);
	rename_in_group(event, mods, group_mods);
	list->nr++;
	free(all);
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
		else if ((names[len] == ',' || names[len] == '}') && !inside)
			break;
	}
	return len;
}

/* "a,b" of "{a,b}:S" */
static int add_members(struct event_list *list, const char *names, const char *end,
		       const char *mods)
{
	size_t leader = list->nr;

	for (;;) {
		size_t len = name_length(names);

		if (!len)
			return fail("an event name is missing in a group: -e takes {NAME,NAME…}[:MODIFIERS]");
		if (add_one(list, names, len, leader, mods))
			return -1;
		names += len;
		if (names == end)
			return 0;
		if (*names++ != ',')
			return fail("-e %s: a group inside a group", names);
	}
}

/* moves @names behind the group and its modifiers */
static int add_group(struct event_list *list, const char **names)
{
	const char *start = *names + 1, *end = strchr(start, '}');
	char *mods;
	int ret;

	if (!end || memchr(start, '{', end - start))
		return fail("-e %s: unbalanced braces, or a group inside a group", *names);
	*names = end + 1 + strcspn(end + 1, ",");
	mods = xasprintf("%.*s", (int)(*names - end - 1), end + 1);
	if (*mods && (*mods != ':' || !mods[1] || mods[1 + strspn(mods + 1, LETTERS)]))
		ret = fail("'%s' after a group: modifiers are :u k h I G H p P S D e", mods);
	else
		ret = add_members(list, start, end, *mods ? mods + 1 : "");
	free(mods);
	return ret;
}

static int add_alone(struct event_list *list, const char **names)
{
	size_t len = name_length(*names);

	if (!len || (*names)[len] == '}')
		return fail("an event name is missing: -e takes NAME[:MODIFIERS][,…], groups as {NAME,NAME…}");
	if (add_one(list, *names, len, SIZE_MAX, ""))
		return -1;
	*names += len;
	return 0;
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
		if (*names == '{' ? add_group(list, &names) : add_alone(list, &names))
			return -1;
		if (!*names)
			return 0;
		names++;
	}
}

/**
 * events_add_tracker - add an event that counts nothing, for the sideband alone
 * @list: grows
 *
 * Return: the event, valid until the next is added
 */
struct event *events_add_tracker(struct event_list *list)
{
	events_add(list, "dummy:u");
	list->events[list->nr - 1].tracker = true;
	return &list->events[list->nr - 1];
}

/** events_group_size - how many events there are in the group of a leader */
size_t events_group_size(const struct event_list *list, size_t leader)
{
	size_t size = 0;

	for (size_t i = leader; i < list->nr; i++)
		size += list->events[i].leader == leader;
	return size;
}

/** event_is_hardware - whether an event needs a PMU */
bool event_is_hardware(const struct event *event)
{
	return event->attr.type != PERF_TYPE_SOFTWARE;
}

/** events_free - forget all events */
void events_free(struct event_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->events[i].name);
	free(list->events);
	memset(list, 0, sizeof(*list));
}
