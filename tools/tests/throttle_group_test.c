// SPDX-License-Identifier: GPL-2.0
/*
 * A group with a throttled leader. The members count the same event, so each sample
 * must have the same count for both, throttled in between or not, also while pinned
 * events push the group off its counters.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "tap.h"
#include "workload.h"

#define MS	1000000ULL
#define TICK	(4 * MS)
#define LIMIT	4000
#define MEMBERS	2
/* of user mode: 20 times the limit */
#define PERIOD	12500

/* what the samples of a group say; number of members, two values */
struct story {
	uint64_t samples;
	uint64_t throttles;
	uint64_t apart;
	uint64_t backward;
	uint64_t last;
};

static void check(const struct record *rec, void *data)
{
	struct story *story = data;
	uint64_t apart;

	story->throttles += rec->header.type == PERF_RECORD_THROTTLE;
	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	story->samples++;
	story->backward += rec->field[0] != MEMBERS || rec->field[1] < story->last;
	story->last = rec->field[1];
	apart = rec->field[1] > rec->field[2] ? rec->field[1] - rec->field[2] :
						rec->field[2] - rec->field[1];
	if (apart > story->apart)
		story->apart = apart;
}

static void spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		work(1000);
}

static void open_group(int fds[MEMBERS], bool kernel)
{
	struct perf_event_attr attr = sampling(PERF_COUNT_HW_CPU_CYCLES, PERIOD, PERF_SAMPLE_READ);

	attr.read_format = PERF_FORMAT_GROUP;
	attr.exclude_kernel = !kernel;
	fds[0] = open_self(&attr);
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.disabled = 0;
	fds[1] = door_open_event(&attr, 0, -1, fds[0], PERF_FLAG_FD_CLOEXEC);
}

/* all counters, for a moment */
static void push_off(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	int pinned[32];
	size_t n;

	attr.pinned = 1;
	attr.disabled = 0;
	for (n = 0; n < ARRAY_SIZE(pinned); n++) {
		pinned[n] = open_self(&attr);
		work(50);
	}
	while (n--)
		close(pinned[n]);
}

static struct story run(bool kernel, bool pinned)
{
	struct story story = { 0 };
	uint64_t begun, ticks, due;
	struct ring ring;
	int fds[MEMBERS];

	open_group(fds, kernel);
	map_ring(&ring, fds[0], 256);
	begun = now_ns();
	switch_event(fds[0], PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 50; i++) {
		spin(4 * MS);
		if (pinned)
			push_off();
	}
	switch_event(fds[0], PERF_EVENT_IOC_DISABLE);
	ticks = (now_ns() - begun) / TICK;
	due = (now_ns() - begun) * LIMIT / (1000 * MS);
	is(drain(&ring, check, &story).lost, 0, "%s mode%s: no sample is lost",
	   kernel ? "user and kernel" : "user", pinned ? ", pinned events come and go" : "");
	/* a kernel that checks itself may leave less user mode than the limit has samples for */
	between(story.throttles, machine_is_checked() ? 1 : ticks / 2, ticks + 2,
		"the group is throttled in most of %llu ticks", (unsigned long long)ticks);
	/* two ticks' at the first sample, then one each at ticks + 1 boundaries at most */
	between(story.samples, machine_is_checked() ? 1 : due / 2,
		due + 3 * LIMIT / (1000 * MS / TICK) + 1,
		"the group has samples up to the limit of %llu", (unsigned long long)due);
	is(story.backward, 0, "the counts never decrease");
	ring_unmap(&ring);
	for (int i = 0; i < MEMBERS; i++)
		close(fds[i]);
	return story;
}

int main(void)
{
	long limit = module_parameter("max_sample_rate");
	struct story story;

	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(4 * 5);
	cpu_pin(0);
	module_set_parameter("max_sample_rate", LIMIT);
	for (int pinned = 0; pinned < 2; pinned++) {
		story = run(false, pinned);
		is(story.apart, 0, "both members have the same count in each sample");
	}
	for (int pinned = 0; pinned < 2; pinned++) {
		story = run(true, pinned);
		if (machine_is_checked()) {
			skip(1, "a debug kernel runs checks between the two members");
			continue;
		}
		/* a counter misses instructions while the PMI or the tick writes it */
		between(story.apart, 0, 64 * story.samples + 1000 * story.throttles,
			"kernel mode counts of the members differ by %llu of %llu",
			(unsigned long long)story.apart, (unsigned long long)story.last);
	}
	module_set_parameter("max_sample_rate", limit);
	return done();
}
