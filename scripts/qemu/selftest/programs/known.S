/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of known length without a C library, one per symbol given with -D.
 * Counts are instructions:u and branches:u; the last SYSCALL is a branch.
 */
	.globl _start

#if defined(LOOP)		/* 2 n + 4 instructions, n + 1 branches */
_start:	mov	$LOOP, %rcx
1:	dec	%rcx
	jnz	1b

#elif defined(REP)		/* 8 n + 4, 3 n + 1: a REP MOVSB is one instruction */
_start:	mov	$REP, %rbx
1:	mov	$from, %rsi
	mov	$to, %rdi
	mov	$4096, %rcx
	rep movsb
	call	2f
	dec	%rbx
	jnz	1b
	jmp	3f
2:	ret
	.comm	from, 4096
	.comm	to, 4096
3:

#elif defined(NOPS)		/* 1000 instructions a round, whose address tells their index */
	.globl	rounds
_start:	mov	$NOPS, %rcx
	.balign	64
rounds:	.fill	998, 1, 0x90
	dec	%rcx
	jnz	rounds
#endif

	mov	$60, %eax
	xor	%edi, %edi
	syscall
