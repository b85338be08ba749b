/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between the two halves of libpmuring-preload.so: syscall.S jumps here.
 */
#ifndef PMURING_PRELOAD_H
#define PMURING_PRELOAD_H

long preload_syscall(long number, long a1, long a2, long a3, long a4, long a5);
long preload_return(long result);

#endif
