/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of an ELF file, by the offset of an instruction in the file.
 */
#ifndef PMURING_TOOL_SYMBOLS_H
#define PMURING_TOOL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

struct symbols *symbols_open(const char *path);
const void *symbols_build_id(struct symbols *symbols, size_t *len);
char *symbols_find(struct symbols *symbols, uint64_t file_offset);
void symbols_close(struct symbols *symbols);

#endif
