/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libc's syscall(), interposed. perf_event_open and prctl go to preload.c;
 * every other number goes to the kernel as libc would send it.
 *
 * In assembly, because only so does it stay what it replaces: all six
 * arguments go through though the callers pass fewer, no stack is used that a
 * clone() in the child would miss, and no other register changes. It must
 * not look libc's own function up: allocators call syscall() before the
 * dynamic linker can be asked.
 */
#include <asm/unistd.h>

	.hidden	preload_syscall
	.hidden	preload_return

	.text
	.globl	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	endbr64
	cmpl	$__NR_perf_event_open, %edi
	je	preload_syscall
	cmpl	$__NR_prctl, %edi
	je	preload_syscall
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	/* -4095 to -1 are errors */
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	movq	%rax, %rdi
	jmp	preload_return
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
