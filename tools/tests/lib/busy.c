// SPDX-License-Identifier: GPL-2.0
/*
 * See busy.h. Called by the tests; the thread runs on CPU 1.
 */
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "busy.h"
#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

/* What is enabled is enabled again. */
static void *keep_busy(void *data)
{
	struct busy *busy = data;

	cpu_pin(1);
	while (!busy->stop) {
		if (busy->leader >= 0)
			ioctl(busy->leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
		else
			sched_yield();
	}
	return NULL;
}

/**
 * busy_create - make the thread
 * @busy: filled in
 *
 * Before the events, which it would inherit
 */
void busy_create(struct busy *busy)
{
	busy->leader = -1;
	busy->n = 0;
	busy->stop = false;
	if (pthread_create(&busy->thread, NULL, keep_busy, busy))
		bail_out("no thread");
}

/**
 * busy_start - let it begin
 * @busy: created
 * @leader: of the group, enabled
 * @pid: as the leader was opened for
 * @cpu: likewise
 * @inherit: likewise
 * @siblings: that the group gets; they count nothing
 */
void busy_start(struct busy *busy, int leader, pid_t pid, int cpu, int inherit, int siblings)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);

	attr.inherit = inherit;
	attr.disabled = 0;
	for (busy->n = 0; busy->n < siblings; busy->n++) {
		busy->siblings[busy->n] = door_open_event(&attr, pid, cpu, leader, 0);
		if (busy->siblings[busy->n] < 0)
			bail_out("the group does not grow");
	}
	busy->leader = leader;
}

/**
 * busy_end - end it, and close the siblings
 * @busy: started
 */
void busy_end(struct busy *busy)
{
	busy->stop = true;
	pthread_join(busy->thread, NULL);
	while (busy->n--)
		close(busy->siblings[busy->n]);
}
