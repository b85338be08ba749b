/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions begin, from the index of an ELF file's unwind information.
 */
#ifndef PMURING_TOOL_EH_INDEX_H
#define PMURING_TOOL_EH_INDEX_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct eh_index - the sorted table of .eh_frame_hdr
 * @table: pairs of int32_t: start of a function, place of its description,
 *	both relative to @base; owned by the Elf
 * @nr: how many
 * @base: address of the section
 */
struct eh_index {
	const unsigned char *table;
	size_t nr;
	uint64_t base;
};

void eh_index_init(struct eh_index *index, Elf *elf);
bool eh_index_find(const struct eh_index *index, uint64_t addr, uint64_t *start);

#endif
