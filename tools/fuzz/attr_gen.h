/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PMURING_FUZZ_ATTR_GEN_H
#define PMURING_FUZZ_ATTR_GEN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "rng.h"

void attr_make(struct perf_event_attr *attr, struct rng *rng, bool may_see_kernel);
int attr_describe(const struct perf_event_attr *attr, char *text, size_t size);

#endif
