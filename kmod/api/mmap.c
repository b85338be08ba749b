// SPDX-License-Identifier: GPL-2.0
/*
 * Owns the mapping of a ring into user space, and which rings may be shared.
 *
 * mmap and the VMA operations: task context under mmap_lock; they take the
 * event's mmap_mutex inside it, which protects the number of the event's mappings, and
 * what it was charged to. While there is a mapping the event's ring stays.
 *
 * All pages are inserted when the mapping is made, because a lazily faulted
 * user page would make the first reads slow. Only the user page is inserted
 * writable: user space cannot touch records.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>

#include "api/api.h"
#include "compat.h"
#include "core/context.h"
#include "core/output.h"
#include "pmu/x86/rdpmc.h"

/* perf's limit: more page pointers than that fit no contiguous allocation. */
#define MAX_DATA_PAGES	BIT(19)

static struct pmr_ring *ring_of(struct pmr_event *event)
{
	return rcu_dereference_protected(event->ring, lockdep_is_held(&event->mmap_mutex));
}

/*
 * The process that is counted may read its counter, if that is the whole count.
 *
 * Return: its address space with a reference, so that no other gets its address while
 * the event names it; or NULL.
 */
static struct mm_struct *get_reader(const struct pmr_event *event)
{
	if (event->hw.pmu->software || event->attr.inherit || !event->task ||
	    event->task->mm != current->mm || !pmr_rdpmc_permitted())
		return NULL;
	mmgrab(current->mm);
	return current->mm;
}

static void put_reader(struct pmr_event *event)
{
	if (event->rdpmc_mm)
		mmdrop(event->rdpmc_mm);
	event->rdpmc_mm = NULL;
}

/*
 * All processes that map an event see the same page. From the moment that one of them
 * may not read the counter, the page names none, until it is mapped anew.
 */
static bool publishes_counter(const struct pmr_event *event, struct mm_struct *mm)
{
	return event->rdpmc_mm == mm && (event->mappings == 1 || event->hw.user_page);
}

static void grant_rdpmc(struct pmr_event *event, struct mm_struct *mm)
{
	lockdep_assert_held(&event->mmap_mutex);
	if (event->rdpmc_mm != mm)
		return;
	pmr_switch_watch(1);	/* before the grant: see scrub of struct pmr_pmu */
	pmr_rdpmc_grant(mm);
}

static void revoke_rdpmc(struct pmr_event *event, struct mm_struct *mm)
{
	lockdep_assert_held(&event->mmap_mutex);
	if (event->rdpmc_mm != mm)
		return;
	pmr_rdpmc_revoke(mm);
	pmr_switch_watch(-1);
}

/*
 * The last mapping is gone: samples have nowhere to go any more, those of events
 * that shared the ring as well.
 */
static void detach_ring(struct pmr_event *event)
{
	struct pmr_ring *ring = ring_of(event);

	pmr_event_unmap_user_page(event);
	put_reader(event);
	pmr_ring_get(ring);
	pmr_output_detach_all(ring);
	pmr_mlock_uncharge(event->charge);
	event->charge = NULL;
	pmr_ring_put(ring);	/* frees after a grace period: an NMI may be writing */
}

/* One that is moved, or that a child inherits after MADV_DOFORK. */
static void vma_open(struct vm_area_struct *vma)
{
	struct pmr_event *event = vma->vm_file->private_data;

	mutex_lock(&event->mmap_mutex);
	event->mappings++;
	grant_rdpmc(event, vma->vm_mm);
	if (event->hw.user_page && !publishes_counter(event, vma->vm_mm))
		pmr_event_map_user_page(event, ring_of(event)->user_page, false);
	mutex_unlock(&event->mmap_mutex);
}

static void vma_close(struct vm_area_struct *vma)
{
	struct pmr_event *event = vma->vm_file->private_data;

	mutex_lock(&event->mmap_mutex);
	revoke_rdpmc(event, vma->vm_mm);
	if (!--event->mappings)
		detach_ring(event);
	mutex_unlock(&event->mmap_mutex);
}

/* One mapping has one count: pieces of it cannot be unmapped or protected. */
static int vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/* MADV_DONTNEED drops the page table entries; the pages are still there. */
static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct pmr_event *event = vmf->vma->vm_file->private_data;
	struct pmr_ring *ring;
	struct page *page;

	/* A mapping exists, so its ring stays; RCU only satisfies the checker. */
	rcu_read_lock();
	ring = rcu_dereference(event->ring);
	page = ring ? pmr_ring_page(ring, vmf->pgoff) : NULL;
	if (page)
		get_page(page);
	rcu_read_unlock();
	if (!page)
		return VM_FAULT_SIGBUS;
	vmf->page = page;
	return 0;
}

/* A store: right in the user page, in a data page it is an error. */
static vm_fault_t vma_page_mkwrite(struct vm_fault *vmf)
{
	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	lock_page(vmf->page);
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct vm_ops = {
	.open = vma_open,
	.close = vma_close,
	.may_split = vma_may_split,
	.fault = vma_fault,
	.page_mkwrite = vma_page_mkwrite,
};

/*
 * Read-only. What may be written may be read on x86, also if PROT_READ was not asked
 * for: without VM_READ the pages would fault for ever.
 */
static pgprot_t data_prot(const struct vm_area_struct *vma)
{
	vm_flags_t flags = vma->vm_flags;

	if (flags & VM_WRITE)
		flags |= VM_READ;
	return vm_get_page_prot(flags & ~VM_WRITE);
}

static int insert_pages(struct vm_area_struct *vma, struct pmr_ring *ring)
{
	pgprot_t writable = vma->vm_page_prot;
	unsigned long i;
	int err;

	err = vm_insert_page(vma, vma->vm_start, pmr_ring_page(ring, 0));
	vma->vm_page_prot = data_prot(vma);
	for (i = 1; !err && i < pmr_ring_pages(ring); i++)
		err = vm_insert_page(vma, vma->vm_start + (i << PAGE_SHIFT),
				     pmr_ring_page(ring, i));
	vma->vm_page_prot = writable;
	return err;
}

static int check_vma(struct vm_area_struct *vma, const struct pmr_event *event)
{
	unsigned long data_pages = vma_pages(vma) - 1;

	if (event->cpu == -1 && event->attr.inherit)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_pgoff)	/* would be an AUX area */
		return -EINVAL;
	if (data_pages && !is_power_of_2(data_pages))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (data_pages > MAX_DATA_PAGES || data_pages > totalram_pages() / 2)
		return -ENOMEM;
	return 0;
}

static int attach_new_ring(struct pmr_event *event, struct vm_area_struct *vma)
{
	u64 watermark = event->attr.watermark ? event->attr.wakeup_watermark : 0;
	struct pmr_mlock *charge = pmr_mlock_charge(vma_pages(vma));
	struct pmr_ring *ring;

	if (IS_ERR(charge))
		return PTR_ERR(charge);
	ring = pmr_ring_alloc(vma_pages(vma) - 1, watermark, !(vma->vm_flags & VM_WRITE),
			      event->attr.write_backward);
	if (!ring) {
		pmr_mlock_uncharge(charge);
		return -ENOMEM;
	}
	pmr_event_init_user_page(ring->user_page);
	event->charge = charge;
	event->rdpmc_mm = get_reader(event);
	pmr_output_attach(event, ring);
	return 0;
}

/* Another size, or the ring of another event, cannot be mapped here. */
static int check_ring(struct pmr_event *event, struct vm_area_struct *vma)
{
	struct pmr_ring *ring = ring_of(event);

	if (!event->mappings)
		return ring ? -EINVAL : 0;
	return pmr_ring_pages(ring) == vma_pages(vma) ? 0 : -EINVAL;
}

static int map(struct pmr_event *event, struct vm_area_struct *vma)
{
	int err = check_ring(event, vma);

	lockdep_assert_held(&event->mmap_mutex);
	if (!err && !event->mappings)
		err = attach_new_ring(event, vma);
	if (err)
		return err;

	pmr_vma_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	err = insert_pages(vma, ring_of(event));
	if (err) {
		/* The caller drops what was inserted, and calls no close. */
		if (!event->mappings)
			detach_ring(event);
		return err;
	}
	event->mappings++;
	grant_rdpmc(event, vma->vm_mm);
	pmr_event_map_user_page(event, ring_of(event)->user_page,
				publishes_counter(event, vma->vm_mm));
	vma->vm_ops = &vm_ops;
	return 0;
}

/**
 * pmr_event_mmap() - mmap() of an event: its ring
 * @file: event file
 * @vma: the mapping, 1 or 1 + 2^n pages
 *
 * Return: 0; -EINVAL for a size, offset or kind that no ring has, or another
 * size than an earlier mapping's; -EACCES for PROT_EXEC; -EPERM beyond the
 * limit of locked memory; -ENOMEM.
 */
int pmr_event_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pmr_event *event = file->private_data;
	int err = check_vma(vma, event);

	if (err)
		return err;
	mutex_lock(&event->mmap_mutex);
	err = map(event, vma);
	mutex_unlock(&event->mmap_mutex);
	return err;
}

/*
 * One CPU at a time may write a ring, and all in it must be of one clock and
 * kind. Copies of an event of all CPUs would write from many at once: perf lets
 * them.
 */
static bool may_share_ring(const struct pmr_event *event, const struct pmr_event *target)
{
	return event != target && event->cpu == target->cpu &&
	       (event->cpu != -1 || (event->task == target->task && !event->attr.inherit)) &&
	       event->plan.clock == target->plan.clock &&
	       event->attr.write_backward == target->attr.write_backward;
}

/**
 * pmr_set_output() - PERF_EVENT_IOC_SET_OUTPUT
 * @event: event
 * @target: event whose ring it is to write into, held by the caller; NULL for
 *	none
 *
 * Return: 0, or -EINVAL if the two cannot share a ring, @event is mapped, or
 * @target has no ring.
 */
int pmr_set_output(struct pmr_event *event, struct pmr_event *target)
{
	int err = -EINVAL;

	if (target && !may_share_ring(event, target))
		return -EINVAL;
	mutex_lock(&event->mmap_mutex);
	if (!event->mappings) {
		err = 0;
		if (target)
			err = pmr_output_share(event, target);
		else
			pmr_output_detach(event);
	}
	mutex_unlock(&event->mmap_mutex);
	return err;
}
