// SPDX-License-Identifier: GPL-2.0
/*
 * Where functions begin, for files without symbols. The format is that of the
 * Linux Standard Base, "Exception Frame Header": a version, three encodings,
 * the address of .eh_frame, a count, a sorted table. Called by symbols.c.
 */
#include <dwarf.h>
#include <string.h>

#include "eh_index.h"

#define PREFIX		4
#define ENTRY		(2 * sizeof(int32_t))

/* what every linker of today writes; others are left alone */
static bool is_usual(const unsigned char *data)
{
	return data[0] == 1 && data[1] == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) &&
	       data[2] == DW_EH_PE_udata4 &&
	       data[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
}

static void take_section(struct eh_index *index, Elf *elf, const GElf_Phdr *phdr)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, phdr->p_offset, phdr->p_filesz, ELF_T_BYTE);
	const unsigned char *bytes = data ? data->d_buf : NULL;
	size_t fixed = PREFIX + 2 * sizeof(uint32_t);
	uint32_t nr;

	if (!bytes || data->d_size < fixed || !is_usual(bytes))
		return;
	memcpy(&nr, bytes + PREFIX + sizeof(uint32_t), sizeof(nr));
	if (nr > (data->d_size - fixed) / ENTRY)
		return;
	index->table = bytes + fixed;
	index->nr = nr;
	index->base = phdr->p_vaddr;
}

/**
 * eh_index_init - find the index
 * @index: filled in; empty when the file has none
 * @elf: the file
 */
void eh_index_init(struct eh_index *index, Elf *elf)
{
	size_t nr = 0;

	memset(index, 0, sizeof(*index));
	if (elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME)
			take_section(index, elf, &phdr);
	}
}

static uint64_t entry_start(const struct eh_index *index, size_t i)
{
	int32_t start;

	memcpy(&start, index->table + i * ENTRY, sizeof(start));
	return index->base + (int64_t)start;
}

/**
 * eh_index_find - the function at an address
 * @index: set up
 * @addr: the address
 * @start: where the function begins
 *
 * Return: false when the index does not know
 */
bool eh_index_find(const struct eh_index *index, uint64_t addr, uint64_t *start)
{
	size_t low = 0, high = index->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (entry_start(index, mid) <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*start = entry_start(index, low - 1);
	return true;
}
