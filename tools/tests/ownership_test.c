// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of taking the PMU. CPUs without events are left alone, and a task that
 * never releases its CPU does not block opens.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "user_page.h"
#include "workers.h"
#include "workload.h"

#define ROUNDS		1000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"

/* as many as fit on any PMU */
#define PMU_EVENTS	4

#define PERFEVTSEL0	0x186
#define PERFEVTSEL_EN	(1U << 22)
#define FIXED_CTR_CTRL	0x38d
#define GLOBAL_CTRL	0x38f

/* function call interrupts handled by a CPU */
static uint64_t calls_answered(int cpu)
{
	unsigned long long value = 0;
	char line[1024];
	FILE *file = fopen("/proc/interrupts", "r");
	char *at;

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "CAL:");
		if (!at)
			continue;
		at += strlen("CAL:");
		for (int i = 0; i <= cpu; i++) {
			while (*at == ' ')
				at++;
			value = 0;
			while (*at >= '0' && *at <= '9')
				value = value * 10 + (*at++ - '0');
		}
	}
	if (file)
		fclose(file);
	return value;
}

static void one_cpu_pays(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_TASK_CLOCK,
					 .size = sizeof(clock) };
	int times = 100, good = 0, held, fd;
	uint64_t before;

	/* install the hooks */
	held = open_self(&clock);
	close(open_self(&attr));
	before = calls_answered(1);
	for (int i = 0; i < times; i++) {
		fd = open_self(&attr);
		work_counted(fd, ROUNDS);
		good += read_value(fd) == LENGTH;
		close(fd);
	}
	is(good, times, "an event on CPU 0 is exact in each of %d opens", times);
	between(calls_answered(1) - before, 0, times / 4,
		"opens on CPU 0 rarely call CPU 1");
	close(held);
}

/* Placing a probe changes code and calls all CPUs for that: not at each open. */
static void mappings_stay_hooked(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY, .mmap = 1,
					.size = sizeof(attr) };
	uint64_t before;
	int good = 0;

	close(open_self(&attr));
	before = calls_answered(1);
	for (int i = 0; i < 100; i++) {
		int fd = open_self(&attr);

		good += fd >= 0;
		close(fd);
	}
	is(good, 100, "an event that asks for mappings opens 100 times");
	between(calls_answered(1) - before, 0, 25, "these opens on CPU 0 rarely call CPU 1");
}

/* perf clears the enable bit only */
static bool cpu_is_idle(int cpu)
{
	uint64_t selector, fixed;

	return msr_read(cpu, PERFEVTSEL0, &selector) && !(selector & PERFEVTSEL_EN) &&
	       msr_read(cpu, FIXED_CTR_CTRL, &fixed) && !fixed;
}

static void moved(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before[2], held = 0, after[2];
	int fd;

	if (!msr_read(0, GLOBAL_CTRL, &before[0]) || !msr_read(1, GLOBAL_CTRL, &before[1])) {
		skip(3, "no msr driver");
		return;
	}
	fd = open_self(&attr);
	switch_event(fd, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	ok(cpu_is_idle(1), "an event on CPU 0 leaves CPU 1's PMU alone");
	cpu_pin(1);
	work(ROUNDS);
	msr_read(1, GLOBAL_CTRL, &held);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	ok(held && read_value(fd) > 2 * ROUNDS * WORK_ROUND,
	   "a task event counts on after a move to CPU 1");
	close(fd);
	cpu_pin(0);
	ok(msr_read(0, GLOBAL_CTRL, &after[0]) && after[0] == before[0] &&
	   msr_read(1, GLOBAL_CTRL, &after[1]) && after[1] == before[1] &&
	   cpu_is_idle(0) && cpu_is_idle(1), "both CPUs' PMUs are idle after the close");
}

static void work_there(uint64_t rounds, void *data)
{
	(void)data;
	cpu_pin(1);
	work(rounds);
}

/*
 * perf clears the counters it has used on a CPU when a process that may use RDPMC is
 * switched in. pmuring owns the counters by then.
 */
static void dirty_counters(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	volatile struct perf_event_mmap_page *page;
	uint64_t low = 3ULL * ROUNDS * WORK_ROUND, high = 3 * low;
	int of_cpu[PMU_EVENTS], fds[PMU_EVENTS], own;
	struct worker w;

	attr.disabled = 0;
	for (int i = 0; i < PMU_EVENTS; i++)
		fds[i] = perf_open(&attr, -1, 1);
	sleep_ms(20);
	for (int i = 0; i < PMU_EVENTS; i++)
		close(fds[i]);

	worker_start(&w, work_there, NULL);
	worker_run(&w, 1);
	for (int i = 0; i < PMU_EVENTS; i++)
		of_cpu[i] = open_event(&attr, -1, 1);
	worker_run(&w, ROUNDS);
	own = open_self(&attr);
	page = user_page_map(own);
	work(ROUNDS);
	cpu_pin(1);
	work(ROUNDS);
	worker_run(&w, ROUNDS);
	for (int i = 0; i < PMU_EVENTS; i++)
		between(read_value(of_cpu[i]), low, high,
			"CPU event %d is right after perf's use and an RDPMC reader", i);
	ok(user_page_agrees(page, own), "the RDPMC reader's own event is right");
	cpu_pin(0);
	user_page_unmap(page);
	close(own);
	for (int i = 0; i < PMU_EVENTS; i++)
		close(of_cpu[i]);
	worker_end(&w);
}

/* never sleeps, and only interrupts preempt it */
static pid_t hog(int cpu)
{
	struct sched_param top = { .sched_priority = 99 };
	pid_t pid = fork();

	if (pid)
		return pid;
	cpu_pin(cpu);
	if (sched_setscheduler(0, SCHED_FIFO, &top))
		_exit(1);
	for (;;)
		work(ROUNDS);
}

static int open_and_count(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr), of_cpu;
	uint64_t value;

	work_counted(fd, ROUNDS);
	value = read_value(fd);
	attr.disabled = 0;
	of_cpu = open_event(&attr, -1, 1);
	sleep_ms(10);
	return value == LENGTH && read_value(of_cpu) > 1000 ? 0 : 1;
}

/* Return: the exit status of @fn in a child, or -1 if it takes too long */
static int in_time(int (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sleep_ms(10);
	}
	kill(pid, SIGKILL);
	return -1;
}

/* perf has used all CPUs, so it may want to clear their counters */
static void a_busy_cpu(void)
{
	long runtime = file_number(RT_RUNTIME);
	char text[32];
	pid_t pid;

	ok(perf_works(0) && perf_works(1), "perf counts on both CPUs");
	cpu_pin(0);
	file_write(RT_RUNTIME, "-1");
	pid = hog(1);
	sleep_ms(50);
	is(in_time(open_and_count), 0, "events open and count while a FIFO task holds CPU 1");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(text, sizeof(text), "%ld", runtime);
	file_write(RT_RUNTIME, text);
}

#define DEVICE_MODE	0600
#define NOBODY		65534

static int a_stranger_sees(void)
{
	struct pmuring_info info;

	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return 2;
	info = module_info();
	return info.events || info.task_hooks || info.nmis || info.samples || info.lost ||
	       info.throttled || info.late_nmis || info.not_inherited ||
	       !info.gp_counters || info.holder != PMURING_HOLDER_PMURING;
}

static void strangers(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = open_self(&attr);
	struct pmuring_info info;

	chmod(PMURING_DEVICE, 0666);
	work_counted(fd, ROUNDS);
	info = module_info();
	ok(info.events == 1 && info.task_hooks, "INFO shows root all events");
	is(in_time(a_stranger_sees), 0, "INFO shows other users only the PMU and its holder");
	chmod(PMURING_DEVICE, DEVICE_MODE);
	close(fd);
}

/* INFO in a loop does not keep perf from taking the PMU */
static void asked_in_a_loop(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int opened = 0, times = 0, fd;
	uint64_t end;
	pid_t pid;

	chmod(PMURING_DEVICE, 0666);
	pid = fork();
	if (!pid) {
		cpu_pin(1);
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		for (;;)
			module_info();
	}
	sleep_ms(20);
	is(module_info().holder, PMURING_HOLDER_NOBODY, "INFO reports no holder without events");
	for (end = now_ns() + 400000000; now_ns() < end; times++) {
		fd = perf_open(&attr, 0, -1);
		opened += fd >= 0;
		close(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	chmod(PMURING_DEVICE, DEVICE_MODE);
	is(opened, times,
	   "perf opens %d times of %d while another user calls INFO in a loop", opened,
	   times);
}

int main(void)
{
	int log = kernel_log_open();

	if (!pmu_is_there())
		return skip_all("no PMU");
	if (cpu_possible() < 2)
		return skip_all("one CPU");
	plan(2 + 2 + 3 + PMU_EVENTS + 1 + 2 + 2 + 2 + 2);
	cpu_pin(0);
	one_cpu_pays();
	mappings_stay_hooked();
	moved();
	dirty_counters();
	a_busy_cpu();
	strangers();
	asked_in_a_loop();
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
