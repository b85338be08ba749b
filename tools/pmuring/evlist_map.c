// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of the open events. Called by evlist.c for each event of a recording
 * as soon as it is open.
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

/* whether this user may lock the memory for so many rings, beside those that are mapped */
static bool rings_fit(size_t nr, size_t pages)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct ring *rings = xalloc(nr * sizeof(*rings));
	int *fds = xalloc(nr * sizeof(*fds));
	size_t mapped = 0, opened = 0;

	while (mapped < nr) {
		fds[opened] = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fds[opened] < 0 || ring_map(&rings[mapped], fds[opened++], pages))
			break;
		mapped++;
	}
	for (size_t i = 0; i < mapped; i++)
		ring_unmap(&rings[i]);
	for (size_t i = 0; i < opened; i++)
		close(fds[i]);
	free(rings);
	free(fds);
	return mapped == nr;
}

static void unmap_rings(struct evlist *evlist)
{
	while (evlist->nr_rings)
		ring_unmap(&evlist->rings[--evlist->nr_rings].ring);
}

/* the largest that would have fitted is found by trying; nothing tells what others use */
static int explain_budget(struct evlist *evlist, size_t pages)
{
	size_t page_kb = sysconf(_SC_PAGESIZE) / 1024, fitting = pages / 2;
	struct pmuring_info info = { 0 };
	struct rlimit limit = { 0 };
	char *advice;

	unmap_rings(evlist);
	while (fitting && !rings_fit(evlist->all_rings, fitting))
		fitting /= 2;
	door_info(&info);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	advice = fitting ? xasprintf("-m %zu fits", fitting) :
			   xstrdup("not even -m 1 fits");
	fail("cannot map %zu rings of %zu pages, %zu KiB: a user may lock %u KiB for each online CPU (parameter mlock_kb of the module), all rings together, and %lu KiB more in each process (RLIMIT_MEMLOCK): %s; or end other recordings of this user, raise mlock_kb or ulimit -l, or run as root",
	     evlist->all_rings, pages, evlist->all_rings * (pages + 1) * page_kb, info.mlock_kb,
	     (unsigned long)(limit.rlim_cur / 1024), advice);
	free(advice);
	return -1;
}

static int map_ring(struct evlist *evlist, const struct counter *counter, size_t pages)
{
	struct shared_ring *ring = &evlist->rings[evlist->nr_rings];

	if (ring_map(&ring->ring, counter->fd, pages))
		return errno == EPERM ? explain_budget(evlist, pages) :
					fail("cannot map a ring of %zu pages: %s", pages,
					     strerror(errno));
	ring->slot = counter->slot;
	ring->fd = counter->fd;
	evlist->nr_rings++;
	return 0;
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
