// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's symbols. Called by report, which decides which file fits the
 * profile.
 */
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "util.h"

/* "address type name[\t[module]]"; cuts @line into its strings */
static bool parse_line(char *line, struct ksym *sym)
{
	char *end, *tab;

	sym->addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return false;
	sym->name = end + 3;
	tab = strchr(sym->name, '\t');
	if (tab)
		*tab++ = '\0';
	sym->module = tab;
	return sym->addr != 0;
}

static int compare(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* of several names the first in the file is as good as any, but one */
	return x->name < y->name ? -1 : x->name > y->name;
}

/**
 * kallsyms_load - read a file
 * @kallsyms: filled in
 * @path: /proc/kallsyms or a copy
 *
 * Return: 0, or -1 with errno; no symbols when the kernel hides its addresses
 */
int kallsyms_load(struct kallsyms *kallsyms, const char *path)
{
	char *save, *line;
	size_t room = 0;

	memset(kallsyms, 0, sizeof(*kallsyms));
	kallsyms->text = read_file(path, NULL);
	if (!kallsyms->text)
		return -1;
	for (line = strtok_r(kallsyms->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (kallsyms->nr == room) {
			room = room ? room * 2 : 65536;
			kallsyms->syms = xrealloc_array(kallsyms->syms, room,
							sizeof(*kallsyms->syms));
		}
		if (parse_line(line, &kallsyms->syms[kallsyms->nr]))
			kallsyms->nr++;
	}
	if (kallsyms->nr)
		qsort(kallsyms->syms, kallsyms->nr, sizeof(*kallsyms->syms), compare);
	return 0;
}

/**
 * kallsyms_find - the function at an address
 * @kallsyms: loaded
 * @addr: the address
 *
 * Return: the last symbol at or before it, of its first name; NULL if none
 */
const struct ksym *kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr)
{
	size_t low = 0, high = kallsyms->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (kallsyms->syms[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	low--;
	while (low && kallsyms->syms[low - 1].addr == kallsyms->syms[low].addr)
		low--;
	return &kallsyms->syms[low];
}

/** kallsyms_address - where a symbol of the kernel proper is; 0 if there is none */
uint64_t kallsyms_address(const struct kallsyms *kallsyms, const char *name)
{
	for (size_t i = 0; i < kallsyms->nr; i++)
		if (!kallsyms->syms[i].module && !strcmp(kallsyms->syms[i].name, name))
			return kallsyms->syms[i].addr;
	return 0;
}

/** kallsyms_free - forget everything */
void kallsyms_free(struct kallsyms *kallsyms)
{
	free(kallsyms->text);
	free(kallsyms->syms);
	memset(kallsyms, 0, sizeof(*kallsyms));
}
