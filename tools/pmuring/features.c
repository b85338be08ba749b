// SPDX-License-Identifier: GPL-2.0
/*
 * The feature sections of a perf.data file: what machine, what kernel, what
 * command line, what events. Called by perfdata_write.c when a recording ends.
 */
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "perfdata.h"
#include "perfdata_write.h"

/* strings are padded as perf does; no reader depends on the amount */
#define STRING_ALIGN	64

static void add_u32(struct buf *out, uint32_t value)
{
	buf_add(out, &value, sizeof(value));
}

static void add_u64(struct buf *out, uint64_t value)
{
	buf_add(out, &value, sizeof(value));
}

static void add_string(struct buf *out, const char *s)
{
	size_t len = strlen(s) + 1;
	size_t room = (len + STRING_ALIGN - 1) / STRING_ALIGN * STRING_ALIGN;

	add_u32(out, room);
	memcpy(buf_extend(out, room), s, len);
}

static void add_hostname(const struct perfdata_facts *facts, struct buf *out)
{
	struct utsname uts;

	(void)facts;
	uname(&uts);
	add_string(out, uts.nodename);
}

static void add_osrelease(const struct perfdata_facts *facts, struct buf *out)
{
	struct utsname uts;

	(void)facts;
	uname(&uts);
	add_string(out, uts.release);
}

static void add_version(const struct perfdata_facts *facts, struct buf *out)
{
	(void)facts;
	add_string(out, "pmuring 1");
}

static void add_arch(const struct perfdata_facts *facts, struct buf *out)
{
	struct utsname uts;

	(void)facts;
	uname(&uts);
	add_string(out, uts.machine);
}

static void add_nrcpus(const struct perfdata_facts *facts, struct buf *out)
{
	(void)facts;
	add_u32(out, sysconf(_SC_NPROCESSORS_CONF));
	add_u32(out, sysconf(_SC_NPROCESSORS_ONLN));
}

static void add_cpudesc(const struct perfdata_facts *facts, struct buf *out)
{
	unsigned int regs[13] = { 0 };
	char *name = (char *)regs;

	(void)facts;
	for (unsigned int i = 0; i < 3; i++)
		__get_cpuid(0x80000002 + i, &regs[4 * i], &regs[4 * i + 1],
			    &regs[4 * i + 2], &regs[4 * i + 3]);
	add_string(out, name + strspn(name, " "));
}

static void add_cpuid(const struct perfdata_facts *facts, struct buf *out)
{
	unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0, vendor[4] = { 0 };
	unsigned int family, model;
	char *text;

	(void)facts;
	__get_cpuid(0, &eax, &vendor[0], &vendor[2], &vendor[1]);
	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	family = (eax >> 8 & 0xf) + ((eax >> 8 & 0xf) == 0xf ? eax >> 20 & 0xff : 0);
	model = (eax >> 4 & 0xf) | (family >= 6 ? eax >> 12 & 0xf0 : 0);
	text = xasprintf("%s,%u,%u,%u", (char *)vendor, family, model, eax & 0xf);
	add_string(out, text);
	free(text);
}

static void add_total_mem(const struct perfdata_facts *facts, struct buf *out)
{
	(void)facts;
	add_u64(out, (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 1024);
}

static void add_cmdline(const struct perfdata_facts *facts, struct buf *out)
{
	uint32_t nr = 0;

	while (facts->argv[nr])
		nr++;
	add_u32(out, nr);
	for (uint32_t i = 0; i < nr; i++)
		add_string(out, facts->argv[i]);
}

static void add_event_desc(const struct perfdata_facts *facts, struct buf *out)
{
	const struct evlist *evlist = facts->evlist;

	add_u32(out, evlist->events->nr);
	add_u32(out, sizeof(struct perf_event_attr));
	for (size_t e = 0; e < evlist->events->nr; e++) {
		size_t nr_at;
		uint32_t nr = 0;

		buf_add(out, &evlist->events->events[e].attr, sizeof(struct perf_event_attr));
		nr_at = out->len;
		add_u32(out, 0);
		add_string(out, evlist->events->events[e].name);
		for (size_t c = 0; c < evlist->nr; c++) {
			if (evlist->counters[c].event != e)
				continue;
			add_u64(out, evlist->counters[c].id);
			nr++;
		}
		memcpy(out->data + nr_at, &nr, sizeof(nr));
	}
}

static void add_group_desc(const struct perfdata_facts *facts, struct buf *out)
{
	const struct event_list *events = facts->evlist->events;
	uint32_t nr = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += events_group_size(events, i) > 1;
	add_u32(out, nr);
	for (size_t i = 0; i < events->nr; i++) {
		if (events_group_size(events, i) < 2)
			continue;
		/* perf's name of a group without one */
		add_string(out, "{anon_group}");
		add_u32(out, i);
		add_u32(out, events_group_size(events, i));
	}
}

static void add_sample_time(const struct perfdata_facts *facts, struct buf *out)
{
	add_u64(out, facts->first_time);
	add_u64(out, facts->last_time);
}

static void add_build_ids(const struct perfdata_facts *facts, struct buf *out)
{
	buf_add(out, facts->build_ids.data, facts->build_ids.len);
}

/* in the order of their bits, which is that of the table in the file */
static const struct {
	enum feature bit;
	void (*add)(const struct perfdata_facts *facts, struct buf *out);
} features[] = {
	{ FEATURE_BUILD_ID, add_build_ids },
	{ FEATURE_HOSTNAME, add_hostname },
	{ FEATURE_OSRELEASE, add_osrelease },
	{ FEATURE_VERSION, add_version },
	{ FEATURE_ARCH, add_arch },
	{ FEATURE_NRCPUS, add_nrcpus },
	{ FEATURE_CPUDESC, add_cpudesc },
	{ FEATURE_CPUID, add_cpuid },
	{ FEATURE_TOTAL_MEM, add_total_mem },
	{ FEATURE_CMDLINE, add_cmdline },
	{ FEATURE_EVENT_DESC, add_event_desc },
	{ FEATURE_GROUP_DESC, add_group_desc },
	{ FEATURE_SAMPLE_TIME, add_sample_time },
};

/**
 * features_build - table and content of the feature sections
 * @facts: what they tell
 * @offset: where in the file the table will be
 * @bits: the header's bitmap, set here
 * @out: the bytes
 */
void features_build(const struct perfdata_facts *facts, uint64_t offset,
		    uint64_t bits[4], struct buf *out)
{
	buf_extend(out, ARRAY_SIZE(features) * sizeof(struct file_section));
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		struct file_section section = { .offset = offset + out->len };

		features[i].add(facts, out);
		section.size = offset + out->len - section.offset;
		memcpy(out->data + i * sizeof(section), &section, sizeof(section));
		bits[features[i].bit / 64] |= 1ULL << features[i].bit % 64;
	}
}
