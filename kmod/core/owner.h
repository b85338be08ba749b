/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that each task has opened.
 */
#ifndef PMR_OWNER_H
#define PMR_OWNER_H

#include "core/event.h"

int pmr_owner_set(struct pmr_event *event);
void pmr_owner_clear(struct pmr_event *event);
void pmr_owner_add(struct pmr_event *event);
void pmr_owner_remove(struct pmr_event *event);
void pmr_owner_control(bool enable);

#endif /* PMR_OWNER_H */
