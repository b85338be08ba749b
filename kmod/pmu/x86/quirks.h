/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the PMU of a CPU model does otherwise than the manual says.
 */
#ifndef PMR_QUIRKS_H
#define PMR_QUIRKS_H

#include <linux/jump_label.h>
#include <linux/types.h>

#define PMR_QUIRK_REGISTER_EVENTS	6

/**
 * struct pmr_quirks - the quirks of a CPU model
 * @notice: what is told at load time, or NULL
 * @period_min: smallest load of any counter, or 0
 * @retired_min: smallest load of a counter of INST_RETIRED by umask 01H, or 0
 * @retired_step: its loads must be multiples of this power of 2, or 0
 * @smt_leak: events D0H to D3H change counters of the core's other thread
 * @register_events: codes, with umask, that count by a further register, which
 *	is not programmed; 0 ends the list
 */
struct pmr_quirks {
	const char *notice;
	u16 period_min;
	u16 retired_min;
	u16 retired_step;
	bool smt_leak;
	u16 register_events[PMR_QUIRK_REGISTER_EVENTS];
};

/* Those of this machine; constant after load. */
extern const struct pmr_quirks *pmr_quirks;
/* They limit what a counter may be loaded with. */
DECLARE_STATIC_KEY_FALSE(pmr_quirks_limit_loads);

const struct pmr_quirks *pmr_quirks_find(u32 family, u32 model);
u64 pmr_quirks_period_min(const struct pmr_quirks *quirks, u64 config);
u64 pmr_quirks_load(const struct pmr_quirks *quirks, u64 config, u64 left, u64 max);
bool pmr_quirks_allow(const struct pmr_quirks *quirks, u64 config, bool smt);
u64 pmr_quirks_unusable_counters(void);
void pmr_quirks_init(u32 family, u32 model);

#endif /* PMR_QUIRKS_H */
