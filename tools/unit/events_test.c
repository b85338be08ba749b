// SPDX-License-Identifier: GPL-2.0
/*
 * Event names, groups and CPU lists: the result of each spelling. Run on the host.
 */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "tap.h"
#include "target.h"

/* an -e argument, the number of resulting events, and the last one */
static const struct {
	const char *text;
	size_t count;
	uint32_t type;
	uint64_t config;
	bool exclude_user;
	bool exclude_kernel;
} good[] = {
	{ "cycles", 1, PERF_TYPE_HARDWARE, 0, false, false },
	{ "cpu-cycles:u", 1, PERF_TYPE_HARDWARE, 0, false, true },
	{ "instructions:k", 1, PERF_TYPE_HARDWARE, 1, true, false },
	{ "branches:uk", 1, PERF_TYPE_HARDWARE, 4, false, false },
	{ "cycles,ref-cycles", 2, PERF_TYPE_HARDWARE, 9, false, false },
	{ "r1c4", 1, PERF_TYPE_RAW, 0x1c4, false, false },
	{ "r5101c4:u", 1, PERF_TYPE_RAW, 0x5101c4, false, true },
	{ "cpu/event=0xc4,umask=0x1/", 1, PERF_TYPE_RAW, 0x1c4, false, false },
	{ "cpu/event=0xc4,umask=1,inv,cmask=2/u", 1, PERF_TYPE_RAW, 0x28001c4, false, true },
	{ "cycles,cpu/event=0x3c,umask=0/k,r3c", 3, PERF_TYPE_RAW, 0x3c, false, false },
	/* AMD: bits 8 to 11 of the code are bits 32 to 35 of the selector */
	{ "cpu/event=0x187/", 1, PERF_TYPE_RAW, 0x100000087, false, false },
	{ "cpu/config=0x1234,name=mine/", 1, PERF_TYPE_RAW, 0x1234, false, false },
	{ "cpu/instructions/", 1, PERF_TYPE_HARDWARE, 1, false, false },
	{ "cpu/event=0x3c/:u", 1, PERF_TYPE_RAW, 0x3c, false, true },
	{ "cpu-clock", 1, PERF_TYPE_SOFTWARE, 0, false, false },
	{ "task-clock:u", 1, PERF_TYPE_SOFTWARE, 1, false, true },
	{ "faults,cs", 2, PERF_TYPE_SOFTWARE, 3, false, false },
	{ "migrations,minor-faults,major-faults", 3, PERF_TYPE_SOFTWARE, 6, false, false },
	{ "{cycles,instructions}:k", 2, PERF_TYPE_HARDWARE, 1, true, false },
	{ "{cycles:u,instructions:u}:k", 2, PERF_TYPE_HARDWARE, 1, false, false },
	{ "{cpu/event=0xc4,umask=1/,r3c:u}", 2, PERF_TYPE_RAW, 0x3c, false, true },
};

static const char *const bad[] = {
	"", "cycles,", ",cycles", "nonsense", "cycles:x", "rxyz", "cpu/umask=0x100/",
	"cpu/nothing=1/", "cpu/event=0x1000/", "cpu/event=x/", "cycles:u:u:q",
	"r11112222333344445", "{cycles", "cycles}", "{}", "{cycles,}", "{,cycles}", "{a,{b}}",
	"{cycles,{instructions}}", "{cycles}x", "{cycles}:", "{cycles}:q", "{cycles},",
	"{nonsense,cycles}",
};

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct event_list list = { 0 };
		const struct event *event;
		bool right = !events_add(&list, good[i].text) && list.nr == good[i].count;

		event = right ? &list.events[list.nr - 1] : NULL;
		ok(event && event->attr.type == good[i].type &&
		   event->attr.config == good[i].config &&
		   event->attr.exclude_user == good[i].exclude_user &&
		   event->attr.exclude_kernel == good[i].exclude_kernel, "%s", good[i].text);
		events_free(&list);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct event_list list = { 0 };

		ok(events_add(&list, bad[i]) < 0, "refused: '%s'", bad[i]);
		events_free(&list);
	}
}

static void test_groups(void)
{
	struct event_list list = { 0 };
	struct event *events;

	ok(!events_add(&list, "cs,{cycles,instructions:p}:uSDe,{branches},r3c:I") && list.nr == 5,
	   "a group between others");
	events = list.events;
	ok(events[0].leader == 0 && events[1].leader == 1 && events[2].leader == 1 &&
	   events[3].leader == 3 && events[4].leader == 4, "each event has the right leader");
	ok(events_group_size(&list, 0) == 1 && events_group_size(&list, 1) == 2 &&
	   events_group_size(&list, 2) == 0, "each group has the right size");
	ok(events[1].sample_read && events[2].sample_read && !events[0].sample_read &&
	   !events[3].sample_read, ":S");
	ok(events[1].attr.pinned && events[1].attr.exclusive && !events[2].attr.pinned &&
	   !events[2].attr.exclusive, ":D and :e are for the leader");
	ok(events[2].attr.precise_ip == 1 && events[2].attr.exclude_kernel &&
	   events[4].attr.exclude_idle, "modifiers of the group and of the event");
	ok(!strcmp(events[1].name, "cycles:u") && !strcmp(events[2].name, "instructions:pu") &&
	   !strcmp(events[4].name, "r3c:I"), "names with what changes the count");
	events_free(&list);
	ok(!events_add(&list, "cycles:pppP") && list.events[0].attr.precise_ip == 3, ":ppp");
	ok(!events_add(&list, "cycles:D") && list.events[1].attr.pinned &&
	   list.events[1].leader == 1, "a second -e, pinned");
	ok(events_add_tracker(&list)->attr.config == PERF_COUNT_SW_DUMMY,
	   "the tracker is a dummy event");
	events_free(&list);
}

static bool cpus_are(const char *list, size_t want_nr, int want_last)
{
	int *cpus = NULL;
	size_t nr = 0;
	bool right = !cpu_list_parse(list, &cpus, &nr) && nr == want_nr &&
		     cpus[nr - 1] == want_last;

	free(cpus);
	return right;
}

static void test_cpus(void)
{
	static const char *const wrong[] = { "", "a", "1-", "3-1", "1,", "-1", "0-99999999" };
	int *cpus;
	size_t nr;

	ok(cpus_are("0", 1, 0), "a list of one CPU is parsed");
	ok(cpus_are("0-3,7\n", 5, 7), "a range and a single CPU are parsed, as in sysfs");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ok(cpu_list_parse(wrong[i], &cpus, &nr) < 0,
		   "an invalid CPU list is refused: '%s'", wrong[i]);
}

int main(void)
{
	plan(ARRAY_SIZE(good) + ARRAY_SIZE(bad) + 10 + 2 + 7);
	test_good();
	test_bad();
	test_groups();
	test_cpus();
	return done();
}
