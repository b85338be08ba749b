// SPDX-License-Identifier: GPL-2.0
/*
 * kexec hands over a PMU that is off: the next kernel does not take it for the
 * firmware's ("Broken BIOS detected"), and its perf has all counters.
 *
 * Runs twice. In the first kernel events sample on all CPUs, and the test starts the
 * next kernel, with the files of this machine as its initramfs. That one runs the same
 * command, and the test there looks at the kernel log. Only for the machine that the
 * stage e2e-kexec boots, which has the kernel's image in KERNEL.
 */
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

#define KERNEL		"/root/vmlinuz"
#define INITRD		"/dev/shm/initrd"
#define MARK		"pmuring_kexec"

#define ROUNDS		1000
#define LENGTH		(ROUNDS * WORK_ROUND + WORK_TAIL)
#define PERIOD		100003

/* syslog(2) */
#define READ_ALL	3

/* what init needs, and what runs the tests */
#define DIRS	"dev proc sys tmp run share usr usr/bin"
#define FILES	"$(find init bin sbin etc vm root tests ! -path root/vmlinuz)"
#define PACK	"cd / && printf '%s\\n' " DIRS " " FILES " | cpio -o -H newc 2>/dev/null > " INITRD

static char command_line[4096];
static char text[1 << 20];

/* On each CPU a general and a fixed counter run, and interrupt. They are never closed. */
static void sample_everywhere(void)
{
	struct perf_event_attr fixed = sampling(PERF_COUNT_HW_INSTRUCTIONS, PERIOD,
						PERF_SAMPLE_IP);
	struct perf_event_attr general = raw(0x00c4);

	fixed.disabled = 0;
	fixed.exclude_kernel = 0;
	general.disabled = 0;
	general.exclude_kernel = 0;
	general.sample_period = PERIOD;
	for (int cpu = 0; cpu < cpu_possible(); cpu++) {
		open_event(&fixed, -1, cpu);
		open_event(&general, -1, cpu);
		cpu_pin(cpu);
		work(ROUNDS);
	}
}

static void start_next_kernel(void)
{
	int kernel = open(KERNEL, O_RDONLY | O_CLOEXEC), initrd;

	if (system(PACK))
		bail_out("cannot make an initramfs");
	initrd = open(INITRD, O_RDONLY | O_CLOEXEC);
	command_line[strcspn(command_line, "\n")] = '\0';
	strcat(command_line, " " MARK);
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(command_line) + 1,
		    command_line, 0))
		bail_out("cannot load the next kernel");
	sample_everywhere();
	/* for tap.py: the results are those of the next run */
	printf("# AGAIN kexec_test\n");
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(LINUX_REBOOT_CMD_KEXEC);
	bail_out("no next kernel");
}

static void look_around(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	ok(klogctl(READ_ALL, text, sizeof(text) - 1) > 0, "the next kernel has a log");
	ok(strstr(text, "Intel PMU driver"), "the next kernel's perf finds the PMU");
	ok(!strstr(text, "Broken BIOS") && !strstr(text, "corrupted hw-PMU resources"),
	   "the next kernel finds no running counter");
	fd = open_self(&attr);
	work_counted(fd, ROUNDS);
	is(read_value(fd), LENGTH, "pmuring counts correctly in the next kernel");
	close(fd);
	for (int cpu = 0; cpu < 2; cpu++)
		ok(perf_works(cpu % cpu_possible()),
		   "perf counts on CPU %d in the next kernel", cpu);
}

int main(void)
{
	if (!machine_is_exact())
		return skip_all("not the QEMU that models a PMU");
	if (!file_read("/proc/cmdline", command_line, sizeof(command_line) - sizeof(MARK) - 1))
		bail_out("no /proc/cmdline");
	if (strstr(command_line, MARK)) {
		plan(4 + 2);
		look_around();
		return done();
	}
	if (access(KERNEL, R_OK))
		return skip_all("no " KERNEL " here");
	if (!pmu_is_there())
		return skip_all("no PMU");
	start_next_kernel();
}
