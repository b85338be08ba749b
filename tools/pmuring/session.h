/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a run of record and one of stat have in common: the signals that end it,
 * the command, what it watches, and the events that are open on them.
 */
#ifndef PMURING_TOOL_SESSION_H
#define PMURING_TOOL_SESSION_H

#include "evlist.h"
#include "workload.h"

/**
 * struct session - one run
 * @target: what it watches
 * @evlist: the events
 * @workload: the command, if there is one
 * @signal_fd: readable when a signal has come
 * @not_inherited: what the module could not inherit before it
 */
struct session {
	const struct target *target;
	struct evlist evlist;
	struct workload workload;
	int signal_fd;
	uint64_t not_inherited;
};

void session_prepare(const struct target *target, struct event_list *events);
int session_open(struct session *session, const struct target *target,
		 struct event_list *events, bool per_cpu, size_t pages);
int session_enable(struct session *session);
int session_go(struct session *session);
void session_tell(const struct session *session);
int session_close(struct session *session, int ret);

#endif
