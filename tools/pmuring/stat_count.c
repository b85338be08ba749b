// SPDX-License-Identifier: GPL-2.0
/*
 * The counts of a run of stat: read, scaled, and averaged over several runs.
 * Called by stat.c.
 */
#include <emmintrin.h>
#include <errno.h>
#include <string.h>

#include "stat.h"
#include "util.h"

/* what was counted since @last, which moves on */
static int read_since(const struct evlist *evlist, const struct counter *counter,
		      struct reading *last, struct reading *since)
{
	struct reading now;

	if (evlist_read(evlist, counter, &now))
		return fail("cannot read event '%s': %s",
			    evlist->events->events[counter->event].name, strerror(errno));
	since->value = now.value - last->value;
	since->enabled = now.enabled - last->enabled;
	since->running = now.running - last->running;
	*last = now;
	return 0;
}

/**
 * stat_read - what each event counted since it was read last
 * @evlist: open
 * @last: what each counter said then, at first all zero; set to what it says now
 * @totals: filled in, one per event
 *
 * Return: 0, or -1 after a message to the user
 */
int stat_read(const struct evlist *evlist, struct reading *last, struct total *totals)
{
	memset(totals, 0, evlist->events->nr * sizeof(*totals));
	for (size_t i = 0; i < evlist->nr; i++) {
		struct total *total = &totals[evlist->counters[i].event];
		struct reading since = { 0 };

		if (read_since(evlist, &evlist->counters[i], &last[i], &since))
			return -1;
		if (since.running && since.running < since.enabled)
			total->value += (double)since.value * since.enabled / since.running;
		else
			total->value += since.value;
		total->enabled += since.enabled;
		total->running += since.running;
	}
	return 0;
}

/**
 * stat_add - take a run into an average
 * @sum: zeroed before the first
 * @run: what it counted
 */
void stat_add(struct total *sum, const struct total *run)
{
	sum->value += run->value;
	sum->enabled += run->enabled;
	sum->running += run->running;
	/* of the squares, until stat_average() */
	sum->spread += run->value * run->value;
}

/* the instruction, for which no library is needed */
static double square_root(double x)
{
	__m128d value = _mm_set_sd(x);

	return _mm_cvtsd_f64(_mm_sqrt_sd(value, value));
}

/**
 * stat_average - turn the sum into the mean and its spread
 * @sum: of all runs
 * @runs: how many
 */
void stat_average(struct total *sum, uint64_t runs)
{
	double mean = sum->value / runs;
	double variance = runs > 1 ? (sum->spread - mean * sum->value) / (runs - 1) : 0;

	sum->value = mean;
	sum->enabled /= runs;
	sum->running /= runs;
	/* rounding may leave less than nothing */
	sum->spread = mean && variance > 0 ? 100 * square_root(variance / runs) / mean : 0;
}
