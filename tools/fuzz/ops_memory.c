// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on mappings: rings of every size and place, mapped over each other,
 * moved, protected, advised, and written to where user space may and where not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "world.h"

/* both ends of a pipe, which takes references on pages */
#define PIPE_FD	(EPOLL_FD + 1)

static char *arena(unsigned int slot)
{
	return (char *)(ARENA + slot * ARENA_SLOT);
}

static int some_prot(struct world *w)
{
	return rng_percent(&w->rng, 85) ? PROT_READ | (rng_percent(&w->rng, 75) ? PROT_WRITE : 0) :
	       RNG_PICK(&w->rng, PROT_NONE, PROT_WRITE, PROT_READ | PROT_EXEC,
			PROT_READ | PROT_WRITE | PROT_EXEC);
}

static size_t some_pages(struct world *w)
{
	return rng_percent(&w->rng, 88) ? RNG_PICK(&w->rng, 1, 2, 3, 5, 9, 17) :
	       RNG_PICK(&w->rng, 0, 4, 7, 33, 65, 129, 1025, (1 << 19) + 1, 1 << 20);
}

long op_mmap(struct world *w)
{
	int slot = rng_below(&w->rng, MAPS), fd = world_event(w), prot = some_prot(w);
	size_t len = some_pages(w) * PAGE;
	int flags = rng_percent(&w->rng, 95) ? MAP_SHARED : MAP_PRIVATE;
	off_t offset = rng_percent(&w->rng, 95) ? 0 : rng_below(&w->rng, 20) * PAGE;
	char *at = arena(slot), *got;

	if (rng_rarely(&w->rng, 10))	/* across what is there */
		at += rng_below(&w->rng, 12) * PAGE;
	flags |= rng_rarely(&w->rng, 20) ? MAP_FIXED_NOREPLACE : MAP_FIXED;
	if (rng_rarely(&w->rng, 15))
		flags |= RNG_PICK(&w->rng, MAP_POPULATE, MAP_LOCKED, MAP_NORESERVE, MAP_HUGETLB, MAP_GROWSDOWN);
	op_tell(w, " %d at %p %zu pages prot %x flags %x offset %lx", fd, at, len / PAGE, prot,
		flags, (long)offset);
	if (fd < 0)
		return 0;
	got = mmap(at, len, prot, flags, fd, offset);
	if (got == MAP_FAILED)
		return -1;
	w->map[slot] = got;
	w->map_len[slot] = len;
	return 0;
}

/* A slot with a mapping, if there is one. */
static int some_slot(struct world *w)
{
	int slot = rng_below(&w->rng, MAPS);

	for (int i = 0; i < MAPS && !w->map[slot] && !rng_rarely(&w->rng, 30); i++)
		slot = (slot + 1) % MAPS;
	return slot;
}

/* A mapping, part of one, or a former one. */
static char *some_map(struct world *w, size_t *len)
{
	int slot = some_slot(w);
	char *at = w->map[slot] ?: arena(slot);

	*len = w->map[slot] ? w->map_len[slot] : PAGE;
	if (rng_rarely(&w->rng, 6)) {
		size_t skip = rng_below(&w->rng, *len / PAGE + 1) * PAGE;

		at += skip;
		*len = (1 + rng_below(&w->rng, 1 + *len / PAGE)) * PAGE;
	}
	return at;
}

long op_munmap(struct world *w)
{
	size_t len;
	char *at = some_map(w, &len);

	op_tell(w, " %p %zu pages", at, len / PAGE);
	if (len > ARENA_SLOT * 4)
		len = ARENA_SLOT;
	for (int i = 0; i < MAPS; i++)
		if (w->map[i] == at && rng_percent(&w->rng, 90))
			w->map[i] = NULL;
	return munmap(at, len);
}

long op_mremap(struct world *w)
{
	size_t len, to = some_pages(w) * PAGE;
	char *at = some_map(w, &len);
	int slot = rng_below(&w->rng, MAPS);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *got;

	if (rng_rarely(&w->rng, 3))
		to = len;
	if (rng_rarely(&w->rng, 5))
		flags = 0;
	else if (rng_rarely(&w->rng, 4))
		flags |= MREMAP_DONTUNMAP;
	if (rng_rarely(&w->rng, 8))
		len = 0;	/* a second mapping of the same */
	op_tell(w, " %p %zu pages to %p %zu pages flags %x", at, len / PAGE, arena(slot), to / PAGE,
		flags);
	got = mremap(at, len, to, flags, arena(slot));
	if (got == MAP_FAILED)
		return -1;
	w->map[slot] = got;
	w->map_len[slot] = to;
	return 0;
}

long op_mprotect(struct world *w)
{
	size_t len;
	char *at = some_map(w, &len);
	int prot = some_prot(w);

	op_tell(w, " %p %zu pages prot %x", at, len / PAGE, prot);
	return mprotect(at, len, prot);
}

long op_madvise(struct world *w)
{
	size_t len;
	char *at = some_map(w, &len);
	int advice = RNG_PICK(&w->rng, MADV_NORMAL, MADV_DONTNEED, MADV_DONTNEED, MADV_DONTFORK,
			      MADV_DOFORK, MADV_DOFORK, MADV_WILLNEED, MADV_REMOVE, MADV_FREE,
			      MADV_MERGEABLE, MADV_HUGEPAGE, MADV_DODUMP, MADV_WIPEONFORK,
			      MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE);

	if (rng_rarely(&w->rng, 6)) {
		op_tell(w, " mlock %p %zu pages", at, len / PAGE);
		return rng_percent(&w->rng, 50) ? mlock(at, len) : munlock(at, len);
	}
	op_tell(w, " %p %zu pages %d", at, len / PAGE, advice);
	return madvise(at, len, advice);
}

/* Positions that a correct reader never writes. */
static void spoil_tail(struct world *w, volatile struct perf_event_mmap_page *page)
{
	uint64_t head = page->data_head;

	switch (rng_below(&w->rng, 5)) {
	case 0:
	case 1:
		page->data_tail = head;
		break;
	case 2:
		page->data_tail = head + rng_any(&w->rng);
		break;
	case 3:
		page->data_tail = head - rng_any(&w->rng);
		break;
	default:
		page->data_tail = rng_any(&w->rng);
	}
}

static volatile uint64_t *word(char *at, size_t number)
{
	return (volatile uint64_t *)at + number;
}

static long touch(struct world *w, char *at, size_t len)
{
	static __thread char page[PAGE];
	struct iovec iov = { at, PAGE };
	uint64_t sum = 0;

	switch (rng_below(&w->rng, 10)) {
	case 0: case 1: case 2: case 3:
		spoil_tail(w, (volatile struct perf_event_mmap_page *)at);
		return 0;
	case 4:
		*word(at, rng_below(&w->rng, 512)) = rng_any(&w->rng);
		return 0;
	case 5:
		*word(at, rng_below(&w->rng, len / 8)) = 0;
		return 0;
	case 6:
		memset((void *)at, rng_next(&w->rng), PAGE);
		return 0;
	case 7:	/* a page that outlives its mapping */
		return vmsplice(PIPE_FD + 1, &iov, 1, SPLICE_F_NONBLOCK);
	case 8:	/* frees it */
		return read(PIPE_FD, page, sizeof(page));
	default:
		for (size_t i = 0; i < len; i += 256)
			sum += *word(at, i / 8);
		return sum & 1;
	}
}

long op_touch(struct world *w)
{
	int slot = some_slot(w);
	char *at = w->map[slot] ?: arena(slot);
	size_t len = w->map[slot] ? w->map_len[slot] : PAGE;

	op_tell(w, " %p", at);
	return world_access(w, touch, at, len < ARENA_SLOT ? len : ARENA_SLOT);
}

static uint64_t rdpmc(uint32_t counter)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return (uint64_t)high << 32 | low;
}

/* the counter that the user page names, or some other */
static long read_counter(struct world *w, char *at, size_t len)
{
	volatile struct perf_event_mmap_page *page = (void *)at;
	uint32_t counter = rng_percent(&w->rng, 30) ?
		RNG_PICK(&w->rng, 0, 1, 1U << 30, 1U << 30 | 1, 1U << 29, 99) : page->index - 1;

	(void)len;
	if (counter != ~0U)
		rdpmc(counter);
	return 0;
}

long op_rdpmc(struct world *w)
{
	char *at = w->map[some_slot(w)] ?: arena(0);

	op_tell(w, " %p", at);
	return world_access(w, read_counter, at, PAGE);
}

/* Mappings that cause MMAP records, behind the arena of rings. */
long op_map_file(struct world *w)
{
	char *at = arena(MAPS + rng_below(&w->rng, 4)), *got;
	int fd;

	if (rng_percent(&w->rng, 25))
		return munmap(at, ARENA_SLOT);
	if (rng_percent(&w->rng, 25)) {
		got = mmap(at, PAGE * 4, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		return got == MAP_FAILED ? -1 : 0;
	}
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = mmap(at, PAGE * 4, PROT_READ | (rng_percent(&w->rng, 60) ? PROT_EXEC : 0),
		   MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	return got == MAP_FAILED ? -1 : 0;
}
