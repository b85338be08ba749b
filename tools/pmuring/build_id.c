// SPDX-License-Identifier: GPL-2.0
/*
 * Build IDs of files and of the running kernel, as records for perf.data.
 * Called by tasks.c when a recording ends.
 */
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_id.h"
#include "perfdata.h"

/* perf: the size field is valid */
#define MISC_BUILD_ID_SIZE	(1 << 15)

static void add(struct buf *out, uint16_t misc, const void *id, size_t len, const char *name)
{
	size_t room = (strlen(name) + 8) / 8 * 8;
	struct record_build_id *rec;

	if (!len || len > sizeof(rec->build_id) || room > 4096)
		return;
	rec = buf_extend(out, sizeof(*rec) + room);
	rec->header.misc = misc | MISC_BUILD_ID_SIZE;
	rec->header.size = sizeof(*rec) + room;
	rec->pid = -1;
	rec->size = len;
	memcpy(rec->build_id, id, len);
	memcpy(rec + 1, name, strlen(name));
}

/**
 * build_id_add_file - a record for an ELF file; none if it has no build ID
 * @out: grows
 * @path: the file
 */
void build_id_add_file(struct buf *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const void *id;
	Elf *elf;
	ssize_t len;

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	len = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;
	if (len > 0)
		add(out, PERF_RECORD_MISC_USER, id, len, path);
	elf_end(elf);
	close(fd);
}

/**
 * build_id_add_kernel - a record for the running kernel
 * @out: grows
 */
void build_id_add_kernel(struct buf *out)
{
	size_t len = 0, at = 0;
	char *notes = read_file("/sys/kernel/notes", &len);

	while (notes && len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + (note.n_namesz + 3UL) / 4 * 4;
		at = desc + (note.n_descsz + 3UL) / 4 * 4;
		if (at > len)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4))
			add(out, PERF_RECORD_MISC_KERNEL, notes + desc, note.n_descsz,
			    "[kernel.kallsyms]");
	}
	free(notes);
}
