// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the place where the kernel says that a task has made a mapping: a kprobe
 * on perf_event_mmap(), there being no tracepoint; and what is to be told of the
 * mapping. The probe is there while an event asks for mappings, and a second longer.
 *
 * init, exit, get and put: task context, may sleep. The handler: the task that maps,
 * preemption off, its mmap_lock held. No locks of our own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/align.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hugetlb_inline.h>
#include <linux/kdev_t.h>
#include <linux/kprobes.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "compat.h"
#include "core/context.h"
#include "core/sideband.h"
#include "hooks/hook.h"
#include "hooks/hooks.h"
#include "sample/sideband.h"

/*
 * Where the name of a mapping is put together: no memory can be asked for where
 * the handler runs, and a path is too much for the stack. One per CPU will do,
 * as interrupts make no mappings. Allocated while the probe is in place.
 */
static char __percpu *names;

/* What perf calls a mapping that no file is behind. */
static const char *name_without_file(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (name)
		return name;
	if (pmr_vma_is_heap(vma))
		return "[heap]";
	if (pmr_vma_is_stack(vma))
		return "[stack]";
	return "//anon";
}

/* Names that are no paths are cut to this, as perf does. */
#define SHORT_NAME	16

static char *put_name(char *buffer, const char *name)
{
	strscpy(buffer, name, SHORT_NAME);
	return buffer;
}

/* A path is put together from the end of the buffer; zeros have to fit behind. */
static char *put_path(char *buffer, struct file *file)
{
	char *path = d_path(pmr_user_path(file), buffer, PATH_MAX - sizeof(u64));

	return IS_ERR(path) ? put_name(buffer, "//toolong") : path;
}

static u32 prot_of(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_READ ? PROT_READ : 0) |
	       (vma->vm_flags & VM_WRITE ? PROT_WRITE : 0) |
	       (vma->vm_flags & VM_EXEC ? PROT_EXEC : 0);
}

static u32 flags_of(struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE) |
	       (vma->vm_flags & VM_LOCKED ? MAP_LOCKED : 0) |
	       (is_vm_hugetlb_page(vma) ? MAP_HUGETLB : 0);
}

static void describe_file(struct pmr_mmap *mmap, struct file *file)
{
	const struct inode *inode = pmr_user_inode(file);

	mmap->major = MAJOR(inode->i_sb->s_dev);
	mmap->minor = MINOR(inode->i_sb->s_dev);
	mmap->inode = inode->i_ino;
	mmap->generation = inode->i_generation;
}

static void describe(struct pmr_mmap *mmap, struct vm_area_struct *vma, char *buffer)
{
	char *name = vma->vm_file ? put_path(buffer, vma->vm_file) :
				    put_name(buffer, name_without_file(vma));
	size_t length = strlen(name);

	mmap->start = vma->vm_start;
	mmap->length = vma->vm_end - vma->vm_start;
	mmap->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	mmap->prot = prot_of(vma);
	mmap->flags = flags_of(vma);
	mmap->name_size = ALIGN(length + 1, sizeof(u64));
	memset(name + length, 0, mmap->name_size - length);
	mmap->name = name;
	if (vma->vm_file)
		describe_file(mmap, vma->vm_file);
}

static int on_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);
	struct pmr_mmap mmap = { };

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	pmr_sched_exec_maps();
	if (pmr_sideband_wants_mmap()) {
		describe(&mmap, vma, this_cpu_ptr(names));
		pmr_sideband_mmap(&mmap);
	}
	return 0;
}

static struct kprobe probe;
static bool probed;

/* Records of mappings are missed if the kernel cannot be probed, and nothing else. */
static void register_probe(void)
{
	int err;

	/* What an earlier registration has left in it would be refused. */
	probe = (struct kprobe) {
		.symbol_name = "perf_event_mmap",
		.pre_handler = on_mmap,
	};
	err = register_kprobe(&probe);
	probed = !err;
	if (err)
		pr_warn_once("no records of mappings: cannot probe %s (error %d)\n",
			     probe.symbol_name, err);
}

static int place_probe(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	names = __alloc_percpu(PATH_MAX, sizeof(u64));
	if (!names)
		return -ENOMEM;
	register_probe();
	return 0;
}

static void remove_probe(struct pmr_hook *hook)
{
	lockdep_assert_held(&hook->lock);
	if (probed)
		unregister_kprobe(&probe);	/* waits for the handler */
	free_percpu(names);
}

static struct pmr_hook mmap_hook = {
	.place = place_probe,
	.remove = remove_probe,
};

/**
 * pmr_mmap_hook_init() - make the hook usable, at load
 */
void pmr_mmap_hook_init(void)
{
	pmr_hook_init(&mmap_hook);
}

/**
 * pmr_mmap_hook_get() - see the mappings that tasks make, for one more event
 *
 * A kernel that cannot be probed is no error: there are no records then.
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_mmap_hook_get(void)
{
	return pmr_hook_get(&mmap_hook);
}

/**
 * pmr_mmap_hook_put() - one such event less
 */
void pmr_mmap_hook_put(void)
{
	pmr_hook_put(&mmap_hook);
}

/**
 * pmr_mmap_hook_exit() - remove the probe, at unload
 */
void pmr_mmap_hook_exit(void)
{
	pmr_hook_exit(&mmap_hook);
}
