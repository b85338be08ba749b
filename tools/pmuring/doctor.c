// SPDX-License-Identifier: GPL-2.0
/*
 * pmuring doctor: looks at everything that sampling depends on, says what it
 * found and what to do. Its last word is a trial: an event that counts, by the PMU
 * or, where there is none, by the clock.
 */
#include <argp.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "commands.h"
#include "door.h"
#include "events.h"
#include "kallsyms.h"
#include "util.h"

enum verdict {
	GOOD,
	LOOK,
	BAD,
};

static void __attribute__((format(printf, 3, 4)))
say(enum verdict verdict, const char *topic, const char *fmt, ...)
{
	static const char *const marks[] = { "ok", "note", "BAD" };
	va_list args;

	printf("%-5s %-12s ", marks[verdict], topic);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

/* first line of a file; NULL if there is none; valid until the next call */
static const char *line_of(const char *path)
{
	static char line[256];
	char *text = read_file(path, NULL);

	if (!text)
		return NULL;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return line;
}

static void look_at_kernel(void)
{
	struct utsname uts;
	const char *lockdown = line_of("/sys/kernel/security/lockdown");

	uname(&uts);
	say(GOOD, "kernel", "%s %s", uts.release, uts.machine);
	if (lockdown && !strstr(lockdown, "[none]"))
		say(LOOK, "lockdown", "%s: an unsigned module does not load; sign it with an enrolled key, or switch Secure Boot off",
		    lockdown);
}

static void look_at_module(void)
{
	const char *version;

	if (access("/sys/module/pmuring", F_OK)) {
		say(BAD, "module", "not loaded: as root, insmod build/$(uname -r)/pmuring.ko");
		return;
	}
	version = line_of("/sys/module/pmuring/version");
	if (!version)
		version = line_of("/sys/module/pmuring/srcversion");
	say(GOOD, "module", "loaded%s%s", version ? ", version " : "", version ? version : "");
}

static bool look_at_node(void)
{
	struct stat st;

	if (!stat(PMURING_DEVICE, &st))
		say(GOOD, "node", PMURING_DEVICE ", mode %04o, owner %u:%u",
		    st.st_mode & 07777, st.st_uid, st.st_gid);
	if (door_fd() >= 0)
		return true;
	say(BAD, "node", PMURING_DEVICE ": %s: %s", strerror(errno), door_explain_node(errno));
	return false;
}

static void list_events(const struct pmuring_info *info)
{
	struct buf names = { 0 };

	for (unsigned int i = 0; i < 64; i++) {
		const char *name = events_generic_name(i);

		if (!(info->hardware_events >> i & 1) || !name)
			continue;
		buf_add(&names, " ", 1);
		buf_add(&names, name, strlen(name));
	}
	say(names.len ? GOOD : BAD, "events", "generic:%.*s; also rXXXX and libpfm4's names",
	    (int)names.len, names.len ? names.data : "");
	buf_free(&names);
}

static bool look_at_abi(const struct pmuring_info *info)
{
	if (info->abi_version == PMURING_ABI_VERSION)
		return true;
	say(BAD, "ABI", "the module speaks version %u, this program %u: build both from one tree",
	    info->abi_version, PMURING_ABI_VERSION);
	return false;
}

/* the user cannot give a machine a PMU, so this is not BAD */
static bool look_at_pmu(const struct pmuring_info *info)
{
	if (info->vendor == PMURING_VENDOR_NONE) {
		say(LOOK, "PMU", "none that pmuring can drive; in a virtual machine, let the hypervisor pass it through (-cpu host,pmu=on)");
		say(GOOD, "events", "software events: record samples by cpu-clock, stat counts task-clock, page-faults, context-switches …");
		return false;
	}
	say(GOOD, "PMU", "%s version %u: %u general counters of %u bits, %u fixed of %u bits",
	    info->vendor == PMURING_VENDOR_INTEL ? "Intel" : "AMD", info->pmu_version,
	    info->gp_counters, info->gp_width, info->fixed_counters, info->fixed_width);
	list_events(info);
	return true;
}

static bool look_at_holder(const struct pmuring_info *info)
{
	const char *watchdog = line_of("/proc/sys/kernel/nmi_watchdog");
	bool on = watchdog && *watchdog == '1';

	if (info->holder != PMURING_HOLDER_KERNEL) {
		say(GOOD, "holder", info->holder == PMURING_HOLDER_PMURING ?
		    "pmuring, %u events are open" : "none, the counters are free", info->events);
		return true;
	}
	say(BAD, "holder", "the kernel's perf%s: %s", on ? ", and the NMI watchdog is on" : "",
	    on ? "sysctl kernel.nmi_watchdog=0" :
		 "end running perf sessions (perf record, perf stat, perf top)");
	return false;
}

/* of all NMIs; a counter that is stopped after its overflow leaves a late one now and then */
#define LATE_PERCENT	20
#define LATE_ENOUGH	1000

static void look_at_nmis(const struct pmuring_info *info)
{
	unsigned int percent = info->nmis ? info->late_nmis * 100 / info->nmis : 0;
	bool high = info->nmis >= LATE_ENOUGH && percent >= LATE_PERCENT;

	/* 0 as well if this user may not see the numbers of the machine */
	if (info->nmis)
		say(high ? LOOK : GOOD, "NMIs",
		    "%llu since the module was loaded, %u %% found nothing to do%s",
		    (unsigned long long)info->nmis, percent,
		    high ? ": this CPU interrupts twice for an overflow; please report its family and model" : "");
	if (info->recovered)
		say(LOOK, "overflows", "%llu came without an interrupt or a status and were served late: another driver or the hypervisor consumes them",
		    (unsigned long long)info->recovered);
	if (info->repaired)
		say(LOOK, "registers", "changed and restored %llu times: something else writes to the PMU (modprobe -r msr?), or it loses power",
		    (unsigned long long)info->repaired);
	if (info->storms)
		say(BAD, "storms", "the PMU was silenced %llu times because NMIs did not stop: see the kernel log",
		    (unsigned long long)info->storms);
	if (info->failures)
		say(BAD, "failures", "%llu times the PMU did not keep what was written to it: see the kernel log",
		    (unsigned long long)info->failures);
	if (info->misplaced)
		say(BAD, "table", "%llu wrong entries in the table of counters: please report this bug of the module",
		    (unsigned long long)info->misplaced);
}

/* Without user namespaces there is no such file. */
static bool in_initial_user_namespace(void)
{
	const char *map = line_of("/proc/self/uid_map");
	unsigned int inside, outside, count;

	return !map || (sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 &&
			!inside && !outside && count == UINT32_MAX);
}

/* The module asks for the capability in the initial user namespace. */
static bool has_perfmon(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uint32_t high;

	if (!in_initial_user_namespace() || syscall(SYS_capget, &header, data))
		return false;
	high = data[CAP_TO_INDEX(CAP_PERFMON)].effective;
	return high & CAP_TO_MASK(CAP_PERFMON) ||
	       data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

static void look_at_permission(const struct pmuring_info *info)
{
	bool perfmon = has_perfmon();

	say(perfmon ? GOOD : LOOK, "permission", "%s; parameter paranoid is %d",
	    perfmon ? "CAP_PERFMON: no restrictions" :
		      "no CAP_PERFMON: own processes only; watching the kernel or whole CPUs may need it",
	    info->paranoid);
	say(GOOD, "limits", "%u samples per second and event, %u KiB of ring per CPU and user",
	    info->max_sample_rate, info->mlock_kb);
}

static void look_at_symbols(void)
{
	struct kallsyms kallsyms;

	if (kallsyms_load(&kallsyms, "/proc/kallsyms") || !kallsyms.nr)
		say(LOOK, "symbols", "the kernel hides its symbols: run as root, or sysctl kernel.kptr_restrict=0");
	else
		say(GOOD, "symbols", "%zu kernel functions", kallsyms.nr);
	kallsyms_free(&kallsyms);
}

static uint64_t spin(int fd)
{
	volatile unsigned int i;
	uint64_t value = 0;

	for (i = 0; i < 1000000; i++)
		;
	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static bool try_it(uint32_t type, uint64_t config, const char *name)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = door_open_event(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t value;

	if (fd < 0) {
		say(BAD, "trial", "%s of this process: %s: %s", name, strerror(errno),
		    door_explain_event(errno, &attr, 0, -1));
		return false;
	}
	value = spin(fd);
	close(fd);
	say(value ? GOOD : BAD, "trial", value ? "%s of a short loop: %lu" :
	    "%s of a short loop: %lu; it does not count: see dmesg", name, value);
	return value;
}

/* what went wrong since the module was loaded, and was not told at the time */
static void look_at_past(const struct pmuring_info *info)
{
	if (info->not_inherited)
		say(LOOK, "inherited", "%lu times a fork could not inherit an event because memory was short: profiles of that time lack those tasks; -a needs no inheritance",
		    (unsigned long)info->not_inherited);
	if (info->lost)
		say(LOOK, "lost", "%lu records found no room in a ring: use a larger -m, or sample less often",
		    (unsigned long)info->lost);
}

/* Return: what the last line is to say; NULL if there is nothing that sampling can go by */
static const char *look_at_sampling(const struct pmuring_info *info)
{
	bool pmu = look_at_pmu(info), free = !pmu || look_at_holder(info);

	look_at_permission(info);
	look_at_past(info);
	if (pmu)
		look_at_nmis(info);
	look_at_symbols();
	if (pmu && free)
		return try_it(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles:u") ?
		       "sampling works here" : NULL;
	return try_it(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task-clock:u") && free ?
	       "sampling works here, by the clock" : NULL;
}

static const struct argp doctor_argp = {
	.doc = "Check everything that sampling depends on, and print what to do about it. Exits with 0 if sampling works.",
};

/** cmd_doctor - pmuring doctor */
int cmd_doctor(int argc, char **argv)
{
	const char *verdict = NULL;
	struct pmuring_info info;
	bool works;

	argv[0] = "pmuring doctor";
	if (argp_parse(&doctor_argp, argc, argv, 0, NULL, NULL))
		return EXIT_TOOL;
	look_at_kernel();
	look_at_module();
	works = look_at_node();
	if (works && door_info(&info)) {
		say(BAD, "info", "%s does not answer: %s", PMURING_DEVICE, strerror(errno));
		works = false;
	}
	if (works && look_at_abi(&info))
		verdict = look_at_sampling(&info);
	else
		look_at_symbols();
	puts(verdict ? verdict : "sampling does not work as it should here: see the lines marked BAD");
	return verdict ? 0 : 1;
}
