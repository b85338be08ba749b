// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of known length, in assembly so that no compiler changes it. Called
 * by the tests; any thread.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "workload.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* fourteen instructions of one byte: the IP tells which of them is next */
#define FOURTEEN_NOPS "	.fill 14, 1, 0x90\n"

/* work(rounds): at least one */
asm(".text\n"
	".globl work\n"
	".type work, @function\n"
	"work:\n"
	FOURTEEN_NOPS
	"	dec %rdi\n"
	"	jnz work\n"
	"work_end:\n"
	"	ret\n"
	".size work, . - work\n");

/*
 * work_counted(event_fd, rounds): ENABLE, the rounds, DISABLE, with nothing
 * between that is not counted here
 */
asm(".globl work_counted\n"
	".type work_counted, @function\n"
	"work_counted:\n"
	"	mov %rsi, %r8\n"
	"	mov $0x2400, %esi\n"
	"	xor %edx, %edx\n"
	"	mov $" TEXT(SYS_ioctl) ", %eax\n"
	"	syscall\n"
	"work_counted_loop:\n"
	FOURTEEN_NOPS
	"	dec %r8\n"
	"	jnz work_counted_loop\n"
	"work_counted_loop_end:\n"
	"	mov $0x2401, %esi\n"
	"	mov $" TEXT(SYS_ioctl) ", %eax\n"
	"	syscall\n"
	"	ret\n"
	".size work_counted, . - work_counted\n");

/*
 * work_pingpong(read_fd, write_fd, rounds, loops): in each round a loop of two
 * instructions, a byte written and a byte read
 */
asm(".globl work_pingpong\n"
	".type work_pingpong, @function\n"
	"work_pingpong:\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	sub $24, %rsp\n"
	"	mov %edi, %r12d\n"
	"	mov %esi, %r13d\n"
	"	mov %rdx, %r14\n"
	"	mov %rcx, %r15\n"
	"1:	mov %r15, %r8\n"
	"2:	dec %r8\n"
	"	jnz 2b\n"
	"	mov $" TEXT(SYS_write) ", %eax\n"
	"	mov %r13d, %edi\n"
	"	mov %rsp, %rsi\n"
	"	mov $1, %edx\n"
	"	syscall\n"
	"	xor %eax, %eax\n"
	"	mov %r12d, %edi\n"
	"	syscall\n"
	"	dec %r14\n"
	"	jnz 1b\n"
	"	add $24, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	ret\n"
	".size work_pingpong, . - work_pingpong\n");

/*
 * work_migrate(cpu_masks, mask_size, rounds, loops): in each round the caller
 * moves to the CPUs of the next of the two masks and runs a loop of two
 * instructions there; the first round takes the first mask
 */
asm(".globl work_migrate\n"
	".type work_migrate, @function\n"
	"work_migrate:\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rdi, %r12\n"
	"	mov %rsi, %r13\n"
	"	lea (%rdi,%rsi), %r9\n"
	"	mov %rdx, %r14\n"
	"	mov %rcx, %r15\n"
	"1:	mov $" TEXT(SYS_sched_setaffinity) ", %eax\n"
	"	xor %edi, %edi\n"
	"	mov %r13, %rsi\n"
	"	mov %r12, %rdx\n"
	"	syscall\n"
	"	xchg %r12, %r9\n"
	"	mov %r15, %r8\n"
	"2:	dec %r8\n"
	"	jnz 2b\n"
	"	dec %r14\n"
	"	jnz 1b\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	ret\n"
	".size work_migrate, . - work_migrate\n");

_Static_assert(PERF_EVENT_IOC_ENABLE == 0x2400 && PERF_EVENT_IOC_DISABLE == 0x2401,
	       "work_counted() spells them out");

/**
 * work_counted_ip - where work_counted() stands
 * @instructions: that have retired since the event was enabled, within the loop
 *
 * Return: the address of the next instruction
 */
uint64_t work_counted_ip(uint64_t instructions)
{
	uint64_t at = instructions % WORK_ROUND;

	/* fourteen nops, a dec of three bytes, a jump */
	return (uintptr_t)work_counted_loop + (at < 15 ? at : 17);
}

/**
 * work_counted_has_ip - whether an address lies in the loop of work_counted()
 * @ip: the address
 *
 * Return: whether it does; right after the last instruction counts, as there
 * the loop's last instruction has retired
 */
bool work_counted_has_ip(uint64_t ip)
{
	return ip >= (uintptr_t)work_counted_loop && ip <= (uintptr_t)work_counted_loop_end;
}

/**
 * work_has_ip - whether an address lies in work()
 * @ip: the address
 *
 * Return: whether it does
 */
bool work_has_ip(uint64_t ip)
{
	return ip >= (uintptr_t)work && ip <= (uintptr_t)work_end;
}
