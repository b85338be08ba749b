// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of an ELF file by elfutils, which also finds the debug file of
 * a stripped one (build ID, .gnu_debuglink, .gnu_debugdata). What has no symbol
 * at all still has unwind information: its index tells where functions begin.
 * Called by report.
 */
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "eh_index.h"
#include "symbols.h"
#include "util.h"

/**
 * struct symbols - an ELF file
 * @dwfl: elfutils' session, with this file alone
 * @mod: the file
 * @elf: the file itself, not its debug file
 * @bias: what elfutils adds to its addresses
 * @index: starts of functions, for lack of symbols
 */
struct symbols {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;
	struct eh_index index;
};

static char *debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

/**
 * symbols_open - open a file
 * @path: an ELF file
 *
 * Return: NULL if it is none or cannot be read
 */
struct symbols *symbols_open(const char *path)
{
	struct symbols *symbols = xalloc(sizeof(*symbols));

	symbols->dwfl = dwfl_begin(&callbacks);
	if (symbols->dwfl) {
		symbols->mod = dwfl_report_offline(symbols->dwfl, path, path, -1);
		dwfl_report_end(symbols->dwfl, NULL, NULL);
	}
	if (symbols->mod)
		symbols->elf = dwfl_module_getelf(symbols->mod, &symbols->bias);
	if (!symbols->elf) {
		symbols_close(symbols);
		return NULL;
	}
	eh_index_init(&symbols->index, symbols->elf);
	return symbols;
}

/**
 * symbols_build_id - which build it is
 * @symbols: open
 * @len: bytes of the ID, 0 when there is none
 *
 * Return: the ID
 */
const void *symbols_build_id(struct symbols *symbols, size_t *len)
{
	const unsigned char *id = NULL;
	GElf_Addr where;
	int got = dwfl_module_build_id(symbols->mod, &id, &where);

	*len = got > 0 ? got : 0;
	return id;
}

/* a mapping tells offsets, symbols have addresses */
static bool to_address(struct symbols *symbols, uint64_t offset, uint64_t *addr)
{
	size_t nr = 0;

	if (elf_getphdrnum(symbols->elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(symbols->elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (offset < phdr.p_offset || offset - phdr.p_offset >= phdr.p_filesz)
			continue;
		*addr = offset - phdr.p_offset + phdr.p_vaddr;
		return true;
	}
	return false;
}

static char *readable(const char *name)
{
	char *plain = demangle(name);

	return plain ? plain : xstrdup(name);
}

/**
 * symbols_find - the function that an instruction belongs to
 * @symbols: open
 * @file_offset: of the instruction
 *
 * Return: its name, "sub_<address>" for one without a name, NULL when nothing
 * is known; to be freed
 */
char *symbols_find(struct symbols *symbols, uint64_t file_offset)
{
	uint64_t addr, start;
	GElf_Off offset;
	GElf_Sym sym;
	const char *name;

	if (!to_address(symbols, file_offset, &addr))
		return NULL;
	name = dwfl_module_addrinfo(symbols->mod, addr + symbols->bias, &offset, &sym,
				    NULL, NULL, NULL);
	/* a symbol without a size may end anywhere */
	if (name && *name && (offset < sym.st_size || !symbols->index.nr))
		return readable(name);
	if (eh_index_find(&symbols->index, addr, &start)) {
		/* the nearest symbol begins where the function does */
		if (name && *name && addr - offset == start)
			return readable(name);
		return xasprintf("sub_%lx", start);
	}
	return name && *name ? readable(name) : NULL;
}

/** symbols_close - give everything back */
void symbols_close(struct symbols *symbols)
{
	if (symbols && symbols->dwfl)
		dwfl_end(symbols->dwfl);
	free(symbols);
}
