// SPDX-License-Identifier: GPL-2.0
/*
 * Work with a known chain of stack frames below it, in assembly, as the compiler
 * keeps no frame pointers. Called by the cases.
 */
#include "parity.h"
#include "workload.h"

/*
 * work_framed(event_fd, rounds): work_counted() called through two functions
 * with a frame each and a third one that ends the chain
 */
asm(".text\n"
	".globl work_framed\n"
	".type work_framed, @function\n"
	"work_framed:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call 1f\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call 2f\n"
	"	pop %rbp\n"
	"	ret\n"
	"2:	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call work_counted\n"
	"	pop %rbp\n"
	"	ret\n"
	".size work_framed, . - work_framed\n");
