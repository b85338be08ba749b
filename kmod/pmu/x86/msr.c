// SPDX-License-Identifier: GPL-2.0
/*
 * The replaceable form of the MSR accesses, see msr.h: built only where KUnit
 * can put a fake in their place. Any context, no locks.
 */
#include "pmu/x86/msr.h"

#ifdef PMR_KUNIT_STUBS
#include <kunit/static_stub.h>

u64 pmr_rdmsr(u32 msr)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_rdmsr, msr);
	return pmr_insn_rdmsr(msr);
}

void pmr_wrmsr(u32 msr, u64 value)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_wrmsr, msr, value);
	pmr_insn_wrmsr(msr, value);
}

u64 pmr_rdpmc(u32 counter)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_rdpmc, counter);
	return pmr_insn_rdpmc(counter);
}

u32 pmr_lvtpc_read(void)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_lvtpc_read);
	return pmr_apic_read(APIC_LVTPC);
}

void pmr_lvtpc_write(u32 value)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_lvtpc_write, value);
	pmr_apic_write(APIC_LVTPC, value);
}

int pmr_rdmsr_safe(u32 msr, u64 *value)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_rdmsr_safe, msr, value);
	return rdmsrl_safe(msr, value);
}

int pmr_wrmsr_safe(u32 msr, u64 value)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_wrmsr_safe, msr, value);
	return wrmsrl_safe(msr, value);
}

int pmr_rdpmc_safe(u32 counter, u64 *value)
{
	KUNIT_STATIC_STUB_REDIRECT(pmr_rdpmc_safe, counter, value);
	return pmr_try_rdpmc(counter, value);
}
#endif
