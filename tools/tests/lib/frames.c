// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of known frames, in assembly, so that no compiler changes them. Called by
 * callchain_test.c.
 */
#include <string.h>
#include <sys/mman.h>

#include "frames.h"
#include "tap.h"

/*
 * chain_outer(rounds) calls chain_middle calls chain_inner, which loops. The
 * chain ends at chain_outer, which clears the frame pointer of its caller.
 *
 * chain_lying(frame, rounds): loops with a frame pointer as it is told.
 */
asm(".text\n"
	".globl chain_outer\n"
	"chain_outer:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call chain_middle\n"
	".globl chain_outer_goes_on\n"
	"chain_outer_goes_on:\n"
	"	pop %rbp\n"
	"	ret\n"
	"chain_middle:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call chain_inner\n"
	".globl chain_middle_goes_on\n"
	"chain_middle_goes_on:\n"
	"	pop %rbp\n"
	"	ret\n"
	"chain_inner:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	".globl chain_inner_loop\n"
	"chain_inner_loop:\n"
	"	dec %rdi\n"
	"	jnz chain_inner_loop\n"
	"	pop %rbp\n"
	"	ret\n"
	".globl chain_lying\n"
	"chain_lying:\n"
	"	push %rbp\n"
	"	mov %rdi, %rbp\n"
	".globl chain_lying_loop\n"
	"chain_lying_loop:\n"
	"	dec %rsi\n"
	"	jnz chain_lying_loop\n"
	"	pop %rbp\n"
	"	ret\n");

/*
 * enter_32(entry, frame, rounds): goes to 32-bit code by a far pointer; it comes
 * back to back_from_32. That mode keeps the lower halves of registers only.
 */
asm(".text\n"
	".globl enter_32\n"
	"enter_32:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, stack_of_64(%rip)\n"
	"	mov %rsi, %rbp\n"
	"	mov %rdx, %rsi\n"
	"	ljmpl *(%rdi)\n"
	".globl back_from_32\n"
	"back_from_32:\n"
	"	mov stack_of_64(%rip), %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".data\n"
	"stack_of_64:\n"
	"	.quad 0\n"
	".text\n");

/* dec %esi; jnz to it */
#define LOOP_32		3
/* ljmp to 64-bit code: opcode, offset, selector */
#define LJMP		7
/* that code: mov $address, %rax; jmp *%rax */

static uint64_t loop_32;

/**
 * frames_map_32 - put the code where 32-bit code can be
 *
 * Return: it; the frames are the caller's to fill in
 */
struct frames_32 *frames_map_32(void)
{
	struct frames_32 *frames = mmap(NULL, sizeof(*frames), PROT_READ | PROT_WRITE | PROT_EXEC,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	unsigned char *code = frames->code;
	uint64_t back = (uintptr_t)back_from_32;
	uint32_t next;

	if (frames == MAP_FAILED)
		bail_out("no memory below 4 GB");
	next = frames_address_32(code + LOOP_32 + LJMP);
	memcpy(code, "\x4e\x75\xfd\xea????\x33\0\x48\xb8????????\xff\xe0", 22);
	memcpy(code + LOOP_32 + 1, &next, sizeof(next));
	memcpy(code + LOOP_32 + LJMP + 2, &back, sizeof(back));
	frames->entry = (struct far_pointer){ frames_address_32(code), 0x23 };
	loop_32 = frames_loop_32(frames);
	return frames;
}

/**
 * frames_unmap_32 - take the code away
 * @frames: from frames_map_32()
 */
void frames_unmap_32(struct frames_32 *frames)
{
	munmap(frames, sizeof(*frames));
	loop_32 = 0;
}

/**
 * frames_loop_32 - where the 32-bit code loops
 * @frames: from frames_map_32()
 *
 * Return: the address
 */
uint64_t frames_loop_32(const struct frames_32 *frames)
{
	return (uintptr_t)frames->code;
}

/**
 * frames_address_32 - an address in 32-bit code
 * @at: within what frames_map_32() has given
 *
 * Return: it
 */
uint32_t frames_address_32(const void *at)
{
	return (uintptr_t)at;
}

/**
 * frames_lying_32 - as chain_lying(), in 32-bit code
 * @frames: from frames_map_32()
 * @rounds: of two instructions
 */
void frames_lying_32(const struct frames_32 *frames, uint64_t rounds)
{
	enter_32(&frames->entry, frames->frame, rounds);
}

/**
 * frames_in_loop - whether an address lies in one of the loops
 * @ip: the address
 *
 * Each consists of two instructions, dec and jump; which one is interrupted, is
 * not known.
 *
 * Return: whether it does
 */
bool frames_in_loop(uint64_t ip)
{
	return ip - (uintptr_t)chain_inner_loop < 5 || ip - (uintptr_t)chain_lying_loop < 5 ||
	       (loop_32 && ip - loop_32 < LOOP_32);
}
