/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length with a child and a thread, one after the other: the
 * first task executes 18 instructions of user space, the child 10,000,006, the
 * thread 5,000,006. Each is waited for inside the clone, by CLONE_VFORK, so that
 * waiting adds none. Run by tool_test.sh.
 */
	.set	CLONE_CHILD, 0x4011	/* VFORK, SIGCHLD */
	.set	CLONE_THREAD, 0x54f00	/* VM, FS, FILES, SIGHAND, VFORK, THREAD, SYSVSEM */

	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm

	function _start
	mov	$CLONE_CHILD, %edi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$56, %eax
	syscall
	test	%eax, %eax
	jz	child
	mov	$CLONE_THREAD, %edi
	xor	%esi, %esi
	mov	$56, %eax
	syscall
	test	%eax, %eax
	jz	thread
	xor	%edi, %edi
	mov	$60, %eax
	syscall
	.size	_start, . - _start

	function child
	mov	$5000000, %ecx
	jmp	child_here
	.size	child, . - child

	function child_here
	dec	%ecx
	jnz	child_here
	mov	$60, %eax
	syscall
	.size	child_here, . - child_here

	function thread
	mov	$2500000, %ecx
	jmp	thread_here
	.size	thread, . - thread

	function thread_here
	dec	%ecx
	jnz	thread_here
	mov	$60, %eax
	syscall
	.size	thread_here, . - thread_here

	.section .note.GNU-stack, "", @progbits
