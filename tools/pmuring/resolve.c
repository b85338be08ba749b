// SPDX-License-Identifier: GPL-2.0
/*
 * From an address to a file and a function. User code by symbols.c, the kernel
 * by kallsyms.c; each answer is kept, since samples repeat. Called by report
 * for each sample, after the machine has seen all earlier records.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve.h"
#include "symbols.h"
#include "util.h"

#define ANSWERS		1024

/** struct answer - what is known about one offset in a file */
struct answer {
	struct answer *next;
	uint64_t offset;
	bool unnamed;
	char *symbol;
};

/**
 * struct resolved_dso - a file
 * @symbols: NULL if it cannot be read or is another build
 * @short_name: without its folders, as perf shows it
 */
struct resolved_dso {
	struct resolved_dso *next;
	char *path;
	const char *short_name;
	struct symbols *symbols;
	struct answer *answers[ANSWERS];
};

static struct resolved_dso *get_dso(struct resolver *resolver, const char *path);

/* the build ID that the profile has for @path, NULL if it has none */
static const struct record_build_id *recorded_build_id(const struct perfdata_in *in,
						       const char *path,
						       struct record_build_id *copy)
{
	size_t left;
	const unsigned char *at = perfdata_feature(in, FEATURE_BUILD_ID, &left);

	while (at && left >= sizeof(*copy)) {
		size_t room;

		memcpy(copy, at, sizeof(*copy));
		if (copy->header.size < sizeof(*copy) || copy->header.size > left)
			return NULL;
		room = copy->header.size - sizeof(*copy);
		if (strnlen((const char *)at + sizeof(*copy), room) == strlen(path) &&
		    !strncmp((const char *)at + sizeof(*copy), path, room))
			return copy;
		at += copy->header.size;
		left -= copy->header.size;
	}
	return NULL;
}

static bool is_same_build(const struct perfdata_in *in, const char *path,
			  struct symbols *symbols)
{
	struct record_build_id copy;
	const struct record_build_id *want = recorded_build_id(in, path, &copy);
	size_t len;
	const void *have = symbols_build_id(symbols, &len);

	/* shorter than any hash: perf left the size out */
	if (!want || !len || want->size < 8 || want->size > sizeof(want->build_id))
		return true;
	return len == want->size && !memcmp(have, want->build_id, len);
}

static void open_symbols(struct resolver *resolver, struct resolved_dso *dso)
{
	if (dso->path[0] != '/' || !strncmp(dso->path, "//anon", 6))
		return;
	dso->symbols = symbols_open(dso->path);
	if (!dso->symbols) {
		warn("no symbols for %s: the file is missing or not an ELF file; report on the machine that was recorded",
		     dso->path);
	} else if (!is_same_build(resolver->in, dso->path, dso->symbols)) {
		warn("no symbols for %s: its build id is not the recorded one; record again",
		     dso->path);
		symbols_close(dso->symbols);
		dso->symbols = NULL;
	}
}

static struct resolved_dso *get_dso(struct resolver *resolver, const char *path)
{
	size_t hash = hash_string(HASH_START, path) % RESOLVER_BUCKETS;
	struct resolved_dso **bucket = &resolver->dsos[hash], *dso;
	const char *slash;

	for (dso = *bucket; dso; dso = dso->next)
		if (!strcmp(dso->path, path))
			return dso;
	dso = xalloc(sizeof(*dso));
	dso->path = xstrdup(path);
	slash = dso->path[0] == '/' ? strrchr(dso->path, '/') : NULL;
	dso->short_name = slash ? slash + 1 : dso->path;
	dso->next = *bucket;
	*bucket = dso;
	open_symbols(resolver, dso);
	return dso;
}

static const struct answer *get_answer(struct resolved_dso *dso, uint64_t offset)
{
	struct answer **bucket = &dso->answers[offset % ANSWERS], *answer;

	for (answer = *bucket; answer; answer = answer->next)
		if (answer->offset == offset)
			return answer;
	answer = xalloc(sizeof(*answer));
	answer->offset = offset;
	if (dso->symbols)
		answer->symbol = symbols_find(dso->symbols, offset);
	answer->unnamed = !answer->symbol || !strncmp(answer->symbol, "sub_", 4);
	/* one line for all of them: the address would not help */
	if (!answer->symbol)
		answer->symbol = xstrdup("[no symbol]");
	answer->next = *bucket;
	*bucket = answer;
	return answer;
}

static void resolve_user(struct resolver *resolver, uint32_t pid, uint64_t ip,
			 struct location *where)
{
	const struct code_map *map = machine_map(resolver->machine, pid, ip);
	const struct answer *answer;
	struct resolved_dso *dso;

	/* perf's word; the address tells nothing without a file */
	where->dso = "[unknown]";
	where->symbol = "[unknown]";
	where->unnamed = true;
	if (!map)
		return;
	dso = get_dso(resolver, map->name);
	answer = get_answer(dso, ip - map->start + map->pgoff);
	where->dso = dso->short_name;
	where->symbol = answer->symbol;
	where->unnamed = answer->unnamed;
}

/* the symbol and address by which the profile says where the kernel was */
static const struct code_map *recorded_base(const struct machine *machine, const char **symbol)
{
	for (size_t i = 0; i < machine->nr_kernel; i++) {
		const char *end = strchr(machine->kernel[i].name, ']');

		if (!strncmp(machine->kernel[i].name, "[kernel.kallsyms]", 17) && end[1]) {
			*symbol = end + 1;
			return &machine->kernel[i];
		}
	}
	return NULL;
}

static bool try_kallsyms(struct resolver *resolver, const char *path)
{
	const struct code_map *base;
	const char *symbol;

	if (kallsyms_load(&resolver->kallsyms, path))
		return false;
	base = recorded_base(resolver->machine, &symbol);
	if (resolver->kallsyms.nr &&
	    (!base || kallsyms_address(&resolver->kallsyms, symbol) == base->pgoff))
		return true;
	kallsyms_free(&resolver->kallsyms);
	return false;
}

static void load_kallsyms(struct resolver *resolver)
{
	char *beside = xasprintf("%s.kallsyms", resolver->in->path);

	resolver->kallsyms_tried = true;
	if (resolver->kallsyms_option) {
		if (!try_kallsyms(resolver, resolver->kallsyms_option))
			warn("%s is from another kernel or another boot than the recording: kernel functions have no names",
			     resolver->kallsyms_option);
	} else if (!try_kallsyms(resolver, beside) && !try_kallsyms(resolver, "/proc/kallsyms")) {
		warn("the running kernel is not the recorded one: kernel functions have no names; record with -k, or pass its /proc/kallsyms with --kallsyms");
	}
	free(beside);
}

/* "[ext4]" of "/lib/modules/…/ext4.ko.xz" or of itself */
static const char *module_name(struct resolver *resolver, const struct code_map *map)
{
	struct resolved_dso *dso;

	if (!strncmp(map->name, "[kernel.kallsyms]", 17))
		return "[kernel.kallsyms]";
	if (map->name[0] == '[')
		return map->name;
	dso = get_dso(resolver, map->name);
	return dso->short_name;
}

static void resolve_kernel(struct resolver *resolver, uint64_t ip, struct location *where)
{
	const struct code_map *map = machine_kernel_map(resolver->machine, ip);
	const struct ksym *sym;

	if (!resolver->kallsyms_tried)
		load_kallsyms(resolver);
	sym = kallsyms_find(&resolver->kallsyms, ip);
	if (sym) {
		where->dso = sym->module ? sym->module : "[kernel.kallsyms]";
		where->symbol = sym->name;
		return;
	}
	where->dso = map ? module_name(resolver, map) : "[kernel.kallsyms]";
	where->symbol = "[no symbol]";
	where->unnamed = true;
}

/**
 * resolve - what is at an address
 * @resolver: with @in and @machine set
 * @mode: PERF_RECORD_MISC_CPUMODE_MASK bits: whose address it is
 * @pid: the process, for user mode
 * @ip: the address
 * @where: filled in; the strings live as long as the resolver and the machine
 */
void resolve(struct resolver *resolver, unsigned int mode, uint32_t pid, uint64_t ip,
	     struct location *where)
{
	*where = (struct location){ 0 };
	switch (mode) {
	case PERF_RECORD_MISC_KERNEL:
		where->mode = 'k';
		resolve_kernel(resolver, ip, where);
		return;
	case PERF_RECORD_MISC_USER:
		where->mode = '.';
		resolve_user(resolver, pid, ip, where);
		return;
	case PERF_RECORD_MISC_HYPERVISOR:
		where->mode = 'H';
		break;
	default:
		where->mode = 'g';
		break;
	}
	where->dso = "[unknown]";
	where->symbol = "[unknown]";
	where->unnamed = true;
}

/** resolver_free - forget everything */
void resolver_free(struct resolver *resolver)
{
	for (size_t i = 0; i < RESOLVER_BUCKETS; i++) {
		for (struct resolved_dso *dso = resolver->dsos[i], *next; dso; dso = next) {
			next = dso->next;
			for (size_t a = 0; a < ANSWERS; a++) {
				struct answer *answer, *after;

				for (answer = dso->answers[a]; answer; answer = after) {
					after = answer->next;
					free(answer->symbol);
					free(answer);
				}
			}
			symbols_close(dso->symbols);
			free(dso->path);
			free(dso);
		}
	}
	kallsyms_free(&resolver->kallsyms);
}
