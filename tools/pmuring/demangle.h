/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C++ and Rust names as their authors wrote them. Apart from util.h because
 * libiberty's header defines what every C program defines for itself.
 */
#ifndef PMURING_TOOL_DEMANGLE_H
#define PMURING_TOOL_DEMANGLE_H

char *demangle(const char *name);

#endif
