// SPDX-License-Identifier: GPL-2.0
/*
 * The loop of a fuzzer thread: choose an operation, log it, run it, count the result.
 * The log is in shared memory before the operation starts, so that it survives a crash
 * of the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

__thread struct world *this_world;

/*
 * The weights make the slow ones rare; for others than root, its operations do
 * nothing. An exec is how some children end.
 */
static const struct op {
	const char *name;
	op_fn fn;
	unsigned int weight;
} ops[OP_KINDS] = {
	[OP_OPEN] = { "open", op_open, 240 },
	[OP_CLOSE] = { "close", op_close, 150 },
	[OP_DUP] = { "dup", op_dup, 20 },
	[OP_READ] = { "read", op_read, 80 },
	[OP_POLL] = { "poll", op_poll, 40 },
	[OP_IOCTL] = { "ioctl", op_ioctl, 200 },
	[OP_SET_OUTPUT] = { "set_output", op_set_output, 40 },
	[OP_COMPAT] = { "compat_ioctl", op_compat, 20 },
	[OP_FASYNC] = { "fasync", op_fasync, 20 },
	[OP_EPOLL] = { "epoll", op_epoll, 10 },
	[OP_SCM] = { "scm_rights", op_scm, 10 },
	[OP_FDINFO] = { "fdinfo", op_fdinfo, 4 },
	[OP_NODE] = { "node", op_node, 24 },
	[OP_MMAP] = { "mmap", op_mmap, 80 },
	[OP_MUNMAP] = { "munmap", op_munmap, 40 },
	[OP_MREMAP] = { "mremap", op_mremap, 16 },
	[OP_MPROTECT] = { "mprotect", op_mprotect, 16 },
	[OP_MADVISE] = { "madvise", op_madvise, 24 },
	[OP_TOUCH] = { "touch", op_touch, 80 },
	[OP_RDPMC] = { "rdpmc", op_rdpmc, 16 },
	[OP_MAP_FILE] = { "map_file", op_map_file, 16 },
	[OP_FORK] = { "fork", op_fork, 14 },
	[OP_SPAWN] = { "spawn", op_spawn, 5 },
	[OP_THREAD] = { "thread", op_thread, 12 },
	[OP_JOIN] = { "join", op_join, 10 },
	[OP_REAP] = { "reap", op_reap, 30 },
	[OP_KILL] = { "kill", op_kill, 8 },
	[OP_WORK] = { "work", op_work, 40 },
	[OP_SLEEP] = { "sleep", op_sleep, 14 },
	[OP_AFFINITY] = { "affinity", op_affinity, 16 },
	[OP_PRCTL] = { "prctl", op_prctl, 10 },
	[OP_PERF] = { "perf", op_perf, 6 },
	[OP_EXEC] = { "exec", NULL, 0 },
	[OP_PARAM] = { "param", op_param, 4 },
	[OP_HOTPLUG] = { "hotplug", op_hotplug, 1 },
};

/**
 * op_name() - name of an operation in logs
 */
const char *op_name(enum op_kind kind)
{
	return ops[kind].name;
}

/**
 * cpus() - CPUs that the machine can have
 */
int cpus(void)
{
	static int n;

	if (!n)
		n = sysconf(_SC_NPROCESSORS_CONF);
	return n;
}

/**
 * op_tell() - log what the operation is about to do
 * @w: of this thread
 * @text: as printf()
 */
void op_tell(struct world *w, const char *text, ...)
{
	va_list args;
	int len;

	va_start(args, text);
	len = vsnprintf(w->op + w->op_len, LOG_TEXT - w->op_len, text, args);
	va_end(args);
	w->op_len += len;
	if (w->op_len >= LOG_TEXT)
		w->op_len = LOG_TEXT - 1;
}

/**
 * world_fd() - some descriptor, most often an event's
 */
int world_fd(struct world *w)
{
	if (rng_rarely(&w->rng, 40))
		return RNG_PICK(&w->rng, -1, 0, 1, 2, NODE_FD, SOCKET_FD, EPOLL_FD, 9999, 1 << 30);
	return world_event(w);
}

/**
 * world_event() - an event's descriptor; -1 if there is none
 */
int world_event(struct world *w)
{
	for (int tries = 0; tries < 4; tries++) {
		int fd = w->fd[rng_below(&w->rng, FDS)];

		if (fd >= 0)
			return fd;
	}
	for (int i = 0; i < FDS; i++)
		if (w->fd[i] >= 0)
			return w->fd[i];
	return -1;
}

/**
 * world_keep_fd() - one more descriptor
 *
 * An older one makes room for it.
 */
void world_keep_fd(struct world *w, int fd)
{
	int slot = rng_below(&w->rng, FDS);

	if (fd < 0)
		return;
	if (fd >= OWN_FDS) {
		close(fd);
		return;
	}
	for (int i = 0; i < FDS; i++)
		if (w->fd[i] == fd)
			return;
	if (w->fd[slot] >= 0)
		close(w->fd[slot]);
	w->fd[slot] = fd;
}

static void on_fault(int sig)
{
	struct world *w = this_world;

	if (w && w->armed) {
		w->armed = false;
		siglongjmp(w->escape, 1);
	}
	__atomic_fetch_add(&shared->strays, 1, __ATOMIC_RELAXED);
	if (w)
		dprintf(1, "signal %d: lane %d: %.200s\n", sig, w->lane, w->op);
	signal(sig, SIG_DFL);
}

/**
 * world_access() - an access that may fault
 * @w: of this thread
 * @fn: makes it
 * @at: there
 * @len: so much
 *
 * Return: what @fn returns, -1 with EFAULT if it did not come back
 */
long world_access(struct world *w, access_fn fn, char *at, size_t len)
{
	long got;

	if (sigsetjmp(w->escape, 1)) {
		errno = EFAULT;
		return -1;
	}
	w->armed = true;
	got = fn(w, at, len);
	this_world->armed = false;
	return got;
}

/*
 * An event with a short period and O_ASYNC can raise its next signal before the handler of
 * the last one ends, so that its owner does nothing else. It asked for that, and no more
 * is to be found: after some thousand signals in one operation, no event raises another.
 */
#define SIGNALS_MOST	2000

static void on_signal(int sig)
{
	struct world *w = this_world;
	struct lane *lane;
	int code = errno;

	(void)sig;
	if (!w)
		return;
	lane = &shared->lane[w->lane];
	if (!(__atomic_add_fetch(&lane->signals, 1, __ATOMIC_RELAXED) % SIGNALS_MOST))
		for (int i = 0; i < FDS; i++)
			if (w->fd[i] >= 0)
				fcntl(w->fd[i], F_SETFL, 0);
	errno = code;
}

/**
 * fault_handlers() - survive signals from events and stale mappings
 */
void fault_handlers(void)
{
	struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct sigaction note = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGABRT, &fault, NULL);
	sigaction(SIGIO, &note, NULL);
	sigaction(SIGUSR1, &note, NULL);
	sigaction(SIGTRAP, &note, NULL);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		sigaction(sig, &note, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/**
 * world_init() - a thread begins, with what the caller left in @w
 * @w: descriptors, mappings and rights are kept
 * @seed: from which all follows
 * @lane: its lane
 */
void world_init(struct world *w, uint64_t seed, int lane)
{
	sigset_t none;

	/* a child may inherit fault injection from its parent's operation */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (w->nth && !w->thread)
		close(w->fail_fd);
	w->rng.state = seed;
	w->lane = lane;
	w->armed = false;
	w->nth = 0;
	w->offline = 0;
	w->fail_fd = -1;
	memset(w->kid, 0, sizeof(w->kid));
	shared->lane[lane].pid = getpid();
	shared->lane[lane].tid = syscall(SYS_gettid);
	this_world = w;
}

static enum op_kind choose(struct world *w)
{
	static unsigned int total;
	unsigned int dice;

	if (!total)
		for (int i = 0; i < OP_KINDS; i++)
			total += ops[i].weight;
	dice = rng_below(&w->rng, total);
	for (int i = 0; i < OP_KINDS; i++) {
		if (dice < ops[i].weight)
			return i;
		dice -= ops[i].weight;
	}
	return OP_WORK;
}

/* One operation in fifty loses an allocation or a copy to or from user space. */
static void choose_fault(struct world *w, enum op_kind kind)
{
	w->nth = 0;
	if (!rng_rarely(&w->rng, 50))
		return;
	w->nth = 1 + rng_below(&w->rng, rng_percent(&w->rng, 70) ? 6 : 40);
	/* not what is the kernel's alone, or what a signal may have to come back from */
	if (kind == OP_HOTPLUG || kind == OP_PERF || kind == OP_SPAWN || kind == OP_THREAD ||
	    kind == OP_TOUCH || kind == OP_RDPMC || kind == OP_WORK)
		w->nth = 0;
}

/* A signal that comes meanwhile could lose its frame, which kills. */
static void set_fault(struct world *w)
{
	sigset_t all;
	char text[12];

	if (!w->nth)
		return;
	w->fail_fd = open("/proc/thread-self/fail-nth", O_WRONLY | O_CLOEXEC);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (w->fail_fd >= 0 &&
	    write(w->fail_fd, text, snprintf(text, sizeof(text), "%u", w->nth)) < 0)
		w->fail_fd = -1;
}

static void clear_fault(struct world *w)
{
	sigset_t none;

	if (!w->nth)
		return;
	/* this call may be what loses something */
	if (w->fail_fd >= 0 && write(w->fail_fd, "0", 1) < 0)
		write(w->fail_fd, "0", 1);
	close(w->fail_fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void note_time(enum op_kind kind, uint64_t ns)
{
	/* a lost update is harmless */
	if (ns > shared->slowest_ns[kind])
		shared->slowest_ns[kind] = ns;
}

static void step(struct world *w)
{
	struct lane *lane = &shared->lane[w->lane];
	enum op_kind kind = choose(w);
	uint64_t seq = lane->seq + 1;
	struct log_slot *slot = &lane->page[seq / LOG_SLOTS % LOG_PAGES].slot[seq % LOG_SLOTS];
	int code;
	long got;

	slot->seq = 0;
	w->op = slot->text;
	w->op_len = 0;
	choose_fault(w, kind);
	op_tell(w, "%s", ops[kind].name);
	if (w->nth)
		op_tell(w, " (fail %u)", w->nth);
	slot->seq = seq;
	lane->kind = kind;
	__atomic_store_n(&lane->signals, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&lane->seq, seq, __ATOMIC_RELEASE);
	__atomic_store_n(&lane->since_ns, lane_now(), __ATOMIC_RELEASE);
	set_fault(w);
	got = ops[kind].fn(w);
	code = got < 0 ? errno : 0;
	clear_fault(w);
	note_time(kind, lane_now() - lane->since_ns);
	__atomic_store_n(&lane->since_ns, 0, __ATOMIC_RELEASE);
	op_tell(w, " = %ld%s%s", got, got < 0 ? " " : "", got < 0 ? strerrorname_np(code) : "");
	if (code < 0 || code >= ERRNOS)
		code = ERRNOS - 1;
	__atomic_fetch_add(&shared->results[kind][code], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->family_ops[w->family], 1, __ATOMIC_RELAXED);
}

/**
 * world_run() - run operations
 * @w: of this thread
 * @ops: so many, unless the family has run what it was to run
 */
void world_run(struct world *w, uint64_t ops)
{
	while (ops-- && !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&shared->family_ops[w->family], __ATOMIC_RELAXED) < shared->quota)
		step(w);
}
