/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sideband records: what tasks did while they were sampled, so that who reads
 * the samples can tell programs and addresses apart.
 */
#ifndef PMR_SAMPLE_SIDEBAND_H
#define PMR_SAMPLE_SIDEBAND_H

#include "sample/sample.h"

/**
 * struct pmr_mmap - a mapping that a task has made
 * @start: first address
 * @length: bytes
 * @offset: of @start in the file, bytes
 * @major: of the file's device
 * @minor: likewise
 * @inode: number of its inode
 * @generation: generation of that
 * @prot: PROT_READ, PROT_WRITE, PROT_EXEC
 * @flags: MAP_SHARED or MAP_PRIVATE, MAP_LOCKED, MAP_HUGETLB
 * @name: path of the file, or what it is; zeros follow up to @name_size
 * @name_size: bytes, a multiple of 8
 */
struct pmr_mmap {
	u64 start;
	u64 length;
	u64 offset;
	u32 major;
	u32 minor;
	u64 inode;
	u64 generation;
	u32 prot;
	u32 flags;
	const char *name;
	u32 name_size;
};

void pmr_mmap_output(struct pmr_event *event, const struct pmr_mmap *mmap);
void pmr_comm_output(struct pmr_event *event, struct task_struct *task, const char *comm,
		     bool exec);
void pmr_fork_output(struct pmr_event *event, struct task_struct *child);
void pmr_exit_output(struct pmr_event *event, struct task_struct *task);
void pmr_switch_output(struct pmr_event *event, struct task_struct *task,
		       struct task_struct *other, u16 misc);
void pmr_read_note_pids(struct pmr_event *copy);
void pmr_read_output(struct pmr_event *copy);

#endif /* PMR_SAMPLE_SIDEBAND_H */
