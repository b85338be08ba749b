/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples added up by command, object and function.
 */
#ifndef PMURING_TOOL_HIST_H
#define PMURING_TOOL_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "callers.h"
#include "resolve.h"

/** enum sort_key - what keeps entries apart; each is a column */
enum sort_key {
	SORT_COMM,
	SORT_DSO,
	SORT_SYMBOL,
	SORT_KEYS,
};

/**
 * struct sort_order - the columns
 * @keys: in the order of the columns
 * @nr: how many
 */
struct sort_order {
	enum sort_key keys[SORT_KEYS];
	size_t nr;
};

/**
 * struct hist_entry - one line of the report
 * @text: of each key in use; NULL for others
 * @period: sum of the periods
 * @samples: how many
 * @callers: how they came there, when call chains were recorded
 */
struct hist_entry {
	struct hist_entry *next;
	uint32_t hash;
	char *text[SORT_KEYS];
	uint64_t period;
	uint64_t samples;
	struct caller callers;
};

#define HIST_BUCKETS	4096

/**
 * struct hist - all lines of one event
 * @buckets: hash table
 * @nr: entries
 * @period: sum over all
 * @samples: sum over all
 * @unnamed: of these, samples without a symbol
 */
struct hist {
	struct hist_entry *buckets[HIST_BUCKETS];
	size_t nr;
	uint64_t period;
	uint64_t samples;
	uint64_t unnamed;
};

int sort_order_parse(struct sort_order *order, const char *arg);
struct hist_entry *hist_add(struct hist *hist, const struct sort_order *order,
			    const char *comm, const struct location *where, uint64_t period);

/**
 * struct hist_style - how to print
 * @samples: with a column of sample counts
 * @callers: with the call chains of each line
 * @percent_limit: leave out smaller shares
 */
struct hist_style {
	bool samples;
	bool callers;
	double percent_limit;
};

void hist_print(const struct hist *hist, const struct sort_order *order,
		const struct hist_style *style);
void hist_free(struct hist *hist);

#endif
