// SPDX-License-Identifier: GPL-2.0
/*
 * What a run of record and one of stat have in common. Called by both: prepare
 * once, then open, enable, go and close, for each run anew. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "door.h"
#include "session.h"
#include "signals.h"
#include "util.h"

/**
 * session_prepare - the part of the attributes that depends on the target
 * @target: checked
 * @events: as parsed
 */
void session_prepare(const struct target *target, struct event_list *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		struct perf_event_attr *attr = &events->events[i].attr;
		size_t leader = events->events[i].leader;
		bool leads = leader == i;
		bool group_read = events->events[leader].sample_read &&
				  events_group_size(events, leader) > 1;

		attr->read_format = READING_FORMAT | (group_read ? PERF_FORMAT_GROUP : 0);
		/* copies of a group cannot be read in a sample: as perf, without them */
		attr->inherit = target_inherits(target) && !group_read;
		attr->disabled = leads;
		attr->enable_on_exec = leads && !target_is_running(target);
	}
}

static uint64_t not_inherited(void)
{
	struct pmuring_info info;

	return door_info(&info) ? 0 : info.not_inherited;
}

/**
 * session_open - get ready: the command is held, the events are open
 * @session: filled in; close it also after an error
 * @target: checked
 * @events: with complete attributes
 * @per_cpu: whether events of tasks are to be opened for each CPU
 * @pages: data pages of each ring; 0: no rings
 *
 * Return: 0, or -1 after a message to the user
 */
int session_open(struct session *session, const struct target *target,
		 struct event_list *events, bool per_cpu, size_t pages)
{
	struct target_slots slots = { 0 };
	int ret = 0;

	memset(session, 0, sizeof(*session));
	session->target = target;
	session->signal_fd = signals_open();
	if (session->signal_fd < 0)
		return fail("cannot make a signalfd: %s", strerror(errno));
	if (target->argv)
		ret = workload_prepare(&session->workload, target->argv);
	if (!ret)
		ret = target_resolve(target, session->workload.pid, per_cpu, &slots);
	if (!ret)
		ret = evlist_open(&session->evlist, events, &slots, pages);
	free(slots.slots);
	session->not_inherited = not_inherited();
	return ret;
}

/**
 * session_enable - let the events go that do not wait for the command's exec
 * @session: open
 *
 * Return: 0, or -1 after a message to the user
 */
int session_enable(struct session *session)
{
	return target_is_running(session->target) ? evlist_enable(&session->evlist) : 0;
}

/**
 * session_go - let the command go
 * @session: open
 *
 * Return: 0, or -1 after a message to the user
 */
int session_go(struct session *session)
{
	return session->workload.pid ? workload_go(&session->workload) : 0;
}

/** session_tell - say what the result lacks, if the module had to leave something out */
void session_tell(const struct session *session)
{
	uint64_t missed = not_inherited() - session->not_inherited;

	if (missed)
		warn("%lu times a fork could not inherit an event because memory was short: those tasks are missing here; -a sees them",
		     missed);
}

/**
 * session_close - end what has not ended
 * @session: in any state
 * @ret: 0 if the run was a success
 *
 * Return: what to exit with
 */
int session_close(struct session *session, int ret)
{
	workload_stop(&session->workload);
	evlist_close(&session->evlist);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
	return ret ? EXIT_TOOL : workload_exit_code(&session->workload);
}
