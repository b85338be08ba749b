// SPDX-License-Identifier: GPL-2.0
/*
 * Owns /sys/bus/event_source/devices/cpu where the kernel has none: clients
 * look there for the encoding of what they call cpu/event=0xc0/ or
 * cpu/instructions/. Its files appear with a registered PMU only, so one is
 * registered that has no events.
 *
 * init and exit: task context, at load and unload, no locks. The show functions: task
 * context, by whoever reads the files. What is read is constant after load.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sysfs.h>
#include <asm/perf_event.h>
#include <uapi/pmuring.h>

#include "pmu/pmu.h"
#include "pmu/sysfs.h"

#define RAW_EVENT	(ARCH_PERFMON_EVENTSEL_EVENT | AMD64_EVENTSEL_EVENT)

/**
 * struct number_attribute - a file that shows an event or a capability
 * @dev: its name and its show function
 * @number: PERF_COUNT_HW_* of an event
 */
struct number_attribute {
	struct device_attribute dev;
	u64 number;
};

/**
 * struct text_attribute - a file that shows a text
 * @dev: its name and its show function
 * @text: what it shows
 */
struct text_attribute {
	struct device_attribute dev;
	const char *text;
};

/* The driver knows how an event is encoded; this file does not. */
static int encoding(u32 type, u64 config, u64 *selector)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
	};
	struct pmr_hw hw = {};
	int err = pmr_pmu->init_event(&hw, &attr);

	*selector = hw.config;
	return err;
}

static ssize_t event_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct number_attribute *event = container_of(attr, struct number_attribute, dev);
	u64 selector, code;
	int err = encoding(PERF_TYPE_HARDWARE, event->number, &selector);

	if (err)
		return err;
	code = selector & ARCH_PERFMON_EVENTSEL_EVENT;
	/* bits 11:8 of an AMD event */
	code |= (selector & RAW_EVENT & ~ARCH_PERFMON_EVENTSEL_EVENT) >> 24;
	return sysfs_emit(page, "event=0x%02llx,umask=0x%02llx\n", code,
			  (selector & ARCH_PERFMON_EVENTSEL_UMASK) >> 8);
}

static ssize_t text_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%s\n", container_of(attr, struct text_attribute, dev)->text);
}

#define ATTRIBUTE(file, function) \
	{ .attr = { .name = (file), .mode = 0444 }, .show = (function) }
#define EVENT(file, id) \
	{ .dev = ATTRIBUTE(file, event_show), .number = PERF_COUNT_HW_##id }
#define TEXT(file, content) \
	{ .dev = ATTRIBUTE(file, text_show), .text = (content) }

static struct number_attribute events[] = {
	EVENT("cpu-cycles", CPU_CYCLES),
	EVENT("instructions", INSTRUCTIONS),
	EVENT("cache-references", CACHE_REFERENCES),
	EVENT("cache-misses", CACHE_MISSES),
	EVENT("branch-instructions", BRANCH_INSTRUCTIONS),
	EVENT("branch-misses", BRANCH_MISSES),
	EVENT("bus-cycles", BUS_CYCLES),
	EVENT("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	EVENT("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	EVENT("ref-cycles", REF_CPU_CYCLES),
};

static struct text_attribute intel_event = TEXT("event", "config:0-7");
static struct text_attribute amd_event = TEXT("event", "config:0-7,32-35");
static struct text_attribute any_thread = TEXT("any", "config:21");
static struct text_attribute fields[] = {
	TEXT("umask", "config:8-15"),
	TEXT("edge", "config:18"),
	TEXT("inv", "config:23"),
	TEXT("cmask", "config:24-31"),
};

/* No event is precise: perf asks before it tries. */
static struct text_attribute max_precise = TEXT("max_precise", "0");
static struct text_attribute pmu_name = TEXT("pmu_name", NULL);

/* Each is filled in at load and ends with NULL. */
static struct attribute *event_files[ARRAY_SIZE(events) + 1];
static struct attribute *format_files[ARRAY_SIZE(fields) + 3];
static struct attribute *caps_files[] = { &max_precise.dev.attr, &pmu_name.dev.attr, NULL };

static const struct attribute_group events_group = { .name = "events", .attrs = event_files };
static const struct attribute_group format_group = { .name = "format", .attrs = format_files };
static const struct attribute_group caps_group = { .name = "caps", .attrs = caps_files };

static const struct attribute_group *groups[] = {
	&events_group, &format_group, &caps_group, NULL
};

static int no_event(struct perf_event *event)
{
	return -ENOENT;
}

/*
 * Without an owner: perf would take a reference to the module for each open of
 * anybody's event, and refuse the open while the module is being unloaded. Unregistering
 * waits for whoever is inside no_event().
 */
static struct pmu shown = {
	.task_ctx_nr = perf_invalid_context,
	.event_init = no_event,
	.attr_groups = groups,
};

/* The number under which perf knows it, or 0 while it is not registered. */
static int registered_type;

static bool has_any_thread(void)
{
	u64 selector;

	return pmr_pmu->vendor == PMURING_VENDOR_INTEL &&
	       encoding(PERF_TYPE_RAW, ARCH_PERFMON_EVENTSEL_ANY, &selector) != -EINVAL;
}

static void choose_files(void)
{
	bool amd = pmr_pmu->vendor == PMURING_VENDOR_AMD;
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (pmr_pmu->hardware_events & BIT_ULL(events[i].number))
			event_files[n++] = &events[i].dev.attr;

	format_files[0] = amd ? &amd_event.dev.attr : &intel_event.dev.attr;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		format_files[i + 1] = &fields[i].dev.attr;
	if (has_any_thread())
		format_files[i + 1] = &any_thread.dev.attr;
	pmu_name.text = pmr_pmu->name;
}

/**
 * pmr_kernel_has_pmu() - does the kernel's perf drive this PMU?
 */
bool pmr_kernel_has_pmu(void)
{
	struct x86_pmu_capability kernel;

	perf_get_x86_pmu_capability(&kernel);
	return kernel.num_counters_gp;
}

/**
 * pmr_sysfs_init() - show the PMU if the kernel shows none
 *
 * A failure costs the files and nothing else. Registering under
 * PERF_TYPE_RAW itself would lead the kernel's own opens of raw events here, even
 * after unloading on kernels that never take such a number back. So perf
 * assigns a number, and only the file "type" shows what clients have to use.
 */
void pmr_sysfs_init(void)
{
	int err;

	if (!pmr_pmu || pmr_kernel_has_pmu())
		return;
	choose_files();
	err = perf_pmu_register(&shown, "cpu", -1);
	if (err) {
		pr_notice("/sys/bus/event_source/devices/cpu cannot be made (error %d): perf will resolve no cpu/.../ events\n",
			  err);
		return;
	}
	registered_type = shown.type;
	shown.type = PERF_TYPE_RAW;
}

/**
 * pmr_sysfs_exit() - undo pmr_sysfs_init()
 */
void pmr_sysfs_exit(void)
{
	if (!registered_type)
		return;
	shown.type = registered_type;
	perf_pmu_unregister(&shown);
}
