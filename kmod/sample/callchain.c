// SPDX-License-Identifier: GPL-2.0
/*
 * Owns call chains: the way from the interrupted instruction to who called.
 *
 * pmr_callchain_begin() and _end(): on the event's CPU, NMI or interrupts off;
 * no locks, no allocation, bounded by the depth. pmr_callchain_reserve(): task
 * context, may sleep, takes buffers_mutex.
 *
 * A chain is gathered in a buffer of the CPU and then copied into the ring. Room
 * in the ring for the deepest chain, to be given back, could not be given
 * back once an NMI has reserved room behind it; and walking twice, to know
 * the size first, costs more than the copy, and user space could change its
 * stack in between.
 */
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/unwind.h>

#include "compat.h"
#include "core/context.h"
#include "sample/sample.h"

/* One for NMIs, one for those who have interrupts off. */
#define LEVELS	2

/* PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER */
#define MARKERS	2

/* A record's size is a u16. */
#define DEPTH_MAX (U16_MAX / sizeof(u64))

/**
 * struct buffers - room for one chain per level and CPU
 * @depth: addresses that each has room for, beside the markers
 * @chains: a CPU's: LEVELS of them, one behind the other
 */
struct buffers {
	u32 depth;
	void *chains[];
};

/* Protects the replacement of buffers, which never get smaller. */
static DEFINE_MUTEX(buffers_mutex);
static struct buffers __rcu *buffers;

/* Whether a level's chain is in use on this CPU. */
static DEFINE_PER_CPU(bool [LEVELS], in_use);

static const struct pmr_callchain empty;

static size_t chain_size(u32 depth)
{
	return struct_size_t(struct pmr_callchain, ip, depth + MARKERS);
}

static void free_buffers(struct buffers *old)
{
	int cpu;

	if (!old)
		return;
	for_each_possible_cpu(cpu)
		kvfree(old->chains[cpu]);
	kfree(old);
}

static struct buffers *alloc_buffers(u32 depth)
{
	struct buffers *new;
	int cpu;

	new = kzalloc(struct_size(new, chains, nr_cpu_ids), GFP_KERNEL);
	if (!new)
		return NULL;
	new->depth = depth;
	for_each_possible_cpu(cpu) {
		new->chains[cpu] = kvmalloc_node(LEVELS * chain_size(depth), GFP_KERNEL,
						 cpu_to_node(cpu));
		if (!new->chains[cpu]) {
			free_buffers(new);
			return NULL;
		}
	}
	return new;
}

/**
 * pmr_callchain_reserve() - see to it that there is room for chains
 * @depth: attr.sample_max_stack
 *
 * The room stays until pmr_callchain_exit(): with the default depth it is two
 * KiB per CPU.
 *
 * Return: 0 or -ENOMEM.
 */
int pmr_callchain_reserve(u32 depth)
{
	struct buffers *old, *new;
	int err = 0;

	might_sleep();
	depth = min_t(u32, depth, DEPTH_MAX);
	mutex_lock(&buffers_mutex);
	old = rcu_dereference_protected(buffers, lockdep_is_held(&buffers_mutex));
	if (old && old->depth >= depth)
		goto unlock;
	new = alloc_buffers(depth);
	if (!new) {
		err = -ENOMEM;
		goto unlock;
	}
	rcu_assign_pointer(buffers, new);
	synchronize_rcu();	/* an NMI may still be writing into the old ones */
	free_buffers(old);
unlock:
	mutex_unlock(&buffers_mutex);
	return err;
}

/**
 * pmr_callchain_exit() - give the room back, when no event is left
 */
void pmr_callchain_exit(void)
{
	free_buffers(rcu_dereference_protected(buffers, true));
	RCU_INIT_POINTER(buffers, NULL);
}

/**
 * struct walk - a chain that is being gathered
 * @chain: where it goes
 * @left: addresses that it may still take
 */
struct walk {
	struct pmr_callchain *chain;
	u32 left;
};

/* Not counted as part of the depth. */
static void mark(struct walk *walk, u64 context)
{
	walk->chain->ip[walk->chain->nr++] = context;
}

static bool store(struct walk *walk, u64 ip)
{
	if (!walk->left)
		return false;
	walk->left--;
	walk->chain->ip[walk->chain->nr++] = ip;
	return true;
}

/* Registers that only tell a caller's ip and sp have no flags, see asm/perf_event.h. */
static bool are_of_an_interrupt(const struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_FIXED;
}

static void walk_kernel(struct walk *walk, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long ip;

	mark(walk, PERF_CONTEXT_KERNEL);
	if (are_of_an_interrupt(regs)) {
		if (!store(walk, regs->ip))
			return;
		unwind_start(&state, current, regs, NULL);
	} else {
		unwind_start(&state, current, NULL, (void *)regs->sp);
	}
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		ip = unwind_get_return_address(&state);
		if (!ip || !store(walk, ip))
			return;
	}
}

/**
 * struct frame - what a frame pointer points to
 * @next: the caller's frame pointer
 * @ip: where the call returns to
 */
struct frame {
	u64 next;
	u64 ip;
};

static bool read_frame_64(u64 pointer, struct frame *frame)
{
	const void __user *from = (const void __user *)pointer;

	return !copy_from_user_nmi(frame, from, sizeof(*frame));
}

static bool read_frame_32(u64 pointer, struct frame *frame)
{
	const void __user *from = (const void __user *)pointer;
	u32 words[2];

	if (copy_from_user_nmi(words, from, sizeof(words)))
		return false;
	frame->next = words[0];
	frame->ip = words[1];
	return true;
}

/*
 * Frame pointers are the user's and may be anything: what they point to is read
 * as user space and without faulting pages in, and a circle ends with the depth.
 */
static void walk_user(struct walk *walk, struct pt_regs *regs)
{
	bool (*read_frame)(u64 pointer, struct frame *frame);
	struct frame frame = { .next = regs->bp };

	mark(walk, PERF_CONTEXT_USER);
	store(walk, regs->ip);
	read_frame = user_64bit_mode(regs) ? read_frame_64 : read_frame_32;
	while (walk->left && read_frame(frame.next, &frame))
		store(walk, frame.ip);
}

/*
 * A task's events begin to count while current is still the previous task, whose
 * stack is not theirs to see.
 */
static bool shows_user(const struct pmr_event *event)
{
	return !event->attr.exclude_callchain_user && pmr_is_user_task(current) &&
	       (!event->context->task || event->context->task == current);
}

static bool shows_kernel(const struct pmr_event *event)
{
	return !event->attr.exclude_callchain_kernel && !event->top->plan.hide_kernel;
}

static void walk_both(struct walk *walk, const struct pmr_event *event, struct pt_regs *regs)
{
	if (!user_mode(regs)) {
		if (shows_kernel(event))
			walk_kernel(walk, regs);
		regs = task_pt_regs(current);
	}
	if (shows_user(event))
		walk_user(walk, regs);
}

/**
 * pmr_callchain_begin() - gather the chain of a sample
 * @event: event that is sampled
 * @regs: where it interrupted
 * @used: bytes that the sample has beside the chain
 *
 * Return: the chain, empty if there is nothing that may be shown. It stays
 * valid until pmr_callchain_end().
 */
const struct pmr_callchain *pmr_callchain_begin(const struct pmr_event *event,
						struct pt_regs *regs, u32 used)
{
	const struct buffers *room = rcu_dereference_sched(buffers);
	unsigned int level = !in_nmi();
	struct walk walk;

	lockdep_assert_irqs_disabled();
	/* A sample within a sample: an exception while the user's stack is read. */
	if (unlikely(!room || this_cpu_read(in_use[level])))
		return &empty;
	this_cpu_write(in_use[level], true);
	barrier();	/* the chain belongs to us from here on */
	walk.chain = room->chains[smp_processor_id()] + level * chain_size(room->depth);
	walk.chain->nr = 0;
	walk.left = min3((u32)event->attr.sample_max_stack, room->depth,
			 (u32)((U16_MAX - used) / sizeof(u64) - MARKERS - 1));
	walk_both(&walk, event, regs);
	return walk.chain;
}

/**
 * pmr_callchain_end() - the chain has been copied
 * @callchain: from pmr_callchain_begin()
 */
void pmr_callchain_end(const struct pmr_callchain *callchain)
{
	if (unlikely(callchain == &empty))
		return;
	barrier();	/* the copy is complete before the chain is given away */
	this_cpu_write(in_use[!in_nmi()], false);
}
