// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a perf.data file. Called by record alone. The header is written last,
 * so a file that was cut short says by its empty data section that it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfdata.h"
#include "perfdata_write.h"

static int explain(const struct perfdata_out *out)
{
	return fail("cannot write %s: %s%s", out->path, strerror(errno),
		    errno == ENOSPC ? ": free some space, or choose another place with -o" : "");
}

/* as perf: the last profile is kept once, as perf.data.old */
static void keep_old(const char *path)
{
	char *old = xasprintf("%s.old", path);

	if (!access(path, F_OK) && rename(path, old))
		warn("cannot keep the previous %s as %s: %s", path, old, strerror(errno));
	free(old);
}

static void add_ids(struct buf *buf, const struct evlist *evlist, size_t event,
		    struct file_section *ids)
{
	ids->offset = buf->len;
	for (size_t i = 0; i < evlist->nr; i++)
		if (evlist->counters[i].event == event)
			buf_add(buf, &evlist->counters[i].id, sizeof(uint64_t));
	ids->size = buf->len - ids->offset;
}

/* header, IDs, attributes; the offsets in the buffer are those in the file */
static void build_front(struct perfdata_out *out, struct buf *buf, const struct evlist *evlist)
{
	size_t nr = evlist->events->nr;
	struct file_attr *attrs = xalloc(nr * sizeof(*attrs));

	buf_extend(buf, sizeof(struct file_header));
	for (size_t i = 0; i < nr; i++) {
		attrs[i].attr = evlist->events->events[i].attr;
		add_ids(buf, evlist, i, &attrs[i].ids);
	}
	out->attrs_offset = buf->len;
	buf_add(buf, attrs, nr * sizeof(*attrs));
	out->data_offset = buf->len;
	free(attrs);
}

static void build_header(const struct perfdata_out *out, struct file_header *header)
{
	memset(header, 0, sizeof(*header));
	memcpy(header->magic, PERFDATA_MAGIC, sizeof(header->magic));
	header->size = sizeof(*header);
	header->attr_size = sizeof(struct file_attr);
	header->attrs.offset = out->attrs_offset;
	header->attrs.size = out->data_offset - out->attrs_offset;
	header->data.offset = out->data_offset;
	header->data.size = out->data_size;
}

/**
 * perfdata_begin - create the file
 * @out: filled in
 * @path: the file; an existing one is renamed
 * @evlist: open
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_begin(struct perfdata_out *out, const char *path, const struct evlist *evlist)
{
	struct buf buf = { 0 };
	struct iovec iov;
	int ret;

	memset(out, 0, sizeof(*out));
	out->path = path;
	keep_old(path);
	/* 0600, as perf: a profile tells about other users' programs */
	out->fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return explain(out);
	build_front(out, &buf, evlist);
	build_header(out, (struct file_header *)buf.data);
	iov = (struct iovec){ buf.data, buf.len };
	ret = write_all(out->fd, &iov, 1);
	buf_free(&buf);
	return ret ? explain(out) : 0;
}

/**
 * perfdata_write - append whole records
 * @out: begun
 * @iov: the records; used up on return
 * @nr: how many pieces
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_write(struct perfdata_out *out, struct iovec *iov, int nr)
{
	uint64_t size = 0;

	for (int i = 0; i < nr; i++)
		size += iov[i].iov_len;
	if (write_all(out->fd, iov, nr))
		return explain(out);
	out->data_size += size;
	return 0;
}

/**
 * perfdata_sync - make the file readable as it stands, without features
 * @out: begun
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_sync(struct perfdata_out *out)
{
	struct file_header header;

	build_header(out, &header);
	return pwrite(out->fd, &header, sizeof(header), 0) == sizeof(header) ? 0 : explain(out);
}

/**
 * perfdata_finish - write the feature sections and the final header, and close
 * @out: begun
 * @facts: what they tell
 *
 * Return: 0, or -1 after a message to the user
 */
int perfdata_finish(struct perfdata_out *out, const struct perfdata_facts *facts)
{
	struct file_header header;
	struct buf features = { 0 };
	struct iovec iov;
	int ret;

	build_header(out, &header);
	features_build(facts, out->data_offset + out->data_size, header.features, &features);
	iov = (struct iovec){ features.data, features.len };
	ret = write_all(out->fd, &iov, 1);
	buf_free(&features);
	if (!ret && pwrite(out->fd, &header, sizeof(header), 0) != sizeof(header))
		ret = -1;
	if (close(out->fd))
		ret = -1;
	out->fd = -1;
	return ret ? explain(out) : 0;
}
