// SPDX-License-Identifier: GPL-2.0
/*
 * Samples added up, and the table that perf's users know. Called by report.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hist.h"
#include "util.h"

static const struct {
	const char *name;
	const char *other_name;
	const char *title;
} sort_keys[SORT_KEYS] = {
	[SORT_COMM] = { "comm", "comm", "Command" },
	[SORT_DSO] = { "dso", "dso", "Shared Object" },
	[SORT_SYMBOL] = { "symbol", "sym", "Symbol" },
};

static int add_key(struct sort_order *order, const char *name, size_t len)
{
	for (size_t i = 0; i < SORT_KEYS; i++) {
		const char *a = sort_keys[i].name, *b = sort_keys[i].other_name;

		if ((strlen(a) != len || strncmp(a, name, len)) &&
		    (strlen(b) != len || strncmp(b, name, len)))
			continue;
		for (size_t k = 0; k < order->nr; k++)
			if (order->keys[k] == i)
				return 0;
		order->keys[order->nr++] = i;
		return 0;
	}
	return fail("--sort: no such key: '%.*s'; the keys are comm, dso, symbol",
		    (int)len, name);
}

/**
 * sort_order_parse - the argument of --sort
 * @order: filled in
 * @arg: keys, separated by commas
 *
 * Return: 0, or -1 after a message to the user
 */
int sort_order_parse(struct sort_order *order, const char *arg)
{
	order->nr = 0;
	for (;;) {
		size_t len = strcspn(arg, ",");

		if (add_key(order, arg, len))
			return -1;
		if (!arg[len])
			return 0;
		arg += len + 1;
	}
}

/* names come from files and from processes that choose their own */
static char *printable(char *s)
{
	for (unsigned char *c = (unsigned char *)s; *c; c++)
		if (iscntrl(*c))
			*c = '?';
	return s;
}

static char *key_text(enum sort_key key, const char *comm, const struct location *where)
{
	switch (key) {
	case SORT_COMM:
		return printable(xstrdup(comm));
	case SORT_DSO:
		return printable(xstrdup(where->dso));
	default:
		return printable(xasprintf("[%c] %s", where->mode, where->symbol));
	}
}

static uint32_t hash_texts(char *const text[SORT_KEYS])
{
	uint32_t hash = HASH_START;

	for (size_t i = 0; i < SORT_KEYS; i++)
		if (text[i])
			hash = hash_string(hash, text[i]);
	return hash;
}

static bool same_texts(char *const a[SORT_KEYS], char *const b[SORT_KEYS])
{
	for (size_t i = 0; i < SORT_KEYS; i++)
		if (a[i] && strcmp(a[i], b[i]))
			return false;
	return true;
}

static struct hist_entry *get_entry(struct hist *hist, char *text[SORT_KEYS])
{
	uint32_t hash = hash_texts(text);
	struct hist_entry **bucket = &hist->buckets[hash % HIST_BUCKETS], *entry;

	for (entry = *bucket; entry; entry = entry->next) {
		if (entry->hash != hash || !same_texts(entry->text, text))
			continue;
		for (size_t i = 0; i < SORT_KEYS; i++)
			free(text[i]);
		return entry;
	}
	entry = xalloc(sizeof(*entry));
	entry->hash = hash;
	memcpy(entry->text, text, sizeof(entry->text));
	entry->next = *bucket;
	*bucket = entry;
	hist->nr++;
	return entry;
}

/**
 * hist_add - add a sample
 * @hist: zeroed before the first
 * @order: the same for all
 * @comm: name of its thread
 * @where: its place
 * @period: its weight
 *
 * Return: the line that it went into
 */
struct hist_entry *hist_add(struct hist *hist, const struct sort_order *order,
			    const char *comm, const struct location *where, uint64_t period)
{
	char *text[SORT_KEYS] = { NULL };
	struct hist_entry *entry;

	for (size_t i = 0; i < order->nr; i++)
		text[order->keys[i]] = key_text(order->keys[i], comm, where);
	entry = get_entry(hist, text);
	entry->period += period;
	entry->samples++;
	hist->period += period;
	hist->samples++;
	hist->unnamed += where->unnamed;
	return entry;
}

static int compare(const void *a, const void *b)
{
	const struct hist_entry *x = *(struct hist_entry *const *)a;
	const struct hist_entry *y = *(struct hist_entry *const *)b;
	int ret = 0;

	if (x->period != y->period)
		return x->period > y->period ? -1 : 1;
	/* equal shares: in a fixed order, so that two reports are the same */
	for (size_t i = 0; !ret && i < SORT_KEYS; i++)
		if (x->text[i])
			ret = strcmp(x->text[i], y->text[i]);
	return ret;
}

static struct hist_entry **sorted(const struct hist *hist)
{
	struct hist_entry **all = xalloc(hist->nr * sizeof(struct hist_entry *));
	size_t nr = 0;

	for (size_t i = 0; i < HIST_BUCKETS; i++)
		for (struct hist_entry *entry = hist->buckets[i]; entry; entry = entry->next)
			all[nr++] = entry;
	if (nr)
		qsort(all, nr, sizeof(*all), compare);
	return all;
}

static double share(const struct hist *hist, const struct hist_entry *entry)
{
	return hist->period ? 100.0 * entry->period / hist->period : 0;
}

/* the last column may be as wide as it likes */
static void print_row(const struct sort_order *order, const size_t *widths,
		      char *const text[SORT_KEYS])
{
	for (size_t i = 0; i + 1 < order->nr; i++)
		printf("  %-*s", (int)widths[i], text[order->keys[i]]);
	printf("  %s\n", text[order->keys[order->nr - 1]]);
}

static void measure(const struct sort_order *order, struct hist_entry **all, size_t nr,
		    size_t *widths)
{
	for (size_t i = 0; i < order->nr; i++) {
		widths[i] = strlen(sort_keys[order->keys[i]].title);
		for (size_t e = 0; e < nr; e++) {
			size_t len = strlen(all[e]->text[order->keys[i]]);

			if (len > widths[i])
				widths[i] = len;
		}
	}
}

static void print_head(const struct sort_order *order, const size_t *widths, bool samples)
{
	char *titles[SORT_KEYS], *dots[SORT_KEYS] = { NULL };

	for (size_t i = 0; i < SORT_KEYS; i++)
		titles[i] = (char *)sort_keys[i].title;
	for (size_t i = 0; i < order->nr; i++) {
		dots[order->keys[i]] = xalloc(widths[i] + 1);
		memset(dots[order->keys[i]], '.', widths[i]);
	}
	printf("# Overhead%s", samples ? "     Samples" : "");
	print_row(order, widths, titles);
	printf("# ........%s", samples ? "  .........." : "");
	print_row(order, widths, dots);
	printf("#\n");
	for (size_t i = 0; i < SORT_KEYS; i++)
		free(dots[i]);
}

/**
 * hist_print - print the table, largest share first
 * @hist: complete
 * @order: as in hist_add()
 * @style: how
 */
void hist_print(const struct hist *hist, const struct sort_order *order,
		const struct hist_style *style)
{
	struct hist_entry **all = sorted(hist);
	size_t widths[SORT_KEYS] = { 0 }, nr = 0;

	while (nr < hist->nr && share(hist, all[nr]) >= style->percent_limit)
		nr++;
	measure(order, all, nr, widths);
	print_head(order, widths, style->samples);
	for (size_t i = 0; i < nr; i++) {
		printf("  %7.2f%%", share(hist, all[i]));
		if (style->samples)
			printf("  %10lu", all[i]->samples);
		print_row(order, widths, all[i]->text);
		if (style->callers)
			callers_print(&all[i]->callers);
	}
	if (nr < hist->nr)
		printf("#\n# %zu more lines below %.2f%%\n", hist->nr - nr, style->percent_limit);
	free(all);
}

/** hist_free - forget everything */
void hist_free(struct hist *hist)
{
	for (size_t i = 0; i < HIST_BUCKETS; i++) {
		for (struct hist_entry *entry = hist->buckets[i], *next; entry; entry = next) {
			next = entry->next;
			callers_free(&entry->callers);
			for (size_t k = 0; k < SORT_KEYS; k++)
				free(entry->text[k]);
			free(entry);
		}
	}
}
