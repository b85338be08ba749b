/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Three functions that call each other, with frame pointers; nearly all time goes by
 * in the innermost. Run by the tests of unmodified clients.
 */
	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm

	function _start
	xor	%ebp, %ebp
	call	outer_here
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.size	_start, . - _start

	function outer_here
	push	%rbp
	mov	%rsp, %rbp
	call	middle_here
	pop	%rbp
	ret
	.size	outer_here, . - outer_here

	function middle_here
	push	%rbp
	mov	%rsp, %rbp
	call	inner_here
	pop	%rbp
	ret
	.size	middle_here, . - middle_here

	function inner_here
	push	%rbp
	mov	%rsp, %rbp
	mov	$10000000, %ecx
1:	dec	%ecx
	jnz	1b
	pop	%rbp
	ret
	.size	inner_here, . - inner_here

	.section .note.GNU-stack, "", @progbits
