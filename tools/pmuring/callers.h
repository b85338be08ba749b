/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call chains added up to a tree, from the function that was hit outwards.
 */
#ifndef PMURING_TOOL_CALLERS_H
#define PMURING_TOOL_CALLERS_H

#include <stdint.h>

/**
 * struct caller - a function, and all ways in which it was reached
 * @next: others that called the same
 * @outer: its caller
 * @symbol: its name; NULL of the root, which stands for all chains
 * @period: sum over the chains that pass here
 */
struct caller {
	struct caller *next;
	struct caller *outer;
	char *symbol;
	uint64_t period;
};

struct caller *callers_add(struct caller *inner, const char *symbol, uint64_t period);
void callers_print(struct caller *root);
void callers_free(struct caller *root);

#endif
