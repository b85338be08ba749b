/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the supported kernels (6.1 and 6.12), and nothing
 * else. No other file may test LINUX_VERSION_CODE. Callable from any context
 * unless a function says otherwise; takes no lock.
 */
#ifndef PMR_COMPAT_H
#define PMR_COMPAT_H

#include <linux/fs.h>
#include <linux/kernfs.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/version.h>
#include <asm/apic.h>

/* KUnit can replace a function of the code under test since 6.3. */
#if IS_ENABLED(CONFIG_KUNIT) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define PMR_KUNIT_STUBS 1
#endif

/**
 * pmr_vma_flags() - set and clear flags of a VMA
 * @vma: VMA, mmap lock held for writing
 * @set: flags to set
 * @clear: flags to clear
 *
 * vma->vm_flags may no longer be assigned since 6.3.
 */
static inline void pmr_vma_flags(struct vm_area_struct *vma, unsigned long set,
				 unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * apic_write() became a static call that modules cannot reach in 6.7; the
 * operation behind it is exported through the apic pointer on both kernels.
 */
static inline void pmr_apic_write(u32 reg, u32 value)
{
	apic->write(reg, value);
}

static inline u32 pmr_apic_read(u32 reg)
{
	return apic->read(reg);
}

/* hrtimer_setup() replaces the two steps after 6.12. */
static inline void pmr_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*fn)(struct hrtimer *))
{
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = fn;
}

/**
 * pmr_is_user_task() - does a task have a user space to return to?
 * @task: task
 *
 * Workers that the kernel runs for a process got a flag of their own in 6.4;
 * those of io_uring have had theirs before.
 */
static inline bool pmr_is_user_task(const struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return task->mm && !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
#else
	return task->mm && !(task->flags & (PF_KTHREAD | PF_IO_WORKER));
#endif
}

/**
 * pmr_task_is_runnable() - is a task that is switched out only interrupted?
 * @task: previous task of a sched_switch
 *
 * Since 6.12 a task that sleeps may stay on the queue for a while.
 */
static inline bool pmr_task_is_runnable(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return task_is_runnable(task);
#else
	return task->on_rq;
#endif
}

/*
 * The file that user space has mapped, where a file system that is stacked on
 * another maps a file of that one (6.8).
 */
static inline const struct path *pmr_user_path(struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return file_user_path(file);
#else
	return &file->f_path;
#endif
}

static inline const struct inode *pmr_user_inode(struct file *file)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return file_user_inode(file);
#else
	return file_inode(file);
#endif
}

/* Under RCU and called differently since 6.15. A device outlives its attributes. */
static inline struct kernfs_node *pmr_kernfs_parent(const struct kernfs_node *node)
{
	return node->parent;
}

/* What perf calls "[heap]"; its rule became that of /proc/PID/maps in 6.6. */
static inline bool pmr_vma_is_heap(const struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return vma_is_initial_heap(vma);
#else
	return vma->vm_start <= vma->vm_mm->start_brk && vma->vm_end >= vma->vm_mm->brk;
#endif
}

/* What perf calls "[stack]": the main thread's. */
static inline bool pmr_vma_is_stack(const struct vm_area_struct *vma)
{
	return vma->vm_start <= vma->vm_mm->start_stack && vma->vm_end >= vma->vm_mm->start_stack;
}

/* A later attr has config3 (6.3); the bits of an earlier one end before it. */
static inline u64 pmr_attr_config3(const struct perf_event_attr *attr)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return attr->config3;
#else
	return 0;
#endif
}

#endif /* PMR_COMPAT_H */
