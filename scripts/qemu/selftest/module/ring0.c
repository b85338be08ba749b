// SPDX-License-Identifier: GPL-2.0
/*
 * ring0: checks of the PMU model that need ring 0: the instruction at which an
 * interrupt arrives, LVTPC, freezing, late interrupts. Prints TAP lines without
 * numbers behind "ring0: " when it loads. The parameters repeat what the model
 * was told. Tests run with interrupts off; only the NMI handler interferes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>
#include <asm/processor.h>

#define FREEZE		BIT_ULL(12)	/* of DEBUGCTL */
#define FROZEN		BIT_ULL(59)	/* of GLOBAL_STATUS */
#define INSNS		0x5200c0ULL	/* retired instructions at CPL 0: EN, INT, OS */
#define INT		BIT_ULL(20)
#define PERIOD(n)	((1ULL << 48) - (n))
#define NOPS		200
#define STOP		(NOPS + 3)	/* two XORs and the WRMSR that stops */
#define PMI_LOST	0x40005016
#define PMI_LATE	0x4000501d
#define CONTROL		0x4000501e
#define STILL		3		/* what to write to CONTROL */
#define IGNORE		1
#define ALIVE		0
#define POWER_LOSS	4
#define STORM(n)	((u64)(n) << 8 | 5)
#define STATUS_STORM(n)	((u64)(n) << 8 | 6)

static unsigned int skid;
module_param(skid, uint, 0);
MODULE_PARM_DESC(skid, "pmu-skid of the model");
static unsigned int late;
module_param(late, uint, 0);
MODULE_PARM_DESC(late, "pmu-late of the model");
static bool relatch;
module_param(relatch, bool, 0);
MODULE_PARM_DESC(relatch, "pmu-relatch of the model");
static bool follow;
module_param(follow, bool, 0);
MODULE_PARM_DESC(follow, "pmu-relatch-counter of the model");
static unsigned int lose;
module_param(lose, uint, 0);
MODULE_PARM_DESC(lose, "pmu-lose of the model");
static bool masks;
module_param(masks, bool, 0);
MODULE_PARM_DESC(masks, "pmu-lose-masks of the model");
static unsigned int eat;
module_param(eat, uint, 0);
MODULE_PARM_DESC(eat, "pmu-eat of the model");
static bool pebs;
module_param(pebs, bool, 0);
MODULE_PARM_DESC(pebs, "pmu-stale-pebs of the model has counter 0");

/* where the registers are; status is 0 where there are no global ones */
static struct {
	u32 select, counter, stride, control, status, clear;
	u64 all;
} pmu;
static bool intel;
static unsigned int version;

/* what the last NMI of a test found */
static struct {
	unsigned int claimed, stray;
	unsigned long ip;
	u64 status, control, counter;
	u32 lvtpc;
} seen;
static bool testing;

static u64 get(u32 msr)
{
	u64 value;

	rdmsrl(msr, value);
	return value;
}

static void set(u32 msr, u64 value)
{
	wrmsrl(msr, value);
}

static u32 lvtpc(void)
{
	return native_apic_mem_read(APIC_LVTPC);
}

static void set_lvtpc(u32 value)
{
	native_apic_mem_write(APIC_LVTPC, value);
}

/* Without a status register: the top bit of a counter that interrupts is gone. */
static u64 status(void)
{
	if (pmu.status)
		return get(pmu.status);
	return !(get(pmu.counter) >> 47);
}

/* The first thing that any handler does is to stop; here also the last. */
static int handler(unsigned int cmd, struct pt_regs *regs)
{
	u64 control, found;

	if (!testing)
		return NMI_DONE;
	control = get(pmu.control);
	set(pmu.control, 0);
	found = status();
	if (!found) {
		seen.stray++;
		seen.ip = regs->ip;
		return NMI_HANDLED;
	}
	seen.claimed++;
	seen.ip = regs->ip;
	seen.status = found;
	seen.control = control;
	seen.counter = get(pmu.counter);
	seen.lvtpc = lvtpc();
	if (pmu.clear)
		set(pmu.clear, found);
	return NMI_HANDLED;
}

/* Start, 200 NOPs, stop; BODY follows. 1: and 2: are behind the two WRMSRs. */
#define RUN(body) do {							\
	asm volatile("lea 1f(%%rip), %0\n\tlea 2f(%%rip), %1\n\twrmsr\n1:\n\t" \
		     ".fill 200, 1, 0x90\n\t"				\
		     "xor %%eax, %%eax\n\txor %%edx, %%edx\n\twrmsr\n2:\n\t" body \
		     : "=&r"(from), "=&r"(to), "+a"(low), "+d"(high)	\
		     : "c"(pmu.control) : "memory");			\
} while (0)

/* run() goes on for 1000 NOPs, so that a late NMI has an address to hit */
static noinline unsigned long run(u64 on, unsigned long *stop)
{
	unsigned long from, to;
	u32 low = on, high = on >> 32;

	RUN(".fill 1000, 1, 0x90");
	if (stop)
		*stop = to;
	return from;
}

static noinline void run_and_stop(u64 on)
{
	unsigned long from, to;
	u32 low = on, high = on >> 32;

	RUN("");
}

static void idle(unsigned int n)
{
	while (n--)
		cpu_relax();
}

#define check(name, condition, format, ...)				\
	pr_info("%s - %s # " format "\n", (condition) ? "ok" : "not ok", \
		name, ##__VA_ARGS__)

static void restart(void)
{
	set(pmu.control, 0);
	set(pmu.select, 0);
	set(pmu.select + pmu.stride, 0);
	if (intel)
		set(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
	if (pmu.clear)
		set(pmu.clear, pmu.all);
	set_lvtpc(APIC_DM_NMI);
	memset(&seen, 0, sizeof(seen));
}

/* What to write to the control so that counter 0 runs. */
static u64 start_bits(u64 select)
{
	if (!pmu.status)
		return select;
	set(pmu.select, select);
	return 1;
}

static u64 prepare(u64 select, u64 n)
{
	restart();
	set(pmu.counter, PERIOD(n));
	return start_bits(select);
}

static void test_address(void)
{
	unsigned long from;
	unsigned int n;

	for (n = 1; n <= 150; n += 37) {
		from = run(prepare(INSNS, n), NULL);
		check("one NMI, right behind the instruction",
		      seen.claimed == 1 && !seen.stray && seen.ip - from == n + skid,
		      "period %u: %u NMIs, at +%ld", n, seen.claimed, (long)(seen.ip - from));
		check("LVTPC masked by Intel alone",
		      !!(seen.lvtpc & APIC_LVT_MASKED) == intel, "%x", seen.lvtpc);
		check("status of counter 0", seen.status == 1, "%llx", seen.status);
	}
}

static void test_masked(void)
{
	u64 on = prepare(INSNS, 10), lost = get(PMI_LOST);

	set_lvtpc(APIC_DM_NMI | APIC_LVT_MASKED);
	run(on, NULL);
	check("masked LVTPC: no NMI", !seen.claimed && !seen.stray, "%u", seen.claimed);
	check("masked LVTPC: counted as lost", get(PMI_LOST) == lost + 1, "%llu",
	      get(PMI_LOST) - lost);
	check("masked LVTPC: status all the same", status() == 1, "%llx", status());
	set_lvtpc(APIC_DM_NMI);
	idle(100);
	check("unmasking raises an NMI with pmu-relatch alone", seen.claimed == (relatch && intel),
	      "%u", seen.claimed);
}

static void test_silent(void)
{
	run(prepare(INSNS & ~INT, 10), NULL);
	check("without INT: no NMI", !seen.claimed && !seen.stray, "%u", seen.claimed);
	check("without INT: status, and the stopping WRMSR counts",
	      status() == 1 && get(pmu.counter) == STOP - 10, "%llx, %llu", status(),
	      get(pmu.counter));
}

static void test_together(void)
{
	unsigned long from;

	prepare(INSNS, 20);
	set(MSR_ARCH_PERFMON_FIXED_CTR0, PERIOD(20));
	set(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0x9);
	from = run(1 | BIT_ULL(32), NULL);
	check("two overflows, one NMI", seen.claimed == 1 && seen.status == (1 | BIT_ULL(32)) &&
	      seen.ip - from == 20 + skid, "%u, %llx", seen.claimed, seen.status);
}

static void test_freeze(void)
{
	u64 on = prepare(INSNS, 20);

	set(MSR_IA32_DEBUGCTLMSR, FREEZE);
	run(on, NULL);
	check("freeze: nothing counted after the overflow",
	      seen.claimed == 1 && !seen.counter, "%u, %llu", seen.claimed, seen.counter);
	if (version < 4)
		check("freeze: global control cleared", seen.status == 1 && !seen.control,
		      "%llx, %llx", seen.status, seen.control);
	else
		check("freeze: status bit 59, control as it was",
		      seen.status == (1 | FROZEN) && seen.control == 1,
		      "%llx, %llx", seen.status, seen.control);
	set(MSR_IA32_DEBUGCTLMSR, 0);
	run(prepare(INSNS & ~INT, 10), NULL);
	check("freeze: counting again once cleared", get(pmu.counter) == STOP - 10, "%llu",
	      get(pmu.counter));
}

static void test_rings(void)
{
	u64 user;

	restart();
	set(pmu.counter + 1, 0);
	set(pmu.select + 1, 0x4100c0);
	run(2, NULL);
	user = get(pmu.counter + 1);
	check("a counter of ring 3 stands still in ring 0", !user, "%llu", user);
}

static void test_fixed_mode(void)
{
	u64 on = prepare(INSNS, 20);
	u32 irr;

	set_lvtpc(APIC_DM_FIXED | IRQ_WORK_VECTOR);
	run(on, NULL);
	irr = native_apic_mem_read(APIC_IRR + (IRQ_WORK_VECTOR / 32) * 16);
	check("fixed delivery: in IRR, no NMI",
	      !seen.claimed && ((irr >> (IRQ_WORK_VECTOR % 32)) & 1), "%x", irr);
	check("fixed delivery masks LVTPC, too", !!(lvtpc() & APIC_LVT_MASKED) == intel,
	      "%x", lvtpc());
}

/* The overflow is in the last instructions before the stop; the NMI comes after. */
static void test_late(void)
{
	unsigned long stop;
	unsigned int before = 10, after = late ?: skid - before;
	u64 lates = get(PMI_LATE);

	if (skid <= before)
		return;
	run(prepare(INSNS, STOP - before), &stop);
	check("an NMI after the stop", seen.claimed == 1 && seen.ip - stop == after,
	      "%u, at +%ld of the stop", seen.claimed, (long)(seen.ip - stop));
	check("the model counts it as late", get(PMI_LATE) - lates == !!late, "%llu",
	      get(PMI_LATE) - lates);
}

/* As above, but the driver has settled the overflow: nothing left to find. */
static void test_stray(void)
{
	if (late < 200)
		return;
	run_and_stop(prepare(INSNS, skid ? STOP - 5 : STOP));
	if (pmu.clear)
		set(pmu.clear, pmu.all);
	set(pmu.counter, PERIOD(100));
	idle(1000);
	check("a late NMI that finds nothing", !seen.claimed && seen.stray == 1, "%u, %u",
	      seen.claimed, seen.stray);
}

/* The stopping WRMSR is the one that overflows: late without any skid. */
static void test_last(void)
{
	unsigned long stop;

	if (skid)
		return;
	run(prepare(INSNS, STOP), &stop);
	check("overflow by the stopping WRMSR", seen.claimed == 1 && seen.ip - stop == late,
	      "%u, at +%ld of the stop", seen.claimed, (long)(seen.ip - stop));
}

static void test_host_only(void)
{
	run(prepare((INSNS & ~INT) | BIT_ULL(41), 1000), NULL);
	check("AMD: HostOnly without SVM counts nothing", get(pmu.counter) == PERIOD(1000),
	      "%llx", get(pmu.counter));
	run(prepare((INSNS & ~INT) | BIT_ULL(40), 1000), NULL);
	check("AMD: GuestOnly counts nothing", get(pmu.counter) == PERIOD(1000),
	      "%llx", get(pmu.counter));
}

/* Unmasks while the counter runs, wrapped and acknowledged, perhaps written. */
static void unmask_while_wrapped(bool written)
{
	u64 on = prepare(INSNS, 10);

	set_lvtpc(APIC_DM_NMI | APIC_LVT_MASKED);
	set(pmu.control, on);
	idle(100);
	set(pmu.clear, pmu.all);
	if (written)
		set(pmu.counter, PERIOD(1000000));
	set_lvtpc(APIC_DM_NMI);
	idle(100);
	set(pmu.control, 0);
}

static void test_follow(void)
{
	unmask_while_wrapped(false);
	check("unmasking looks at the counter with pmu-relatch-counter alone",
	      seen.stray == follow && !seen.claimed, "%u, %u", seen.stray, seen.claimed);
	unmask_while_wrapped(true);
	check("not at one that has been written since", !seen.stray && !seen.claimed, "%u, %u",
	      seen.stray, seen.claimed);
}

/* Every third PMI does not arrive, or arrives without its status. */
static void test_every_third(void)
{
	unsigned int i;

	for (i = 1; i <= 9; i++) {
		bool odd = i % 3 == 0;

		run(prepare(INSNS, 50), NULL);
		if (lose) {
			check("each third PMI is lost", seen.claimed == !odd && !seen.stray,
			      "%u: %u, %u", i, seen.claimed, seen.stray);
			check("its status stays", status() == odd, "%u: %llx", i, status());
			check("and masks LVTPC with pmu-lose-masks alone",
			      !!(lvtpc() & APIC_LVT_MASKED) == (!odd || masks), "%u: %x", i,
			      lvtpc());
		} else {
			check("each third PMI has no status",
			      seen.claimed == !odd && seen.stray == odd, "%u: %u, %u", i,
			      seen.claimed, seen.stray);
		}
	}
}

static void test_pebs(void)
{
	run(prepare(INSNS, 10), NULL);
	check("PEBS_ENABLE swallows the overflow", !seen.claimed && !seen.stray && !status(),
	      "%u, %u, %llx", seen.claimed, seen.stray, status());
	set(MSR_IA32_PEBS_ENABLE, 0);
	run(prepare(INSNS, 10), NULL);
	check("until it is cleared", seen.claimed == 1, "%u", seen.claimed);
}

static void test_storm(void)
{
	u64 on = prepare(INSNS, 1000000);

	set(CONTROL, STORM(3));
	run(on, NULL);
	check("a storm: an NMI without status", seen.stray == 1 && !seen.claimed, "%u, %u",
	      seen.stray, seen.claimed);
	check("none while no counter runs", get(CONTROL) == 2, "%llu left", get(CONTROL));
	on = prepare(INSNS, 1000000);
	set(CONTROL, STATUS_STORM(2));
	run(on, NULL);
	check("a storm with status", seen.claimed == 1 && seen.status == 1, "%u, %llx",
	      seen.claimed, seen.status);
	set(CONTROL, STORM(0));
}

static void test_failures(void)
{
	u64 on = prepare(INSNS, 1000000);

	set(CONTROL, STILL);
	run(on, NULL);
	check("still: nothing counts", get(pmu.counter) == PERIOD(1000000) &&
	      get(pmu.select) == INSNS, "%llx, %llx", get(pmu.counter), get(pmu.select));
	set(CONTROL, IGNORE);
	set(pmu.counter, 5);
	check("ignore: registers read 0", !get(pmu.counter) && !get(pmu.select), "%llx, %llx",
	      get(pmu.counter), get(pmu.select));
	set(CONTROL, ALIVE);
	check("and are as before afterwards", get(pmu.counter) == PERIOD(1000000), "%llx",
	      get(pmu.counter));
	set(CONTROL, POWER_LOSS);
	check("power loss: registers as after reset", !get(pmu.counter) && !get(pmu.select) &&
	      get(pmu.control) == 0xff, "%llx, %llx, %llx", get(pmu.counter),
	      get(pmu.select), get(pmu.control));
}

static void find_intel(void)
{
	intel = true;
	version = cpuid_eax(10) & 0xff;
	pmu.select = MSR_ARCH_PERFMON_EVENTSEL0;
	pmu.counter = MSR_IA32_PMC0;
	pmu.stride = 1;
	pmu.control = MSR_CORE_PERF_GLOBAL_CTRL;
	pmu.status = MSR_CORE_PERF_GLOBAL_STATUS;
	pmu.clear = MSR_CORE_PERF_GLOBAL_OVF_CTRL;
	pmu.all = 0x7000000ffULL | (version >= 4 ? FROZEN : 0);
}

static void find_amd(void)
{
	version = cpuid_eax(0x80000000) >= 0x80000022 && (cpuid_eax(0x80000022) & 1) ? 2 : 1;
	pmu.select = MSR_F15H_PERF_CTL;
	pmu.control = pmu.select;
	pmu.counter = MSR_F15H_PERF_CTR;
	pmu.stride = 2;
	if (version < 2)
		return;
	pmu.control = MSR_AMD64_PERF_CNTR_GLOBAL_CTL;
	pmu.status = MSR_AMD64_PERF_CNTR_GLOBAL_STATUS;
	pmu.clear = MSR_AMD64_PERF_CNTR_GLOBAL_STATUS_CLR;
	pmu.all = 0x3f;
}

static void test_all(void)
{
	if (pebs) {
		test_pebs();
		return;
	}
	if (lose || eat) {
		test_every_third();
		return;
	}
	test_late();
	test_stray();
	test_last();
	if (late)
		return;
	test_address();
	test_masked();
	test_silent();
	if (!intel) {
		test_host_only();
		return;
	}
	test_together();
	test_freeze();
	test_follow();
	test_storm();
	test_failures();
	test_rings();
	test_fixed_mode();
}

static int __init ring0_init(void)
{
	unsigned long flags;
	u32 entry;

	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL)
		find_intel();
	else
		find_amd();
	if (register_nmi_handler(NMI_LOCAL, handler, NMI_FLAG_FIRST, "ring0"))
		return -EBUSY;
	local_irq_save(flags);
	entry = lvtpc();
	testing = true;
	test_all();
	restart();
	testing = false;
	set_lvtpc(entry);
	local_irq_restore(flags);
	unregister_nmi_handler(NMI_LOCAL, "ring0");
	pr_info("ok - came to the end # version %u\n", version);
	return 0;	/* insmod would try again after an error */
}

static void __exit ring0_exit(void)
{
}

module_init(ring0_init);
module_exit(ring0_exit);
MODULE_DESCRIPTION("Checks of the QEMU PMU model that need ring 0");
MODULE_LICENSE("GPL");
