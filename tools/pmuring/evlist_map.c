// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of the open events. Called by evlist.c for each event of a recording
 * as soon as it is open.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "evlist.h"
#include "util.h"

/* the events of a CPU share a ring, or without a CPU those of a task */
static struct shared_ring *find_ring(struct evlist *evlist, const struct target_slot *slot)
{
	for (size_t i = 0; i < evlist->nr_rings; i++) {
		struct shared_ring *ring = &evlist->rings[i];

		if (ring->slot.cpu == slot->cpu && (slot->cpu >= 0 || ring->slot.pid == slot->pid))
			return ring;
	}
	return NULL;
}

static int map_ring(struct evlist *evlist, const struct counter *counter, size_t pages)
{
	struct shared_ring *ring = &evlist->rings[evlist->nr_rings];

	if (!ring_map(&ring->ring, counter->fd, pages)) {
		ring->slot = counter->slot;
		ring->fd = counter->fd;
		evlist->nr_rings++;
		return 0;
	}
	if (errno == EPERM)
		return fail("rings of %zu pages are more memory than this user may lock: use a smaller -m, raise ulimit -l, or run as root",
			    pages);
	return fail("cannot map a ring of %zu pages: %s", pages, strerror(errno));
}

/**
 * evlist_map - give an event a ring, which it shares with the others of its CPU
 * @evlist: has room for the ring
 * @counter: open
 * @pages: data pages per ring, a power of two
 *
 * Return: 0, or -1 after a message to the user
 */
int evlist_map(struct evlist *evlist, const struct counter *counter, size_t pages)
{
	const struct shared_ring *ring = find_ring(evlist, &counter->slot);

	if (!ring)
		return map_ring(evlist, counter, pages);
	if (ioctl(counter->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		return fail("cannot let event '%s' share a ring: %s",
			    evlist->events->events[counter->event].name, strerror(errno));
	return 0;
}
