// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains added up to a tree, and the tree as perf prints it. Called by
 * report, step by step outwards for each sample, and by hist.c.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callers.h"
#include "util.h"

/* branches below this share of theirs are left out, as by perf */
#define PERCENT_MIN	0.5
#define BRANCHES_MAX	64
/* where the tree begins below the shares */
#define MARGIN		"            "

/**
 * callers_add - go one step outwards
 * @inner: the root for the function that was hit, then what the last call returned
 * @symbol: the function
 * @period: weight of the chain
 *
 * Return: the function's place in the tree
 */
struct caller *callers_add(struct caller *inner, const char *symbol, uint64_t period)
{
	struct caller *caller;

	for (caller = inner->outer; caller; caller = caller->next)
		if (!strcmp(caller->symbol, symbol))
			break;
	if (!caller) {
		caller = xalloc(sizeof(*caller));
		caller->symbol = xstrdup(symbol);
		caller->next = inner->outer;
		inner->outer = caller;
	}
	caller->period += period;
	return caller;
}

static bool comes_before(const struct caller *a, const struct caller *b)
{
	if (a->period != b->period)
		return a->period > b->period;
	return strcmp(a->symbol, b->symbol) < 0;
}

/* largest share first */
static void sort(struct caller **list)
{
	struct caller *sorted = NULL;

	while (*list) {
		struct caller *caller = *list, **at = &sorted;

		*list = caller->next;
		while (*at && comes_before(*at, caller))
			at = &(*at)->next;
		caller->next = *at;
		*at = caller;
	}
	*list = sorted;
}

static bool is_shown(const struct caller *caller, uint64_t total)
{
	return caller && 100.0 * caller->period >= PERCENT_MIN * total;
}

/* names come from files */
static void print_symbol(const char *symbol)
{
	for (; *symbol; symbol++)
		putchar(iscntrl((unsigned char)*symbol) ? '?' : *symbol);
	putchar('\n');
}

static void print_outer(struct caller *inner, const char *prefix, int branches);

static void print_branch(struct caller *caller, uint64_t total, const char *prefix, int branches)
{
	char bar = is_shown(caller->next, total) ? '|' : ' ';
	char *below, share[16];
	/* as wide as what is in front of the name */
	int width = snprintf(share, sizeof(share), "--%.2f%%--", 100.0 * caller->period / total);

	printf("%s|\n%s%c%s", prefix, prefix, bar, share);
	print_symbol(caller->symbol);
	below = xasprintf("%s%c%*s", prefix, bar, width, "");
	print_outer(caller, below, branches + 1);
	free(below);
}

/* @branches: on the way here; only a chain made up to annoy has many */
static void print_outer(struct caller *inner, const char *prefix, int branches)
{
	/* one way only: straight on */
	while (inner->outer && inner->outer->period == inner->period) {
		inner = inner->outer;
		printf("%s", prefix);
		print_symbol(inner->symbol);
	}
	sort(&inner->outer);
	for (struct caller *caller = inner->outer;
	     branches < BRANCHES_MAX && is_shown(caller, inner->period); caller = caller->next)
		print_branch(caller, inner->period, prefix, branches);
}

/**
 * callers_print - print the tree
 * @root: complete
 */
void callers_print(struct caller *root)
{
	struct caller *hit = root->outer;

	for (const struct caller *caller = hit; caller; caller = caller->next)
		root->period += caller->period;
	if (!root->period)
		return;
	if (hit->next) {
		print_outer(root, MARGIN, 0);
	} else {
		printf(MARGIN "|\n" MARGIN "---");
		print_symbol(hit->symbol);
		print_outer(hit, MARGIN "   ", 0);
	}
	putchar('\n');
}

/**
 * callers_free - forget the tree
 * @root: its root, which itself stays
 */
void callers_free(struct caller *root)
{
	struct caller *list = root->outer;

	/* the tree may be deep: each goes after its callers have joined the list */
	while (list) {
		struct caller *caller = list, **end = &caller->outer;

		while (*end)
			end = &(*end)->next;
		*end = caller->next;
		list = caller->outer;
		free(caller->symbol);
		free(caller);
	}
	root->outer = NULL;
}
