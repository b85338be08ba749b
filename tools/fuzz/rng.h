/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Seeded random numbers (splitmix64) in the few forms that the fuzzer uses. Each
 * generator belongs to one thread.
 */
#ifndef PMURING_FUZZ_RNG_H
#define PMURING_FUZZ_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 ... n - 1 */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
	return rng_next(rng) % n;
}

static inline bool rng_percent(struct rng *rng, unsigned int percent)
{
	return rng_below(rng, 100) < percent;
}

/* one in @n */
static inline bool rng_rarely(struct rng *rng, unsigned int n)
{
	return !rng_below(rng, n);
}

static inline uint64_t rng_pick(struct rng *rng, const uint64_t *of, size_t n)
{
	return of[rng_below(rng, n)];
}

#define RNG_PICK(rng, ...) \
	rng_pick(rng, (const uint64_t[]){ __VA_ARGS__ }, \
		 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* of any magnitude: each length in bits is as likely as the other */
static inline uint64_t rng_any(struct rng *rng)
{
	return rng_next(rng) >> rng_below(rng, 64);
}

#endif
