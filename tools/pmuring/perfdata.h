/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The perf.data file: what perf's own tools read and write, beyond the records
 * of <linux/perf_event.h>. A header; the ids and attributes of the events; the
 * data, a sequence of records; a table of the feature sections; their content.
 */
#ifndef PMURING_TOOL_PERFDATA_H
#define PMURING_TOOL_PERFDATA_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERFDATA_MAGIC	"PERFILE2"

/** struct file_section - a place in the file */
struct file_section {
	uint64_t offset;
	uint64_t size;
};

/**
 * struct file_header - the first bytes of the file
 * @magic: PERFDATA_MAGIC
 * @size: of this header
 * @attr_size: of one struct file_attr
 * @attrs: array of struct file_attr
 * @data: the records
 * @event_types: empty
 * @features: bit i is set if feature i has a section
 */
struct file_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size;
	struct file_section attrs;
	struct file_section data;
	struct file_section event_types;
	uint64_t features[4];
};

/**
 * struct file_attr - one event
 * @attr: what was opened
 * @ids: array of u64: the IDs of the fds that were opened with it
 */
struct file_attr {
	struct perf_event_attr attr;
	struct file_section ids;
};

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_GROUP_DESC = 17,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_MAX = 256,
};

/* Records that perf's tools add to those of the kernel begin here. */
#define RECORD_USER_FIRST	64
/* everything before it is older than everything behind the next one */
#define RECORD_FINISHED_ROUND	68

/** struct record_fork - PERF_RECORD_FORK up to the sample_id */
struct record_fork {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t ppid;
	uint32_t tid;
	uint32_t ptid;
};

/** struct record_comm - PERF_RECORD_COMM up to the name */
struct record_comm {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
};

/** struct record_mmap - PERF_RECORD_MMAP up to the file name */
struct record_mmap {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t addr;
	uint64_t len;
	uint64_t pgoff;
};

/** struct record_mmap2 - PERF_RECORD_MMAP2 up to the file name */
struct record_mmap2 {
	struct record_mmap map;
	uint32_t maj;
	uint32_t min;
	uint64_t ino;
	uint64_t ino_generation;
	uint32_t prot;
	uint32_t flags;
};

/** struct record_lost - PERF_RECORD_LOST up to the sample_id */
struct record_lost {
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
};

/** struct record_lost_samples - PERF_RECORD_LOST_SAMPLES up to the sample_id */
struct record_lost_samples {
	struct perf_event_header header;
	uint64_t lost;
};

/** struct record_build_id - one entry of FEATURE_BUILD_ID up to the file name */
struct record_build_id {
	struct perf_event_header header;
	int32_t pid;
	uint8_t build_id[20];
	uint8_t size;
	uint8_t reserved[3];
};

#endif
