// SPDX-License-Identifier: GPL-2.0
/*
 * Load and unload: an unload is refused while the module is in use, works under any
 * load otherwise, and restores the PMU.
 *
 * Takes the module's file from PMURING_KO. Leaves the module loaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define CPUS_MAX	64
#define PAGE		4096UL

/* errno of delete_module(2) while the module is in use */
#define IN_USE		EWOULDBLOCK

/* registers of the Intel PMU; counters beyond those that exist are left out */
enum {
	DEBUGCTL = 0x1d9, LVTPC_X2APIC = 0x834, SELECTOR = 0x186, COUNTER = 0xc1,
	FIXED_COUNTER = 0x309, FIXED_CTRL = 0x38d, GLOBAL_STATUS = 0x38e, GLOBAL_CTRL = 0x38f,
};

#define REGISTERS_MAX	48

struct pmu_state {
	uint32_t msr[REGISTERS_MAX];
	uint64_t value[REGISTERS_MAX];
	int n;
};

static void note(struct pmu_state *state, int cpu, uint32_t msr)
{
	uint64_t value;

	if (state->n < REGISTERS_MAX && msr_read(cpu, msr, &value)) {
		state->msr[state->n] = msr;
		state->value[state->n++] = value;
	}
}

static void note_all(struct pmu_state *state, int cpu, const struct pmuring_info *info)
{
	state->n = 0;
	note(state, cpu, DEBUGCTL);
	note(state, cpu, FIXED_CTRL);
	note(state, cpu, GLOBAL_STATUS);
	note(state, cpu, GLOBAL_CTRL);
	note(state, cpu, LVTPC_X2APIC);
	for (uint32_t i = 0; i < info->gp_counters; i++) {
		note(state, cpu, SELECTOR + i);
		note(state, cpu, COUNTER + i);
	}
	for (uint32_t i = 0; i < 8; i++)
		if (info->fixed_mask & 1ULL << i)
			note(state, cpu, FIXED_COUNTER + i);
}

static bool same_state(const struct pmu_state *a, const struct pmu_state *b, int cpu)
{
	bool same = a->n == b->n && a->n;

	for (int i = 0; i < a->n && i < b->n; i++)
		if (a->value[i] != b->value[i]) {
			diag("CPU %d MSR %#x: was %#llx, is %#llx", cpu, a->msr[i],
			     (unsigned long long)a->value[i], (unsigned long long)b->value[i]);
			same = false;
		}
	return same;
}

/* all kinds of events on all CPUs, sampling at a high rate */
struct load {
	int fds[2 * CPUS_MAX];
	int n;
	struct ring ring;
};

static void load_on(struct load *load)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 10007, PERF_SAMPLE_IP);

	load->n = 0;
	attr.exclude_kernel = 0;
	attr.disabled = 0;
	for (int cpu = 0; cpu < cpu_possible() && cpu < CPUS_MAX; cpu++) {
		load->fds[load->n++] = open_event(&attr, -1, cpu);
		load->fds[load->n++] = open_event(&attr, 0, cpu);
	}
	map_ring(&load->ring, load->fds[0], 64);
}

static void load_off(struct load *load)
{
	ring_unmap(&load->ring);
	for (int i = 0; i < load->n; i++)
		close(load->fds[i]);
}

static atomic_bool stop;

static void *spin(void *data)
{
	cpu_pin(*(int *)data);
	while (!stop)
		work(1000);
	return NULL;
}

static int spinners(pthread_t *threads)
{
	static int cpus[CPUS_MAX];
	int n = cpu_possible() < CPUS_MAX ? cpu_possible() : CPUS_MAX;

	stop = false;
	for (int i = 0; i < n; i++) {
		cpus[i] = i;
		pthread_create(&threads[i], NULL, spin, &cpus[i]);
	}
	return n;
}

static void must_load(void)
{
	if (module_load())
		bail_out("cannot load %s", module_path());
	/* devtmpfs makes the node in its own time */
	for (int i = 0; i < 100 && door_fd() < 0; i++)
		sleep_ms(10);
}

static void put_back(const struct pmuring_info *info)
{
	static struct pmu_state before[CPUS_MAX], after[CPUS_MAX];
	int n = cpu_possible() < CPUS_MAX ? cpu_possible() : CPUS_MAX, same = 0;
	struct load load;

	gives(module_unload(), 0, "unload of the idle module");
	gives(open(PMURING_DEVICE, O_RDWR), ENOENT, "unload removes the device node");
	for (int cpu = 0; cpu < n; cpu++)
		note_all(&before[cpu], cpu, info);
	must_load();
	load_on(&load);
	work(1000000);
	load_off(&load);
	gives(module_unload(), 0, "unload after use");
	for (int cpu = 0; cpu < n; cpu++) {
		note_all(&after[cpu], cpu, info);
		same += same_state(&before[cpu], &after[cpu], cpu);
	}
	if (before[0].n)
		is(same, n, "unload restores the PMU's registers on all CPUs");
	else
		skip(1, "the msr driver is not loaded");
	ok(perf_works(0) && perf_works(n - 1),
	   "perf counts and samples correctly after the unload");
	must_load();
}

/* all users of the module */
static void refused(void)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 100003, PERF_SAMPLE_IP);
	int fd = open_self(&attr), copy, node;
	void *map;

	gives(module_unload(), IN_USE, "unload with an event open: refused");
	copy = dup(fd);
	close(fd);
	gives(module_unload(), IN_USE, "unload with a duplicate open: refused");
	map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	close(copy);
	gives(module_unload(), IN_USE, "unload with only a mapping left: refused");
	is(((struct perf_event_mmap_page *)map)->data_size, 2 * PAGE,
	   "the mapping is still the ring after the refusal");
	munmap(map, 3 * PAGE);
	node = open(PMURING_DEVICE, O_RDWR | O_CLOEXEC);
	gives(module_unload(), IN_USE, "unload with the node open: refused");
	close(node);
	is(module_info().events + hooks_remain(), 0, "no event is left");
	gives(module_unload(), 0, "unload with nothing in use");
	must_load();
}

/* the events of a killed reader are closed some time later */
static void killed_holder(void)
{
	int status, ready[2], rc;
	struct load load;
	char byte = 0;
	pid_t pid;

	if (pipe(ready))
		bail_out("no pipe");
	pid = fork();
	if (!pid) {
		load_on(&load);
		if (write(ready[1], &byte, 1) == 1)
			for (;;)
				work(1000);
		_exit(1);
	}
	if (read(ready[0], &byte, 1) != 1)
		bail_out("the child does not start");
	gives(module_unload(), IN_USE, "unload while another process samples: refused");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (int i = 0; i < 100 && (rc = module_unload()) && errno == IN_USE; i++)
		sleep_ms(10);
	gives(rc, 0, "unload succeeds soon after that process is killed");
	must_load();
	is(module_info().events, 0, "no event is left");
	close(ready[0]);
	close(ready[1]);
}

/* children that are counted, are alive when the event is closed, or are just ending */
static void forked_children(int times)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_INSTRUCTIONS, 10007, PERF_SAMPLE_IP);
	int fd, busy, refusals = 0, good = 0;
	atomic_int *ready;
	pid_t pids[8];

	ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ready == MAP_FAILED)
		bail_out("no shared memory");
	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.disabled = 0;
	for (int i = 0; i < times; i++) {
		fd = open_event(&attr, 0, i % 2 ? -1 : 0);
		for (size_t n = 0; n < ARRAY_SIZE(pids); n++) {
			pids[n] = fork();
			if (pids[n])
				continue;
			/* nothing of the module is open here */
			close_range(3, ~0U, 0);
			++*ready;
			for (;;)
				work(1000);
		}
		while (*ready < (int)ARRAY_SIZE(pids))
			sleep_ms(1);
		*ready = 0;
		busy = module_unload();
		refusals += busy && errno == IN_USE;
		for (size_t n = 0; n < ARRAY_SIZE(pids) / 2; n++)
			kill(pids[n], SIGKILL);
		usleep(i % 5 * 100);
		close(fd);
		if (!module_unload()) {
			good++;
			must_load();
		}
		for (size_t n = 0; n < ARRAY_SIZE(pids); n++) {
			kill(pids[n], SIGKILL);
			waitpid(pids[n], NULL, 0);
		}
	}
	munmap(ready, PAGE);
	is(refusals, times, "%d unloads with inherited events open: refused", times);
	is(good, times, "unload succeeds after the close while children live");
}

/* under load on all CPUs, right after the last NMIs */
static void at_high_rate(int times)
{
	pthread_t threads[CPUS_MAX];
	int n = spinners(threads), good = 0;
	struct load load;

	for (int i = 0; i < times; i++) {
		load_on(&load);
		sleep_ms(i % 7);
		load_off(&load);
		good += !module_unload();
		must_load();
	}
	stop = true;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	is(good, times, "%d unloads right after sampling at a high rate succeed", times);
}

/* tasks are switched while the hook is installed and removed */
static void hook_under_load(int times)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	pthread_t threads[CPUS_MAX];
	int n = spinners(threads), fd;

	attr.disabled = 0;
	for (int i = 0; i < times; i++) {
		fd = open_self(&attr);
		usleep(100);
		close(fd);
	}
	stop = true;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	is(hooks_remain(), 0, "the hook is removed after %d rounds of first and last task event",
	   times);
}

int main(void)
{
	struct pmuring_info info;
	int log;

	if (!module_path())
		return skip_all("PMURING_KO does not name the module's file");
	if (!pmu_is_there())
		return skip_all("no PMU");
	log = kernel_log_open();
	info = module_info();
	plan(5 + 7 + 3 + 2 + 1 + 1 + 2);
	cpu_pin(0);
	put_back(&info);
	refused();
	killed_holder();
	forked_children(10);
	at_high_rate(30);
	hook_under_load(200);
	ok(perf_works(0) && perf_works(cpu_possible() - 1),
	   "perf works while the module is idle");
	ok(kernel_log_is_clean(log), "the kernel log is clean, without unknown NMIs");
	return done();
}
