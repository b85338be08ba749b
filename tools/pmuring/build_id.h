/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Build IDs: which build of a file it was that ran.
 */
#ifndef PMURING_TOOL_BUILD_ID_H
#define PMURING_TOOL_BUILD_ID_H

#include "util.h"

void build_id_add_file(struct buf *out, const char *path);
void build_id_add_kernel(struct buf *out);

#endif
