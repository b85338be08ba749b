// SPDX-License-Identifier: GPL-2.0
/*
 * What only a user program can see, as TAP: RDPMC of a known distance, and the
 * flags after CMPXCHG8B and CMPXCHG16B, which QEMU 7.2 as shipped gets wrong.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS	1000
#define NOPS	100
/* the first RDPMC itself, two MOVs, and the NOPs */
#define DISTANCE (1 + 2 + NOPS)

static void tap(int ok, const char *name)
{
	printf("%s - %s\n", ok ? "ok" : "not ok", name);
}

static uint64_t rdpmc_distance(uint32_t counter)
{
	uint32_t lo0, hi0, lo1, hi1;

	asm volatile("rdpmc\n\tmov %%eax, %0\n\tmov %%edx, %1\n\t"
		     ".fill 100, 1, 0x90\n\t"
		     "rdpmc\n\tmov %%eax, %2\n\tmov %%edx, %3"
		     : "=&r"(lo0), "=&r"(hi0), "=&r"(lo1), "=&r"(hi1)
		     : "c"(counter) : "eax", "edx");
	return (lo1 | (uint64_t)hi1 << 32) - (lo0 | (uint64_t)hi0 << 32);
}

static void test_rdpmc(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1,
	};
	volatile struct perf_event_mmap_page *page;
	int fd, i, wrong = 0;

	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || page == MAP_FAILED || !page->cap_user_rdpmc) {
		tap(0, "rdpmc # perf offers none");
		return;
	}
	for (i = 0; i < ROUNDS; i++)
		wrong += rdpmc_distance(page->index - 1) != DISTANCE;
	tap(!wrong, "rdpmc: the same distance, 1000 times");
}

/*
 * POPFQ leaves the flags computed; the SUB then changes them in a way that only
 * the translator knows of. Of CMPXCHGxB, only ZF may differ from what SUB left.
 */
#define PROBE(insn)							\
	asm volatile("pushfq; popfq; jmp 1f; 1: sub %[x], %[y]\n\t"	\
		     "lock " insn " %[m]; pushfq; popq %[flags]"	\
		     : [flags] "=&r"(flags), [m] "+m"(m), [y] "+r"(y), "+a"(a), "+d"(d) \
		     : "b"(0ul), "c"(0ul), [x] "r"(x) : "cc", "memory")

static void test_cmpxchg(void)
{
	unsigned __int128 m __attribute__((aligned(16))) = 0;
	unsigned long flags, a = 0, d = 0, x = 0x04e01000, y = x + 1;

	PROBE("cmpxchg16b");
	tap(flags == 0x242, "flags after cmpxchg16b");	/* IF, ZF, and the bit that is always 1 */
	m = 0;
	a = d = 0;
	y = x + 1;
	PROBE("cmpxchg8b");
	tap(flags == 0x242, "flags after cmpxchg8b");
}

int main(int argc, char **argv)
{
	(void)argv;
	test_cmpxchg();
	if (argc < 2)		/* any argument: no counter that user space may read */
		test_rdpmc();
	return 0;
}
