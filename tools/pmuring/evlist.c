// SPDX-License-Identifier: GPL-2.0
/*
 * The open events of one run. Called by record and stat, which have filled in
 * the attributes; the order is open, enable, disable, read, close.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "door.h"
#include "evlist.h"
#include "util.h"

/* one fd per event and pair: many, and the default is 1024 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* as perf: without the right to watch the kernel, watch user mode and warn once */
static bool fall_back_to_user(struct evlist *evlist, struct event *event, int err)
{
	char *name;

	if ((err != EACCES && err != EPERM) || event->modifiers ||
	    event->attr.exclude_kernel)
		return false;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	event->attr.exclude_callchain_kernel = 1;
	name = xasprintf("%s:u", event->name);
	if (!evlist->user_told)
		warn("no permission to watch the kernel: '%s' becomes '%s', user mode only, and so do the others",
		     event->name, name);
	evlist->user_told = true;
	free(event->name);
	event->name = name;
	return true;
}

static bool is_without_pmu(int err)
{
	return err == ENOENT || err == EOPNOTSUPP || err == ENXIO || err == EBUSY;
}

/* as perf: without a PMU the clock shows where the time goes */
static bool fall_back_to_clock(struct event *event, const struct target_slot *slot, int err)
{
	if (!event->or_clock || !is_without_pmu(err) || !event_is_hardware(event))
		return false;
	warn("cannot sample '%s' (%s: %s); sampling by the clock instead, as -e cpu-clock does%s",
	     event->name, strerror(err),
	     door_explain_event(err, &event->attr, slot->pid, slot->cpu),
	     event->attr.freq ? "" : ", with -c in nanoseconds");
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	free(event->name);
	event->name = xstrdup("cpu-clock");
	return true;
}

/* what may vanish between listing and opening */
static bool is_gone(int err, const struct target_slot *slot)
{
	return (err == ESRCH && slot->pid > 0) || (err == ENODEV && slot->cpu >= 0);
}

static int open_counter(struct evlist *evlist, struct event *event,
			const struct target_slot *slot, int group_fd)
{
	int fd;

	for (;;) {
		fd = door_open_event(&event->attr, slot->pid, slot->cpu, group_fd,
				     PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 || (!fall_back_to_user(evlist, event, errno) &&
				!fall_back_to_clock(event, slot, errno)))
			return fd;
	}
}

static int explain(const struct event *event, const struct target_slot *slot, int err)
{
	return fail("cannot open event '%s' (pid %d, CPU %d): %s: %s", event->name,
		    slot->pid, slot->cpu, strerror(err),
		    door_explain_event(err, &event->attr, slot->pid, slot->cpu));
}

static void warn_missing(const struct event *event, const struct target_slot *slot)
{
	warn("cannot count '%s': %s", event->name,
	     door_explain_event(event->missing, &event->attr, slot->pid, slot->cpu));
}

/* continues without an event; a PMU that is held can be freed, so warn about that */
static void leave_out(struct evlist *evlist, struct event *event,
		      const struct target_slot *slot, int err)
{
	bool told = false;

	for (struct event *other = evlist->events->events; other < event; other++)
		told = told || other->missing == EBUSY;
	event->missing = err;
	if (err == EBUSY && !told)
		warn_missing(event, slot);
}

static int keep_counter(struct evlist *evlist, size_t event, const struct target_slot *slot, int fd)
{
	struct counter *counter = &evlist->counters[evlist->nr++];

	*counter = (struct counter){ .event = event, .slot = *slot, .fd = fd };
	if (ioctl(fd, PERF_EVENT_IOC_ID, &counter->id))
		return fail("cannot read the ID of event '%s': %s",
			    evlist->events->events[event].name, strerror(errno));
	return evlist->pages ? evlist_map(evlist, counter, evlist->pages) : 0;
}

/* Return: 0 with the fd in @fd, or with -1 if there is nothing to be watched; -1 on error */
static int add_counter(struct evlist *evlist, size_t event, const struct target_slot *slot,
		       int group_fd, int *fd)
{
	struct event *ev = &evlist->events->events[event];

	*fd = open_counter(evlist, ev, slot, group_fd);
	if (*fd >= 0)
		return keep_counter(evlist, event, slot, *fd);
	if (is_gone(errno, slot)) {
		warn("'%s': pid %d, CPU %d is gone, continuing without it", ev->name,
		     slot->pid, slot->cpu);
		return 0;
	}
	if (!ev->optional || !is_without_pmu(errno))
		return explain(ev, slot, errno);
	leave_out(evlist, ev, slot, errno);
	return 0;
}

/* opens an event on every pair; @fds: of all events, by event and pair */
static int open_everywhere(struct evlist *evlist, size_t event,
			   const struct target_slots *slots, int *fds)
{
	struct event *ev = &evlist->events->events[event];
	const int *leader = fds + ev->leader * slots->nr;
	bool alone = ev->leader == event;

	/* a group is counted as a whole or not at all */
	ev->missing = evlist->events->events[ev->leader].missing;
	for (size_t s = 0; s < slots->nr && !ev->missing; s++)
		if ((alone || leader[s] >= 0) &&
		    add_counter(evlist, event, &slots->slots[s], alone ? -1 : leader[s],
				&fds[event * slots->nr + s]))
			return -1;
	return 0;
}

/*
 * The tracker first, with its ring: before there is an event that a new task can
 * inherit, the records that name new tasks arrive.
 */
static int open_all(struct evlist *evlist, const struct target_slots *slots, int *fds)
{
	const struct event_list *events = evlist->events;
	int ret = 0;

	for (size_t e = 0; !ret && e < events->nr; e++)
		if (events->events[e].tracker)
			ret = open_everywhere(evlist, e, slots, fds);
	for (size_t e = 0; !ret && e < events->nr; e++)
		if (!events->events[e].tracker)
			ret = open_everywhere(evlist, e, slots, fds);
	return ret;
}

/* one for each CPU, or without CPUs one for each task, as evlist_map() makes them */
static size_t count_rings(const struct target_slots *slots)
{
	size_t nr = 0;

	if (!slots->nr || slots->slots[0].cpu < 0)
		return slots->nr;
	for (size_t i = 0; i < slots->nr; i++)
		nr += slots->slots[i].pid == slots->slots[0].pid;
	return nr;
}

/**
 * evlist_open - open every event on every pair
 * @evlist: filled in; close it also after an error
 * @events: with complete attributes; a fallback changes them
 * @slots: from target_resolve()
 * @pages: data pages of each ring, a power of two; 0: no rings
 *
 * When all events are optional, there may be none open in the end.
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_open(struct evlist *evlist, struct event_list *events,
		const struct target_slots *slots, size_t pages)
{
	size_t nr = events->nr * slots->nr;
	int *fds, ret;

	*evlist = (struct evlist){ .events = events, .pages = pages };
	if (door_fd() < 0)
		return fail("cannot open %s: %s: %s", PMURING_DEVICE, strerror(errno),
			    door_explain_node(errno));
	raise_file_limit();
	evlist->counters = xalloc(nr * sizeof(*evlist->counters));
	evlist->all_rings = count_rings(slots);
	evlist->rings = xalloc(evlist->all_rings * sizeof(*evlist->rings));
	fds = xalloc(nr * sizeof(*fds));
	for (size_t i = 0; i < nr; i++)
		fds[i] = -1;
	ret = open_all(evlist, slots, fds);
	free(fds);
	if (ret || evlist->nr)
		return ret;
	if (!events->events[0].missing)
		return fail("nothing left to watch");
	if (events->events[0].missing != EBUSY)
		warn_missing(&events->events[0], &slots->slots[0]);
	return 0;
}

static bool leads(const struct evlist *evlist, const struct counter *counter)
{
	return evlist->events->events[counter->event].leader == counter->event;
}

/**
 * evlist_enable - start all events
 * @evlist: open
 *
 * A group starts with its leader.
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_enable(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++)
		if (leads(evlist, &evlist->counters[i]) &&
		    ioctl(evlist->counters[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return fail("cannot enable event '%s': %s",
				    evlist->events->events[evlist->counters[i].event].name,
				    strerror(errno));
	return 0;
}

/** evlist_disable - stop all events; what they counted stays readable */
void evlist_disable(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++)
		if (leads(evlist, &evlist->counters[i]))
			ioctl(evlist->counters[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* of a whole group, in which @counter is one */
static int read_group(const struct counter *counter, size_t size, struct reading *reading)
{
	struct {
		uint64_t nr, enabled, running;
		struct {
			uint64_t value, id, lost;
		} member[];
	} *group = xalloc(sizeof(*group) + size * sizeof(group->member[0]));
	size_t want = sizeof(*group) + size * sizeof(group->member[0]);
	ssize_t got = read(counter->fd, group, want);

	if (got == (ssize_t)want)
		for (size_t i = 0; i < size; i++)
			if (group->member[i].id == counter->id)
				*reading = (struct reading){
					.value = group->member[i].value,
					.enabled = group->enabled,
					.running = group->running,
					.id = counter->id,
					.lost = group->member[i].lost,
				};
	free(group);
	return got == (ssize_t)want;
}

/**
 * evlist_read - read one event
 * @evlist: open, with READING_FORMAT, sample_read groups also with FORMAT_GROUP
 * @counter: one of it
 * @reading: filled in
 *
 * Return: 0, or -1 with errno
 */
int evlist_read(const struct evlist *evlist, const struct counter *counter,
		struct reading *reading)
{
	const struct event *event = &evlist->events->events[counter->event];
	ssize_t got;

	errno = EIO;
	if (event->attr.read_format & PERF_FORMAT_GROUP)
		return read_group(counter, events_group_size(evlist->events, event->leader),
				  reading) ? 0 : -1;
	got = read(counter->fd, reading, sizeof(*reading));
	return got == sizeof(*reading) ? 0 : -1;
}

/** evlist_close - unmap and close everything */
void evlist_close(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr_rings; i++)
		ring_unmap(&evlist->rings[i].ring);
	for (size_t i = 0; i < evlist->nr; i++)
		close(evlist->counters[i].fd);
	free(evlist->rings);
	free(evlist->counters);
	memset(evlist, 0, sizeof(*evlist));
}
