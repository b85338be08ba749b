// SPDX-License-Identifier: GPL-2.0
/*
 * Fault injection: each allocation and each copy to or from user space that a call
 * makes fails once (/proc/thread-self/fail-nth). Each time the call either succeeds
 * or returns a matching errno. At the end no event, hook or reference is left.
 * kmemleak finds leaks that no counter shows.
 *
 * Needs a kernel with fault injection, which the debug test kernel has.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "software.h"
#include "tap.h"

#define PAGE		4096UL
/* no call makes so many allocations and copies */
#define STEPS_MAX	3000
#define STUBBORN	40

/*
 * The thread's next calls lose what they ask for the @nth time. Return: a
 * descriptor for fault_end().
 */
static int fault_begin(unsigned int nth)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	char text[16];

	if (fd < 0 || write(fd, text, snprintf(text, sizeof(text), "%u", nth)) < 0)
		bail_out("cannot make calls fail");
	return fd;
}

/*
 * Return: what is left of nth, 0 if it has come to that. The calls here copy, too: if
 * one of them fails, nothing before it did.
 */
static unsigned int fault_left(int fd)
{
	char text[16] = "1";
	unsigned int left;

	left = pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 1;
	while (write(fd, "0", 1) < 0)
		;
	close(fd);
	return left;
}

static bool fault_end(int fd)
{
	return !fault_left(fd);
}

/* kmemleak prints under a lock of its own when it loses an allocation; lockdep reports that. */
static bool fail_all_caches(void)
{
	glob_t caches;
	bool good = file_write("/sys/kernel/debug/failslab/cache-filter", "Y");

	if (glob("/sys/kernel/slab/*/failslab", 0, NULL, &caches))
		return false;
	for (size_t i = 0; i < caches.gl_pathc; i++)
		if (!strstr(caches.gl_pathv[i], "/kmemleak"))
			good &= file_write(caches.gl_pathv[i], "1");
	globfree(&caches);
	return good;
}

static bool everything_may_fail(void)
{
	static const char *const files[] = {
		"failslab/ignore-gfp-wait", "fail_page_alloc/ignore-gfp-wait",
	};
	char path[80];

	if (access("/proc/self/fail-nth", W_OK))
		return false;
	file_write("/sys/kernel/debug/failslab/verbose", "0");
	file_write("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	file_write("/sys/kernel/debug/fail_usercopy/verbose", "0");
	file_write("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", files[i]);
		if (!file_write(path, "N"))
			return false;
	}
	return fail_all_caches();
}

static bool means_it(int err)
{
	return err == ENOMEM || err == EFAULT || err == EAGAIN || err == ENOSPC;
}

/**
 * struct step - a call that loses something, again and again
 * @what: for the result
 * @fn: makes the call: -1 with errno, or what undo gets
 * @undo: of a call that worked; NULL for none
 * @data: for @fn
 * @from: what comes before is not ours
 */
struct step {
	const char *what;
	long (*fn)(const void *data);
	void (*undo)(long got);
	const void *data;
	unsigned int from;
};

/*
 * The last round, which loses nothing, has to work. A call that loses things for
 * ever does so in a loop of its own: that is said after STEPS_MAX.
 */
static void walk(const struct step *step)
{
	unsigned int nth, refused = 0;
	int err = 0;
	long got = -1;
	bool lost = true;

	for (nth = step->from ?: 1; nth < STEPS_MAX; nth++) {
		int fault = fault_begin(nth);

		got = step->fn(step->data);
		err = got < 0 ? errno : 0;
		lost = fault_end(fault);
		if (got >= 0 && step->undo)
			step->undo(got);
		refused += got < 0;
		if (!lost || (got < 0 && !means_it(err)))
			break;
	}
	if (err)
		diag("%s", strerrorname_np(err));
	ok(!lost && got >= 0, "%s: %u faults, %u of them with an errno", step->what,
	   nth - (step->from ?: 1), refused);
}

static void close_it(long fd)
{
	close(fd);
}

/* --- open --- */

/**
 * struct kind - a kind of event
 * @what: its name
 * @attr: its attributes
 * @on_cpu: of CPU 0, not of this task
 */
struct kind {
	const char *what;
	struct perf_event_attr attr;
	bool on_cpu;
};

#define ATTR(...) { .size = sizeof(struct perf_event_attr), __VA_ARGS__ }
#define HW(...) ATTR(.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, \
		     __VA_ARGS__)
#define SW(which, ...) ATTR(.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##which, \
			    ##__VA_ARGS__)

static const struct kind kinds[] = {
	{ .what = "hardware, counting", .attr = HW(.exclude_kernel = 1) },
	{ .what = "hardware, enabled", .attr = HW(.pinned = 1) },
	{ .what = "hardware, sampling",
	  .attr = HW(.sample_period = 1000003, .sample_type = PERF_SAMPLE_IP) },
	{ .what = "hardware, frequency", .attr = HW(.freq = 1, .sample_freq = 100) },
	{ .what = "hardware, call chains",
	  .attr = HW(.sample_period = 1000003, .sample_type = PERF_SAMPLE_CALLCHAIN) },
	{ .what = "hardware, inherited", .attr = HW(.inherit = 1) },
	{ .what = "hardware, of a CPU", .attr = HW(.pinned = 1), .on_cpu = true },
	{ .what = "cpu-clock", .attr = SW(CPU_CLOCK, .freq = 1, .sample_freq = 100) },
	{ .what = "task-clock", .attr = SW(TASK_CLOCK) },
	{ .what = "page-faults", .attr = SW(PAGE_FAULTS) },
	{ .what = "minor-faults", .attr = SW(PAGE_FAULTS_MIN) },
	{ .what = "major-faults", .attr = SW(PAGE_FAULTS_MAJ) },
	{ .what = "context-switches", .attr = SW(CONTEXT_SWITCHES) },
	{ .what = "cpu-migrations", .attr = SW(CPU_MIGRATIONS) },
	{ .what = "dummy, all records",
	  .attr = SW(DUMMY, .mmap = 1, .mmap2 = 1, .comm = 1, .task = 1, .context_switch = 1,
		     .sample_id_all = 1) },
	{ .what = "page-faults, of a CPU", .attr = SW(PAGE_FAULTS), .on_cpu = true },
};

static bool is_there(const struct kind *kind)
{
	return kind->attr.type == PERF_TYPE_SOFTWARE || pmu_is_there();
}

static long open_kind(const void *data)
{
	const struct kind *kind = data;

	return door_open_event(&kind->attr, kind->on_cpu ? -1 : 0, kind->on_cpu ? 0 : -1, -1,
			       PERF_FLAG_FD_CLOEXEC);
}

/* The first one of its kind: the hooks of the last one are gone by then. */
static void close_first(long fd)
{
	close(fd);
	hooks_remain();
}

static void opens(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char first_what[80], next_what[80];
		struct step first = { first_what, open_kind, close_first, &kinds[i], 0 };
		struct step next = { next_what, open_kind, close_it, &kinds[i], 0 };
		int other;

		snprintf(first_what, sizeof(first_what), "open the first, %s", kinds[i].what);
		snprintf(next_what, sizeof(next_what), "open the next, %s", kinds[i].what);
		if (!is_there(&kinds[i])) {
			skip(2, "no PMU");
			continue;
		}
		hooks_remain();
		walk(&first);
		other = open_kind(&kinds[i]);
		walk(&next);
		close(other);
	}
}

static int leader;

static long open_member(const void *data)
{
	return door_open_event(data, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void groups(void)
{
	struct perf_event_attr attr = SW(TASK_CLOCK);
	struct step step = { "a member of a group", open_member, close_it, &attr, 0 };

	leader = open_self(&attr);
	walk(&step);
	attr.inherit = 1;
	close(leader);
	leader = open_self(&attr);
	step.what = "a member of an inherited group";
	walk(&step);
	close(leader);
}

/* --- calls on an event --- */

static int event;

static long map_event(const void *data)
{
	void *at = mmap(NULL, *(const size_t *)data * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			event, 0);

	return at == MAP_FAILED ? -1 : (long)at;
}

static void unmap_small(long at)
{
	munmap((void *)at, PAGE);
}

static void unmap_large(long at)
{
	munmap((void *)at, 9 * PAGE);
}

static void mappings(const struct perf_event_attr *attr)
{
	static const size_t small = 1, large = 9;
	struct step steps[] = {
		{ "map one page", map_event, unmap_small, &small, 0 },
		{ "map a ring", map_event, unmap_large, &large, 0 },
	};
	void *other;

	event = open_self(attr);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		walk(&steps[i]);
	other = (void *)map_event(&large);
	steps[1].what = "map a ring again";
	walk(&steps[1]);
	munmap(other, 9 * PAGE);
	close(event);
}

struct request {
	const char *name;
	unsigned long number;
	unsigned long argument;
	/* the expected errno without a fault, or 0 */
	int want;
};

static struct perf_event_attr modified = ATTR(.type = PERF_TYPE_SOFTWARE);
static uint64_t number = 1000003, id;

static long request_of(const void *data)
{
	const struct request *request = data;
	int rc = ioctl(event, request->number, request->argument);

	return rc < 0 && errno == request->want ? 0 : rc;
}

static void requests(const struct perf_event_attr *attr)
{
	const struct request list[] = {
		{ "ENABLE", PERF_EVENT_IOC_ENABLE, 0, 0 },
		{ "DISABLE", PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP, 0 },
		{ "RESET", PERF_EVENT_IOC_RESET, 0, 0 },
		{ "REFRESH", PERF_EVENT_IOC_REFRESH, 1, 0 },
		{ "PERIOD", PERF_EVENT_IOC_PERIOD, (uintptr_t)&number, 0 },
		{ "ID", PERF_EVENT_IOC_ID, (uintptr_t)&id, 0 },
		{ "SET_OUTPUT", PERF_EVENT_IOC_SET_OUTPUT, -1, 0 },
		{ "PAUSE_OUTPUT", PERF_EVENT_IOC_PAUSE_OUTPUT, 0, EINVAL },
		{ "SET_FILTER", PERF_EVENT_IOC_SET_FILTER, (uintptr_t)"filter", EINVAL },
		{ "SET_BPF", PERF_EVENT_IOC_SET_BPF, 0, EINVAL },
		{ "QUERY_BPF", PERF_EVENT_IOC_QUERY_BPF, (uintptr_t)&number, EINVAL },
		{ "MODIFY_ATTRIBUTES", PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (uintptr_t)&modified,
		  EOPNOTSUPP },
	};

	event = open_self(attr);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		walk(&(struct step){ list[i].name, request_of, NULL, &list[i], 0 });
	close(event);
}

static long read_event(const void *data)
{
	uint64_t words[16];

	(void)data;
	return read(event, words, sizeof(words));
}

static long ask_for_signals(const void *data)
{
	(void)data;
	return fcntl(event, F_SETFL, O_ASYNC);
}

static void refuse_signals(long got)
{
	(void)got;
	fcntl(event, F_SETFL, 0);
}

static long watch_event(const void *data)
{
	struct epoll_event in = { .events = EPOLLIN };

	return epoll_ctl(*(const int *)data, EPOLL_CTL_ADD, event, &in);
}

static int epoll;

static void forget_event(long got)
{
	(void)got;
	epoll_ctl(epoll, EPOLL_CTL_DEL, event, NULL);
}

static long ask_info(const void *data)
{
	struct pmuring_info info;

	(void)data;
	return door_info(&info);
}

static long enable_mine(const void *data)
{
	(void)data;
	return ioctl(door_fd(), PMURING_IOC_TASK_ENABLE);
}

static long open_node(const void *data)
{
	(void)data;
	return open(PMURING_DEVICE, O_RDWR | O_CLOEXEC);
}

static void calls(const struct perf_event_attr *attr)
{
	const struct step steps[] = {
		{ "read", read_event, NULL, NULL, 0 },
		{ "O_ASYNC", ask_for_signals, refuse_signals, NULL, 0 },
		{ "epoll", watch_event, forget_event, &epoll, 0 },
		{ "INFO", ask_info, NULL, NULL, 0 },
		{ "TASK_ENABLE", enable_mine, NULL, NULL, 0 },
		{ "open the node", open_node, close_it, NULL, 0 },
	};

	epoll = epoll_create1(EPOLL_CLOEXEC);
	event = open_self(attr);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		walk(&steps[i]);
	close(event);
	close(epoll);
}

/* --- tasks --- */

static long fork_child(const void *data)
{
	pid_t pid = fork();

	(void)data;
	if (!pid)
		_exit(0);
	return pid;
}

static void wait_for(long pid)
{
	waitpid(pid, NULL, 0);
}

/* A child that is not counted is reported in not_inherited. */
static void forks(const struct perf_event_attr *attr)
{
	struct step step = { "fork with inherited events", fork_child, wait_for, NULL, 0 };
	uint64_t missed = module_info().not_inherited;

	event = open_self(attr);
	leader = event;
	walk(&step);
	diag("%llu children were not counted", (unsigned long long)
	     (module_info().not_inherited - missed));
	ok(read_event(NULL) > 0, "the event can be read");
	close(event);
}

/*
 * A child of which the events are execs, or exits, and loses something on the way.
 * From some moment on, an exec that fails kills. Return: whether something was lost.
 */
static bool lose_in_child(const struct perf_event_attr *attr, unsigned int nth, bool exec)
{
	int go[2], lost[2], fd, status;
	char *const program[] = { "/tests/spin", "1", NULL };
	char text[16] = "", byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) || pipe2(lost, O_CLOEXEC))
		bail_out("no pipe");
	pid = fork();
	if (!pid) {
		int fault;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		fault = fault_begin(nth);
		if (exec)
			execv(program[0], program);
		else
			close(event);
		if (write(lost[1], fault_end(fault) ? "1" : "0", 1) != 1)
			_exit(1);
		_exit(0);
	}
	fd = door_open_event(attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	close(lost[1]);
	if (write(go[1], "x", 1) != 1)
		bail_out("no child");
	close(go[0]);
	close(go[1]);
	/* nothing: it has become the program, or was killed by what it lost */
	if (read(lost[0], text, 1) != 1)
		text[0] = 'k';
	waitpid(pid, &status, 0);
	close(lost[0]);
	close(fd);
	return text[0] == '1' || WIFSIGNALED(status);
}

/* A program that runs cannot tell whether something was lost before: STUBBORN times not. */
static void execs(void)
{
	struct perf_event_attr attr = SW(TASK_CLOCK, .enable_on_exec = 1, .inherit = 1);
	unsigned int nth, killed = 0, quiet = 0;

	for (nth = 1; nth < STEPS_MAX && quiet < STUBBORN; nth++) {
		bool lost = lose_in_child(&attr, nth, true);

		killed += lost;
		quiet = lost ? 0 : quiet + 1;
	}
	ok(killed && quiet == STUBBORN,
	   "exec with events fails cleanly (%u times in %u)", killed, nth - 1);
	attr.enable_on_exec = 0;
	attr.remove_on_exec = 1;
	for (nth = 1, killed = 0, quiet = 0; nth < STEPS_MAX && quiet < STUBBORN; nth++) {
		bool lost = lose_in_child(&attr, nth, true);

		killed += lost;
		quiet = lost ? 0 : quiet + 1;
	}
	ok(killed && quiet == STUBBORN,
	   "exec with remove_on_exec fails cleanly (%u times in %u)", killed, nth - 1);
}

/* --- the module --- */

static long load(const void *data)
{
	(void)data;
	return module_load();
}

static void unload(long got)
{
	(void)got;
	if (module_unload())
		bail_out("the module does not unload");
}

/*
 * A parameter that is refused ends the load after nearly all that the kernel does by
 * itself. Return: how much could be lost until then.
 */
static unsigned int lost_before_init(void)
{
	int fd = open(module_path(), O_RDONLY | O_CLOEXEC);
	int fault = fault_begin(STEPS_MAX * 10);
	long rc = syscall(SYS_finit_module, fd, "paranoid=x", 0);
	unsigned int left = fault_left(fault);

	if (fd < 0 || !rc)
		bail_out("a parameter is not refused");
	close(fd);
	return STEPS_MAX * 10 - left;
}

static void loading(void)
{
	struct step step = { "load the module", load, unload, NULL, 0 };

	if (!module_path()) {
		skip(1, "PMURING_KO does not say where the module is");
		return;
	}
	unload(0);
	step.from = lost_before_init();
	diag("from %u", step.from);
	walk(&step);
	if (module_load())
		bail_out("cannot load the module again");
}

int main(void)
{
	struct perf_event_attr sampled = SW(TASK_CLOCK, .sample_period = 1000003,
					    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct perf_event_attr inherited = SW(TASK_CLOCK, .inherit = 1);
	int log;

	if (!everything_may_fail())
		return skip_all("the kernel cannot inject faults (CONFIG_FAULT_INJECTION)");
	plan(2 * ARRAY_SIZE(kinds) + 2 + 3 + 12 + 6 + 2 + 2 + 1 + 3);
	log = kernel_log_open();
	opens();
	groups();
	mappings(&sampled);
	requests(&sampled);
	calls(&sampled);
	forks(&inherited);
	execs();
	loading();
	is(module_info().events, 0, "no event is left");
	ok(!hooks_remain(), "no hook is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
