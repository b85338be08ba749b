/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every part of the tool needs: messages to the user, memory that is
 * there or ends the program, and a growing byte buffer.
 */
#ifndef PMURING_TOOL_UTIL_H
#define PMURING_TOOL_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

void note(const char *fmt, ...) PRINTF(1, 2);
void warn(const char *fmt, ...) PRINTF(1, 2);
int fail(const char *fmt, ...) PRINTF(1, 2);

/* what hash_string() begins with */
#define HASH_START	5381

/* set by -q and -v: no notes, or more of them */
extern int verbosity;

void *xalloc(size_t size);
void *xrealloc_array(void *old, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);

/**
 * struct buf - bytes that grow
 * @data: the bytes
 * @len: how many are used
 * @room: how many there is memory for
 */
struct buf {
	char *data;
	size_t len;
	size_t room;
};

void *buf_extend(struct buf *buf, size_t len);
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_free(struct buf *buf);

char *read_file(const char *path, size_t *len);
int write_all(int fd, struct iovec *iov, int nr);
bool parse_u64(const char *s, uint64_t *value);
uint32_t hash_string(uint32_t hash, const char *s);

#endif
