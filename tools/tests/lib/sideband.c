// SPDX-License-Identifier: GPL-2.0
/*
 * Sideband records as text. Called by sideband_test.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "events.h"
#include "sideband.h"
#include "tap.h"

#define TRAILER		(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |	\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define TRAILER_WORDS	6

/* maximum number of tasks in a story: the test, the actor, its children */
#define CAST_MAX	16

/**
 * struct teller - a story under construction
 * @story: lines so far
 * @id: of the event
 * @trailer: records have one
 * @last_time: of the record before
 * @cast: ids of tasks, in the order in which they appeared
 * @number: how many
 */
struct teller {
	struct story *story;
	uint64_t id;
	bool trailer;
	uint64_t last_time;
	uint32_t cast[CAST_MAX];
	size_t number;
};

static void say(struct teller *teller, const char *format, ...)
{
	struct story *story = teller->story;
	va_list args;
	char *more, *line = story->line[story->lines];
	char text[512];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (asprintf(&more, "%s%s", line ?: "", text) < 0)
		bail_out("no memory");
	free(line);
	story->line[story->lines] = more;
}

/* Task ids differ in each run, but the order of appearance is the same. */
static void say_task(struct teller *teller, const char *what, uint32_t id)
{
	size_t i;

	for (i = 0; i < teller->number && teller->cast[i] != id; i++)
		;
	if (i == teller->number && teller->number < CAST_MAX)
		teller->cast[teller->number++] = id;
	say(teller, " %s=T%zu", what, i);
}

static void say_pids(struct teller *teller, uint64_t word)
{
	say_task(teller, "pid", word);
	say_task(teller, "tid", word >> 32);
}

/* A file that exists only in memory has a new inode in each run. */
static void say_file(struct teller *teller, const uint64_t *field, const char *name)
{
	bool lasts = !strstr(name, " (deleted)");

	say(teller, " dev=%#llx ino=%llu gen=%llu prot+flags=%#llx", (unsigned long long)field[0],
	    (unsigned long long)(lasts ? field[1] : !!field[1]),
	    (unsigned long long)(lasts ? field[2] : 0), (unsigned long long)field[3]);
}

static void say_mmap(struct teller *teller, const uint64_t *field, bool second)
{
	const char *name = (const char *)(field + (second ? 8 : 4));

	say_pids(teller, field[0]);
	say(teller, " addr=%#llx len=%#llx pgoff=%#llx", (unsigned long long)field[1],
	    (unsigned long long)field[2], (unsigned long long)field[3]);
	if (second)
		say_file(teller, field + 4, name);
	say(teller, " name=%s", name);
}

static void say_fork(struct teller *teller, const uint64_t *field)
{
	say_task(teller, "pid", field[0]);
	say_task(teller, "ppid", field[0] >> 32);
	say_task(teller, "tid", field[1]);
	say_task(teller, "ptid", field[1] >> 32);
	teller->story->faults += teller->trailer && field[2] < teller->last_time;
}

static void say_trailer(struct teller *teller, const struct record *rec)
{
	const uint64_t *field = (const void *)((const char *)rec + rec->header.size);

	field -= TRAILER_WORDS;
	say_task(teller, "by", field[0] >> 32);
	teller->story->copies += field[3] != field[2];
	say(teller, " cpu=%llu", (unsigned long long)field[4]);
	teller->story->faults += field[1] < teller->last_time || field[2] != teller->id ||
				 field[5] != teller->id;
	teller->last_time = field[1];
}

static bool is_known(const struct teller *teller, uint32_t id)
{
	for (size_t i = 0; i < teller->number; i++)
		if (teller->cast[i] == id)
			return true;
	return false;
}

/* A CPU event records other tasks too. T0 is the test itself. */
static bool is_part(const struct teller *teller, const struct record *rec)
{
	uint32_t pid = rec->field[0], parent = rec->field[0] >> 32;

	switch (rec->header.type) {
	case PERF_RECORD_FORK:
		return is_known(teller, parent) && parent != teller->cast[0];
	default:
		return is_known(teller, pid) && pid != teller->cast[0];
	}
}

/* A record of a task outside the test, by its body or its trailer. */
static void check_read(struct teller *teller, const struct record *rec)
{
	const uint64_t *end = (const void *)((const char *)rec + rec->header.size);

	teller->story->reads++;
	teller->story->faults += (uint32_t)rec->field[0] == teller->cast[0] ||
				 (teller->trailer && rec->field[0] != end[-TRAILER_WORDS]);
}

static void say_record(const struct record *rec, void *data)
{
	static const char *const names[] = {
		[PERF_RECORD_MMAP] = "MMAP", [PERF_RECORD_LOST] = "LOST",
		[PERF_RECORD_COMM] = "COMM", [PERF_RECORD_EXIT] = "EXIT",
		[PERF_RECORD_FORK] = "FORK", [PERF_RECORD_MMAP2] = "MMAP2",
	};
	uint32_t type = rec->header.type;
	struct teller *teller = data;

	if (type == PERF_RECORD_READ)
		check_read(teller, rec);
	if (type == PERF_RECORD_READ || !is_part(teller, rec) ||
	    teller->story->lines == STORY_MAX - 1)
		return;
	say(teller, "%s misc=%#x size=%u",
	    type < ARRAY_SIZE(names) && names[type] ? names[type] : "?", rec->header.misc,
	    rec->header.size);
	if (type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2) {
		say_mmap(teller, rec->field, type == PERF_RECORD_MMAP2);
	} else if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) {
		say_fork(teller, rec->field);
	} else {
		say_pids(teller, rec->field[0]);
		if (type == PERF_RECORD_COMM)
			say(teller, " name=%s", (const char *)(rec->field + 1));
	}
	if (teller->trailer)
		say_trailer(teller, rec);
	teller->story->lines++;
}

/**
 * story_tell - run the actor and collect an event's records as text
 * @story: filled in
 * @open: which door
 * @attr: event; its sample_type is set here
 * @cpu_wide: a CPU event, not an event on the actor
 * @cpu: where, or -1
 *
 * Pins the caller, and so the actor, to a CPU.
 */
void story_tell(struct story *story, open_fn open, const struct perf_event_attr *attr,
		bool cpu_wide, int cpu)
{
	struct perf_event_attr copy = *attr;
	struct teller teller = {
		.story = story,
		.trailer = attr->sample_id_all,
		.cast = { getpid() },
		.number = 1,
	};
	struct ring ring;
	int go, fd;
	pid_t pid = actor_start(&go);

	memset(story, 0, sizeof(*story));
	teller.cast[teller.number++] = pid;
	copy.sample_type = TRAILER;
	fd = open(&copy, cpu_wide ? -1 : pid, cpu);
	if (fd < 0)
		bail_out("cannot open an event of the actor");
	teller.id = event_id(fd);
	map_ring(&ring, fd, 64);
	if (write(go, "", 1) != 1)
		bail_out("the actor cannot hear");
	waitpid(pid, NULL, 0);
	drain(&ring, say_record, &teller);
	ring_unmap(&ring);
	close(fd);
	close(go);
}

/**
 * story_has - whether a line contains a text
 * @story: told
 * @text: text
 *
 * Return: whether there is
 */
bool story_has(const struct story *story, const char *text)
{
	for (size_t i = 0; i < story->lines; i++)
		if (strstr(story->line[i], text))
			return true;
	return false;
}

/**
 * story_free - forget a story
 * @story: told
 */
void story_free(struct story *story)
{
	for (size_t i = 0; i <= story->lines; i++)
		free(story->line[i]);
	memset(story, 0, sizeof(*story));
}
