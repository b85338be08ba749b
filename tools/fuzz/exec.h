/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PMURING_FUZZ_EXEC_H
#define PMURING_FUZZ_EXEC_H

#include "world.h"

const char *exec_program(struct world *w);
void exec_something(struct world *w);
int exec_continue(int argc, char **argv);

#endif
