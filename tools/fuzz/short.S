/* SPDX-License-Identifier: GPL-2.0 */
/* A program that works and sleeps a little, so that events meet it, and ends. */
#include <sys/syscall.h>

	.globl	_start
_start:
	mov	$2000, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$SYS_getppid, %eax
	syscall
	mov	$SYS_nanosleep, %eax
	lea	time(%rip), %rdi
	xor	%esi, %esi
	syscall
	mov	$2000, %ecx
2:	dec	%ecx
	jnz	2b
	mov	$SYS_exit_group, %eax
	xor	%edi, %edi
	syscall

	.section .rodata
time:	.quad	0, 300000
	.section .note.GNU-stack, "", @progbits
