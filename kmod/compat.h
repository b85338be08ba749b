/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the supported kernels (6.1 and 6.12), and nothing
 * else. No other file may test LINUX_VERSION_CODE. Callable from any context
 * unless a function says otherwise; takes no lock.
 */
#ifndef PMR_COMPAT_H
#define PMR_COMPAT_H

#include <linux/mm.h>
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

#endif /* PMR_COMPAT_H */
