// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains of programs with known frames and with bad frame pointers. Kernel
 * frames appear only for users with permission. Each case runs on the kernel's
 * perf first, and pmuring must record the same chain.
 */
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "frames.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define PAGE		4096UL
#define NOBODY		65534
#define PERIOD		50021
#define ROUNDS		(7 * PERIOD / 4)
#define IPS_MAX		512
#define KERNEL_HALF	(1ULL << 63)

typedef int (*open_fn)(const struct perf_event_attr *attr, pid_t pid, int cpu);

static int open_pmuring(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return door_open_event(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/**
 * struct chains - the chains of one run
 * @samples: how many there were
 * @number: words in the last one
 * @ip: these
 * @different: others were of another shape
 */
struct chains {
	uint64_t samples;
	uint64_t number;
	uint64_t ip[IPS_MAX];
	uint64_t different;
};

static bool same_chain(const struct chains *chains, const uint64_t *field)
{
	if (field[0] != chains->number)
		return false;
	for (uint64_t i = 0; i < field[0]; i++)
		if (field[1 + i] != chains->ip[i] && !(frames_in_loop(field[1 + i]) && frames_in_loop(chains->ip[i])))
			return false;
	return true;
}

/* nr, ips */
static void take_chain(const struct record *rec, void *data)
{
	struct chains *chains = data;
	const uint64_t *field = rec->field;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	if (rec->header.size != sizeof(rec->header) + 8 * (1 + field[0]) || field[0] > IPS_MAX) {
		chains->different++;
		return;
	}
	if (chains->samples++ && !same_chain(chains, field))
		chains->different++;
	chains->number = field[0];
	memcpy(chains->ip, field + 1, 8 * field[0]);
}

static struct perf_event_attr chain_attr(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
					       PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	return attr;
}

static struct chains sample_chains(open_fn open, const struct perf_event_attr *attr,
				   void (*fn)(void *), void *data)
{
	struct chains chains = { 0 };
	struct ring ring;
	int fd = open(attr, 0, -1);

	if (fd < 0)
		bail_out("cannot open an event with call chains");
	map_ring(&ring, fd, 64);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	fn(data);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	drain(&ring, take_chain, &chains);
	ring_unmap(&ring);
	close(fd);
	return chains;
}

static bool is_chain(const struct chains *chains, size_t number, const uint64_t *ips)
{
	struct chains want = { .number = number };

	memcpy(want.ip, ips, number * 8);
	return chains->number == number && same_chain(&want, &chains->number) &&
	       !chains->different && chains->samples >= 3;
}

static void show(const struct chains *chains)
{
	diag("%llu samples, %llu different, %llu words:", (unsigned long long)chains->samples,
	     (unsigned long long)chains->different, (unsigned long long)chains->number);
	for (uint64_t i = 0; i < chains->number && i < 8; i++)
		diag("  %#llx", (unsigned long long)chains->ip[i]);
}

static void go_deep(void *data)
{
	(void)data;
	chain_outer(ROUNDS);
}

static void expect(const char *what, const struct perf_event_attr *attr, void (*fn)(void *),
		   void *data, size_t number, const uint64_t *ips)
{
	struct chains perf = sample_chains(perf_open, attr, fn, data);
	struct chains ours = sample_chains(open_pmuring, attr, fn, data);

	if (!ok(is_chain(&perf, number, ips), "%s: perf records the expected chain", what))
		show(&perf);
	if (!ok(is_chain(&ours, number, ips), "%s: pmuring records the expected chain", what))
		show(&ours);
}

static void known_frames(void)
{
	const uint64_t whole[] = {
		PERF_CONTEXT_USER, (uintptr_t)chain_inner_loop, (uintptr_t)chain_middle_goes_on,
		(uintptr_t)chain_outer_goes_on,
	};
	struct perf_event_attr attr = chain_attr();

	expect("three frames", &attr, go_deep, NULL, 4, whole);
	attr.exclude_callchain_kernel = 0;
	expect("a sample in user mode has no kernel frames", &attr, go_deep, NULL, 4, whole);
	for (unsigned int depth = 1; depth <= 3; depth++) {
		attr.sample_max_stack = depth;
		expect("sample_max_stack is kept", &attr, go_deep, NULL, 1 + depth, whole);
	}
	attr.sample_max_stack = 0;
	attr.exclude_callchain_user = 1;
	expect("exclude_callchain_user leaves out the user frames", &attr, go_deep, NULL, 0, whole);
}

#define KNOWN_CHECKS	12

static void lie(void *frame)
{
	chain_lying((uintptr_t)frame, ROUNDS);
}

static void lying_frames(void)
{
	const uint64_t alone[] = { PERF_CONTEXT_USER, (uintptr_t)chain_lying_loop };
	static const uint64_t nowhere[] = {
		0, 8, 0xffffffff81000000, 0xffff888000000000, 0xffffffffffffffff,
		0xffffffffffffff00, 0x00007fffffffeff8, 0x0000800000000000, 0xffff800000000000,
	};
	struct perf_event_attr attr = chain_attr();
	uint64_t chain[2 + 126] = { alone[0], alone[1] };
	struct frame *at, loop[2];
	char *pages;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
		expect("an unreadable frame", &attr, lie, (void *)nowhere[i], 2, alone);

	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE))
		bail_out("no memory");
	expect("an unmapped page", &attr, lie, pages + 2 * PAGE, 2, alone);
	expect("a PROT_NONE page", &attr, lie, pages + PAGE, 2, alone);
	memset(pages, 0x11, PAGE);
	expect("a truncated frame", &attr, lie, pages + PAGE - 8, 2, alone);

	/* not aligned, and on into the kernel */
	at = (struct frame *)(pages + 3);
	*at = (struct frame){ .next = 0xffffffff81000000, .ip = 0x123456 };
	chain[2] = 0x123456;
	expect("an unaligned frame", &attr, lie, at, 3, chain);

	for (size_t i = 2; i < ARRAY_SIZE(chain); i++)
		chain[i] = 0x200000 + (i & 1);
	for (size_t i = 0; i < 2; i++)
		loop[i] = (struct frame){ (uintptr_t)&loop[!i], 0x200000 + i };
	expect("a cycle of frames", &attr, lie, loop, ARRAY_SIZE(chain), chain);
	munmap(pages, 3 * PAGE);
}

#define LYING_CHECKS	(2 * (9 + 5))

static void lie_32(void *frames)
{
	frames_lying_32(frames, ROUNDS);
}

/* Frames of 32-bit code are half as wide. */
static void narrow_frames(void)
{
	struct frames_32 *frames = frames_map_32();
	uint64_t chain[] = { PERF_CONTEXT_USER, frames_loop_32(frames), 0x1111, 0xfffffff0 };
	struct perf_event_attr attr = chain_attr();

	frames->frame[0] = (struct frame_32){ frames_address_32(&frames->frame[1]), 0x1111 };
	frames->frame[1] = (struct frame_32){ 0, 0xfffffff0 };
	expect("32-bit code", &attr, lie_32, frames, ARRAY_SIZE(chain), chain);
	frames_unmap_32(frames);
}

static void call_kernel(void *data)
{
	(void)data;
	for (int i = 0; i < 30000; i++)
		syscall(SYS_getppid);
}

/**
 * struct sight - what chains of the kernel looked like
 * @samples: all
 * @kernel: those that began in the kernel, and then had user space
 * @without_user: those that had no user part: the task was on its way to or from
 *	the CPU
 * @depth: the deepest kernel part
 * @wrong: of another form
 * @leaks: kernel addresses outside of the kernel part
 */
struct sight {
	uint64_t samples;
	uint64_t kernel;
	uint64_t without_user;
	uint64_t depth;
	uint64_t wrong;
	uint64_t leaks;
};

static void see(const struct record *rec, void *data)
{
	const uint64_t *ip = rec->field + 1;
	struct sight *sight = data;
	uint64_t n = rec->field[0], i = 0;

	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	sight->samples++;
	if (n && ip[0] == (uint64_t)PERF_CONTEXT_KERNEL) {
		for (i = 1; i < n && ip[i] != (uint64_t)PERF_CONTEXT_USER; i++)
			sight->wrong += ip[i] < KERNEL_HALF;
		sight->depth = i - 1 > sight->depth ? i - 1 : sight->depth;
		sight->kernel += i > 1 && i < n;
	}
	if (i == n) {
		sight->without_user++;
		return;
	}
	sight->wrong += ip[i] != (uint64_t)PERF_CONTEXT_USER;
	for (i++; i < n; i++)
		sight->leaks += ip[i] >= KERNEL_HALF;
}

static struct sight look(open_fn open, const struct perf_event_attr *attr)
{
	struct sight sight = { 0 };
	struct ring ring;
	int fd = open(attr, 0, -1);

	if (fd < 0)
		return sight;
	map_ring(&ring, fd, 64);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	call_kernel(NULL);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	drain(&ring, see, &sight);
	ring_unmap(&ring);
	close(fd);
	return sight;
}

static void kernel_part(const char *door, open_fn open)
{
	struct perf_event_attr attr = chain_attr();
	struct sight sight;

	/* long enough to stay below the throttle limit */
	attr.sample_period = 10007;
	attr.exclude_kernel = 0;
	attr.exclude_user = 1;
	attr.exclude_callchain_kernel = 0;
	sight = look(open, &attr);
	/* a PMI may arrive after the return to user space has started */
	ok(sight.samples > 100 && sight.kernel >= sight.samples - sight.samples / 10,
	   "%s: %llu samples in the kernel, %llu with kernel and user frames", door,
	   (unsigned long long)sight.samples, (unsigned long long)sight.kernel);
	ok(sight.depth >= 3,
	   "the kernel part is %llu frames deep", (unsigned long long)sight.depth);
	is(sight.wrong + sight.leaks, 0, "each address is in the right part of the chain");
	attr.exclude_callchain_kernel = 1;
	sight = look(open, &attr);
	ok(sight.samples > 100 && sight.without_user < sight.samples / 10 && !sight.kernel &&
	   !sight.wrong && !sight.leaks,
	   "exclude_callchain_kernel: all but %llu of %llu samples have only user frames",
	   (unsigned long long)sight.without_user, (unsigned long long)sight.samples);
}

#define KERNEL_CHECKS	4

/* bits: 1 refused with EACCES, 2 samples, 4 something of the kernel */
static int unprivileged(void)
{
	struct perf_event_attr attr = chain_attr();
	struct sight sight;
	int seen = 0;

	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1))
		return 64;
	attr.sample_period = 1009;
	attr.exclude_callchain_kernel = 0;
	if (open_pmuring(&attr, 0, -1) < 0 && errno == EACCES)
		seen |= 1;
	attr.exclude_callchain_kernel = 1;
	sight = look(open_pmuring, &attr);
	if (sight.samples > 10)
		seen |= 2;
	if (sight.kernel || sight.wrong || sight.leaks)
		seen |= 4;
	return seen;
}

static void no_kernel_for_others(void)
{
	int status;
	pid_t pid;

	door_fd();
	pid = fork();
	if (!pid)
		_exit(unprivileged());
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 1 | 2,
	   "without privileges: the kernel part is refused, the user part is there, nothing else");
}

int main(void)
{
	if (!pmu_is_there())
		return skip_all("no PMU");
	cpu_pin(0);
	plan(KNOWN_CHECKS + LYING_CHECKS + 2 + 2 * KERNEL_CHECKS + 1);
	known_frames();
	lying_frames();
	narrow_frames();
	kernel_part("perf", perf_open);
	kernel_part("pmuring", open_pmuring);
	no_kernel_for_others();
	return done();
}
