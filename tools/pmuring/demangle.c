// SPDX-License-Identifier: GPL-2.0
/*
 * C++ and Rust names by libiberty. Called by symbols.c for each new function.
 */
#include <libiberty/demangle.h>

#include "demangle.h"

/**
 * demangle - a name without its encoding and arguments
 * @name: from a symbol table
 *
 * Return: the name, to be freed; NULL if it is not encoded
 */
char *demangle(const char *name)
{
	return cplus_demangle(name, DMGL_AUTO);
}
