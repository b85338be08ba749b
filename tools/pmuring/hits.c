// SPDX-License-Identifier: GPL-2.0
/*
 * The files that the samples of a recording are in: reads what was recorded
 * once more, as report will, and takes down the build IDs while the files are
 * still those that ran. Called by record.c when all records are written.
 */
#include <stdlib.h>
#include <string.h>

#include "build_id.h"
#include "hits.h"
#include "machine.h"
#include "perfdata_read.h"

#define BUCKETS	1024

struct name {
	struct name *next;
	char text[];
};

struct collection {
	struct hits *hits;
	struct machine machine;
	struct name *names[BUCKETS];
};

/* Return: whether it is new */
static bool add_name(struct collection *all, const char *text)
{
	struct name **bucket = &all->names[hash_string(HASH_START, text) % BUCKETS], *name;

	for (name = *bucket; name; name = name->next)
		if (!strcmp(name->text, text))
			return false;
	name = xalloc(sizeof(*name) + strlen(text) + 1);
	strcpy(name->text, text);
	name->next = *bucket;
	*bucket = name;
	return true;
}

static void see_sample(struct collection *all, const struct record *rec)
{
	const struct code_map *map;

	if (machine_comm(&all->machine, &rec->sample)[0] == ':')
		all->hits->unnamed++;
	if (sample_mode(rec->header) != PERF_RECORD_MISC_USER)
		return;
	map = machine_map(&all->machine, rec->sample.pid, rec->sample.ip);
	if (map && map->name[0] == '/' && add_name(all, map->name))
		build_id_add_file(&all->hits->build_ids, map->name);
}

static int see_record(void *ctx, const struct record *rec)
{
	struct collection *all = ctx;

	if (rec->header->type == PERF_RECORD_SAMPLE)
		see_sample(all, rec);
	else
		machine_see(&all->machine, rec);
	return 0;
}

/**
 * hits_collect - find out
 * @hits: filled in; its buffer is to be freed
 * @path: the file, complete but for its feature sections
 *
 * Return: 0, or -1 after a message to the user
 */
int hits_collect(struct hits *hits, const char *path)
{
	struct collection *all = xalloc(sizeof(*all));
	struct perfdata_in in;
	int ret = perfdata_open(&in, path);

	memset(hits, 0, sizeof(*hits));
	all->hits = hits;
	build_id_add_kernel(&hits->build_ids);
	if (!ret)
		perfdata_for_each(&in, see_record, all);
	perfdata_close(&in);
	machine_free(&all->machine);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct name *name = all->names[i], *next; name; name = next) {
			next = name->next;
			free(name);
		}
	}
	free(all);
	return ret;
}
