// SPDX-License-Identifier: GPL-2.0
/*
 * The open events of one run. Called by record and stat, which have filled in
 * the attributes; the order is open, map (record only), enable, disable, read,
 * close.
 */
#include <errno.h>
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

/* as perf: who may not see the kernel gets the user's half, and is told */
static bool fall_back_to_user(struct event *event, int err)
{
	if ((err != EACCES && err != EPERM) || event->modifiers ||
	    event->attr.exclude_kernel)
		return false;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	warn("no permission to watch the kernel: '%s' counts user mode only (as %s:u)",
	     event->name, event->name);
	return true;
}

/* what may vanish between listing and opening */
static bool is_gone(int err, const struct target_slot *slot)
{
	return (err == ESRCH && slot->pid > 0) || (err == ENODEV && slot->cpu >= 0);
}

static int open_counter(struct event *event, const struct target_slot *slot)
{
	int fd;

	for (;;) {
		fd = door_open_event(&event->attr, slot->pid, slot->cpu, -1,
				     PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 || !fall_back_to_user(event, errno))
			return fd;
	}
}

static int explain(const struct event *event, const struct target_slot *slot, int err)
{
	return fail("cannot open event '%s' (pid %d, CPU %d): %s: %s", event->name,
		    slot->pid, slot->cpu, strerror(err),
		    door_explain_event(err, &event->attr, slot->pid, slot->cpu));
}

static int add_counter(struct evlist *evlist, size_t event, const struct target_slot *slot)
{
	struct event *ev = &evlist->events->events[event];
	struct counter *counter = &evlist->counters[evlist->nr];
	int fd = open_counter(ev, slot);

	if (fd < 0 && is_gone(errno, slot)) {
		warn("'%s': pid %d, CPU %d is gone, going on without it", ev->name,
		     slot->pid, slot->cpu);
		return 0;
	}
	if (fd < 0 && ev->optional && (errno == ENOENT || errno == EOPNOTSUPP)) {
		ev->missing = true;
		return 0;
	}
	if (fd < 0)
		return explain(ev, slot, errno);
	*counter = (struct counter){ .event = event, .slot = *slot, .fd = fd };
	evlist->nr++;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &counter->id))
		return fail("cannot read the ID of event '%s': %s", ev->name, strerror(errno));
	return 0;
}

/**
 * evlist_open - open every event on every pair
 * @evlist: filled in; close it also after an error
 * @events: with complete attributes
 * @slots: from target_resolve()
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_open(struct evlist *evlist, struct event_list *events,
		const struct target_slots *slots)
{
	*evlist = (struct evlist){ .events = events };
	if (door_fd() < 0)
		return fail("cannot open %s: %s: %s", PMURING_DEVICE, strerror(errno),
			    door_explain_node(errno));
	raise_file_limit();
	evlist->counters = xalloc(events->nr * slots->nr * sizeof(*evlist->counters));
	for (size_t e = 0; e < events->nr; e++)
		for (size_t s = 0; s < slots->nr && !events->events[e].missing; s++)
			if (add_counter(evlist, e, &slots->slots[s]))
				return -1;
	if (evlist->nr)
		return 0;
	if (events->events[0].missing)
		return explain(&events->events[0], &slots->slots[0], ENOENT);
	return fail("nothing left to watch");
}

/**
 * evlist_map - map a ring for every event
 * @evlist: open
 * @pages: data pages per ring, a power of two
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_map(struct evlist *evlist, size_t pages)
{
	for (size_t i = 0; i < evlist->nr; i++) {
		struct counter *counter = &evlist->counters[i];

		if (!ring_map(&counter->ring, counter->fd, pages))
			continue;
		if (errno == EPERM)
			return fail("%zu rings of %zu pages are more memory than this user may lock: use a smaller -m, raise ulimit -l, or run as root",
				    evlist->nr, pages);
		return fail("cannot map a ring of %zu pages: %s", pages, strerror(errno));
	}
	return 0;
}

/**
 * evlist_enable - start all events
 * @evlist: open
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_enable(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++)
		if (ioctl(evlist->counters[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return fail("cannot enable event '%s': %s",
				    evlist->events->events[evlist->counters[i].event].name,
				    strerror(errno));
	return 0;
}

/** evlist_disable - stop all events; what they counted stays readable */
void evlist_disable(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++)
		ioctl(evlist->counters[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/**
 * counter_read - read one event
 * @counter: opened with READING_FORMAT
 * @reading: filled in
 *
 * Return: 0, or -1 with errno
 */
int counter_read(const struct counter *counter, struct reading *reading)
{
	ssize_t got = read(counter->fd, reading, sizeof(*reading));

	if (got == sizeof(*reading))
		return 0;
	if (got >= 0)
		errno = EIO;
	return -1;
}

/** evlist_close - unmap and close everything */
void evlist_close(struct evlist *evlist)
{
	for (size_t i = 0; i < evlist->nr; i++) {
		ring_unmap(&evlist->counters[i].ring);
		close(evlist->counters[i].fd);
	}
	free(evlist->counters);
	memset(evlist, 0, sizeof(*evlist));
}
