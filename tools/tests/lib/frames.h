/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of known frames, for call chains.
 */
#ifndef PMURING_TESTS_FRAMES_H
#define PMURING_TESTS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/* what a frame pointer points to */
struct frame {
	uint64_t next;
	uint64_t ip;
};

struct frame_32 {
	uint32_t next;
	uint32_t ip;
};

/* an address and the code segment that it is in */
struct far_pointer {
	uint32_t offset;
	uint16_t selector;
};

/**
 * struct frames_32 - 32-bit code and its frames, in the lower 4 GB
 * @code: code
 * @entry: to its beginning
 * @frame: frames; the first one is where the frame pointer points to
 */
struct frames_32 {
	unsigned char code[64];
	struct far_pointer entry;
	struct frame_32 frame[4];
};

void chain_outer(uint64_t rounds);
void chain_lying(uint64_t frame, uint64_t rounds);

/* part of frames_lying_32() */
void enter_32(const struct far_pointer *entry, const void *frame, uint64_t rounds);
extern const char back_from_32[];

/* labels within the others */
extern const char chain_outer_goes_on[], chain_middle_goes_on[], chain_inner_loop[],
	chain_lying_loop[];

struct frames_32 *frames_map_32(void);
void frames_unmap_32(struct frames_32 *frames);
uint64_t frames_loop_32(const struct frames_32 *frames);
uint32_t frames_address_32(const void *at);
void frames_lying_32(const struct frames_32 *frames, uint64_t rounds);

bool frames_in_loop(uint64_t ip);

#endif
