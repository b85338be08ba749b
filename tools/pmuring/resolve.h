/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From an address to a file and a function.
 */
#ifndef PMURING_TOOL_RESOLVE_H
#define PMURING_TOOL_RESOLVE_H

#include "kallsyms.h"
#include "machine.h"

struct resolved_dso;

#define RESOLVER_BUCKETS	256

/**
 * struct resolver - files and symbols that were needed so far
 * @in: the file with the profile, which knows build IDs
 * @machine: whose mappings count
 * @kallsyms: of the recorded kernel; empty if none fits
 * @kallsyms_option: --kallsyms, or NULL
 * @kallsyms_tried: whether it was looked for
 * @dsos: hash table by path
 */
struct resolver {
	const struct perfdata_in *in;
	struct machine *machine;
	struct kallsyms kallsyms;
	const char *kallsyms_option;
	bool kallsyms_tried;
	struct resolved_dso *dsos[RESOLVER_BUCKETS];
};

/**
 * struct location - where a sample was
 * @mode: 'k' kernel, '.' user, 'g' guest, 'H' hypervisor, as perf shows it
 * @dso: short name of the file
 * @symbol: the function
 * @unnamed: @symbol is made up
 */
struct location {
	char mode;
	const char *dso;
	const char *symbol;
	bool unnamed;
};

void resolve(struct resolver *resolver, unsigned int mode, uint32_t pid, uint64_t ip,
	     struct location *where);
void resolver_free(struct resolver *resolver);

#endif
