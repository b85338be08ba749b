/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's symbols, from /proc/kallsyms or a copy of it.
 */
#ifndef PMURING_TOOL_KALLSYMS_H
#define PMURING_TOOL_KALLSYMS_H

#include <stdint.h>
#include <stddef.h>

/**
 * struct ksym - a function
 * @addr: where it begins
 * @name: its name
 * @module: "[name]" of its module, or NULL
 */
struct ksym {
	uint64_t addr;
	const char *name;
	const char *module;
};

/**
 * struct kallsyms - all of them
 * @text: the file; the strings of @syms are in it
 * @syms: sorted by address
 * @nr: how many
 */
struct kallsyms {
	char *text;
	struct ksym *syms;
	size_t nr;
};

int kallsyms_load(struct kallsyms *kallsyms, const char *path);
const struct ksym *kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr);
uint64_t kallsyms_address(const struct kallsyms *kallsyms, const char *name);
void kallsyms_free(struct kallsyms *kallsyms);

#endif
