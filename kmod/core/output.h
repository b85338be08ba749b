/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which ring an event writes into, and which readers its wake-ups reach.
 */
#ifndef PMR_OUTPUT_H
#define PMR_OUTPUT_H

#include "core/event.h"

void pmr_output_attach(struct pmr_event *event, struct pmr_ring *ring);
void pmr_output_detach(struct pmr_event *event);
void pmr_output_detach_all(struct pmr_ring *ring);
int pmr_output_share(struct pmr_event *event, struct pmr_event *target);
struct pmr_ring *pmr_output_ring(struct pmr_event *event);
void pmr_output_poll(struct pmr_event *event);
void pmr_output_wake(struct pmr_event *event);

#endif /* PMR_OUTPUT_H */
