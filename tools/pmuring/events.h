/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events as perf writes them on its command line, turned into perf_event_attr.
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
 * @attr: type, config*, exclude_*, precise_ip, pinned, exclusive; the rest is
 *	the caller's
 * @leader: index of the event that leads its group, its own when it is alone
 * @sample_read: ':S': the leader samples, and each sample has all counts of the group
 * @modifiers: whether a :u, :k … was given, which no fallback may change
 * @optional: go on without it where the CPU or the module does not have it
 * @missing: that was the case: the errno that said so, else 0
 * @tracker: it is there for the sideband, and to be opened before the others
 * @or_clock: use cpu-clock instead if the PMU is not available
 */
struct event {
	char *name;
	struct perf_event_attr attr;
	size_t leader;
	bool sample_read;
	bool modifiers;
	bool optional;
	int missing;
	bool tracker;
	bool or_clock;
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
struct event *events_add_tracker(struct event_list *list);
size_t events_group_size(const struct event_list *list, size_t leader);
bool event_is_hardware(const struct event *event);
void events_free(struct event_list *list);

/* event_names.c */
int event_name_parse(char *body, struct perf_event_attr *attr, char **name);
const char *events_generic_name(uint64_t config);

#endif
