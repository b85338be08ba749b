// SPDX-License-Identifier: GPL-2.0
/*
 * What every part of the tool needs: messages, memory, files read whole.
 * Messages go to stderr, so that a command's stdout holds its result alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

int verbosity;

static void message(const char *kind, const char *fmt, va_list args)
{
	fprintf(stderr, "pmuring: %s", kind);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

/** note - tell the user something that -q hides */
void note(const char *fmt, ...)
{
	va_list args;

	if (verbosity < 0)
		return;
	va_start(args, fmt);
	message("", fmt, args);
	va_end(args);
}

/** warn - tell the user that the result is not what was asked for */
void warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	message("warning: ", fmt, args);
	va_end(args);
}

/**
 * fail - tell the user why it does not work
 *
 * Return: -1, for `return fail(...)`
 */
int fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	message("error: ", fmt, args);
	va_end(args);
	return -1;
}

static void *check(void *mem)
{
	if (!mem) {
		fputs("pmuring: error: out of memory\n", stderr);
		exit(2);
	}
	return mem;
}

/** xalloc - zeroed memory, or the end */
void *xalloc(size_t size)
{
	return check(calloc(1, size ? size : 1));
}

/** xrealloc_array - resize an array, or the end; new members are not zeroed */
void *xrealloc_array(void *old, size_t nr, size_t size)
{
	return check(reallocarray(old, nr ? nr : 1, size));
}

/** xstrdup - a copy of @s, or the end */
char *xstrdup(const char *s)
{
	return check(strdup(s));
}

/** xasprintf - a formatted string, or the end */
char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *s;
	int len;

	va_start(args, fmt);
	len = vasprintf(&s, fmt, args);
	va_end(args);
	return check(len < 0 ? NULL : s);
}

/**
 * buf_extend - make room at the end
 * @buf: grows
 * @len: bytes wanted
 *
 * Return: where they begin; zeroed; valid until the next growth
 */
void *buf_extend(struct buf *buf, size_t len)
{
	void *at;

	if (buf->room - buf->len < len) {
		buf->room = (buf->len + len) * 2;
		buf->data = xrealloc_array(buf->data, buf->room, 1);
	}
	at = buf->data + buf->len;
	memset(at, 0, len);
	buf->len += len;
	return at;
}

/** buf_add - append @len bytes */
void buf_add(struct buf *buf, const void *data, size_t len)
{
	if (len)
		memcpy(buf_extend(buf, len), data, len);
}

/** buf_free - give the memory back; @buf is empty and usable afterwards */
void buf_free(struct buf *buf)
{
	free(buf->data);
	memset(buf, 0, sizeof(*buf));
}

/**
 * read_file - a file whole, also one of /proc whose size is not known
 * @path: the file
 * @len: its length, may be NULL
 *
 * Return: the content with a NUL behind it, to be freed; NULL with errno
 */
char *read_file(const char *path, size_t *len)
{
	struct buf buf = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return NULL;
	do {
		size_t old = buf.len;
		char *at = buf_extend(&buf, 65536);

		got = read(fd, at, 65536);
		buf.len = old + (got > 0 ? got : 0);
	} while (got > 0 || (got < 0 && errno == EINTR));
	close(fd);
	if (got < 0) {
		buf_free(&buf);
		return NULL;
	}
	if (len)
		*len = buf.len;
	buf_extend(&buf, 1);
	return buf.data;
}

/**
 * write_all - writev() until everything is written
 * @fd: the file
 * @iov: used up on return
 * @nr: how many pieces
 *
 * Return: 0, or -1 with errno
 */
int write_all(int fd, struct iovec *iov, int nr)
{
	while (nr) {
		ssize_t done = writev(fd, iov, nr);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		while (nr && (size_t)done >= iov->iov_len) {
			done -= iov->iov_len;
			iov++;
			nr--;
		}
		if (nr) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= done;
		}
	}
	return 0;
}

/**
 * parse_u64 - a whole string as a number, decimal or 0x…
 * @s: the string
 * @value: the number
 *
 * Return: whether it was one
 */
bool parse_u64(const char *s, uint64_t *value)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*value = strtoull(s, &end, 0);
	return !errno && !*end;
}

/**
 * hash_string - take a string into a hash
 * @hash: so far, at first HASH_START
 * @s: the string
 *
 * Return: the new hash
 */
uint32_t hash_string(uint32_t hash, const char *s)
{
	for (; *s; s++)
		hash = hash * 33 + (unsigned char)*s;
	return hash;
}
