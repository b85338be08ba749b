/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length: 20,000,004 instructions of user space, nearly all
 * at two addresses. Run by tool_test.sh.
 */
	.globl	_start
	.type	_start, @function
_start:
	mov	$10000000, %ecx
	jmp	spin_here
	.size	_start, . - _start

	.globl	spin_here
	.type	spin_here, @function
spin_here:
	dec	%ecx
	jnz	spin_here
	.size	spin_here, . - spin_here

	.type	leave, @function
leave:
	mov	$60, %eax
	syscall
	.size	leave, . - leave

	.section .note.GNU-stack, "", @progbits
