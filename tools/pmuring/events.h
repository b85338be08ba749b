/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event names as perf writes them, turned into perf_event_attr.
 */
#ifndef PMURING_TOOL_EVENTS_H
#define PMURING_TOOL_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct event - one event that the user asked for
 * @name: as it was written
 * @attr: type, config*, exclude_*, precise_ip; the rest is the caller's
 * @modifiers: whether a :u, :k … was given, which no fallback may change
 * @optional: go on without it where the CPU or the module does not have it
 * @missing: that was the case
 */
struct event {
	char *name;
	struct perf_event_attr attr;
	bool modifiers;
	bool optional;
	bool missing;
};

/**
 * struct event_list - all events of one command line
 * @events: in the order given
 * @nr: how many
 */
struct event_list {
	struct event *events;
	size_t nr;
};

int events_add(struct event_list *list, const char *names);
void events_free(struct event_list *list);
const char *events_generic_name(uint64_t config);

#endif
