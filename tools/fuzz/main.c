// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz: random operations on /dev/pmuring, by several processes at once.
 *
 *   fuzz SEED OPERATIONS ROOTS USERS
 *
 * ROOTS workers run as root, USERS as user nobody; each runs its share of the
 * OPERATIONS, counting those of its children and threads. The same seed gives each
 * worker the same random numbers. Started as root, by scripts/fuzz. Prints a
 * summary of operations and results; exit status 1 if an operation did not end, a
 * worker died, or an event was left.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"
#include "pmuring.h"
#include "world.h"

#define NOBODY		65534
/*
 * Of the machine's time: as many instructions, while it computes. The slowest
 * operation takes a tenth of a second, on the debug kernel.
 */
#define LONGEST_NS	8000000000ULL

static int workers;
static pid_t worker_pid[FAMILIES];

static void move_fd(int fd, int to)
{
	if (fd < 0 || dup2(fd, to) != to)
		err(1, "descriptor %d", to);
	close(fd);
}

/*
 * A socket may be passed on like an event, and be read and written as one. O_NONBLOCK
 * does not help, since an operation can clear it.
 */
static void never_wait(int fd)
{
	struct timeval soon = { .tv_usec = 1000 };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)))
		err(1, "times of a socket");
}

/* Each worker has its own; children and what they exec share them. */
static void own_descriptors(void)
{
	int pair[2];

	move_fd(open(PMURING_DEVICE, O_RDWR), NODE_FD);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		err(1, "sockets");
	never_wait(pair[0]);
	never_wait(pair[1]);
	move_fd(pair[0], SOCKET_FD);
	move_fd(pair[1], SOCKET_FD + 1);
	move_fd(epoll_create1(0), EPOLL_FD);
	if (pipe2(pair, O_NONBLOCK))
		err(1, "pipe");
	move_fd(pair[0], EPOLL_FD + 1);
	move_fd(pair[1], EPOLL_FD + 2);
}

static void drop_rights(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		err(1, "cannot become nobody");
	/* otherwise its own files in /proc are not accessible */
	prctl(PR_SET_DUMPABLE, 1);
}

static void __attribute__((noreturn)) worker_main(int family, uint64_t seed, bool root, int lane)
{
	static struct world w;

	own_descriptors();
	if (!root)
		drop_rights();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fault_handlers();
	w.family = family;
	w.root = root;
	w.may_see_kernel = root;
	for (int i = 0; i < FDS; i++)
		w.fd[i] = -1;
	/* far apart, whatever the seed */
	w.rng.state = seed ^ 0x5851f42d4c957f2dULL * (family + 1);
	world_init(&w, rng_next(&w.rng), lane);
	world_run(&w, UINT64_MAX);
	threads_join();
	kids_end(&w);
	machine_restore(&w);
	_exit(0);
}

static void start_worker(uint64_t seed, bool root)
{
	int family = workers++, lane = lane_take(getpid());

	worker_pid[family] = fork();
	if (worker_pid[family] < 0)
		err(1, "fork");
	if (!worker_pid[family])
		worker_main(family, seed, root, lane);
	shared->lane[lane].pid = worker_pid[family];
}

static void show_file(const char *path)
{
	char text[2048];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (got > 0)
		printf("%.*s", (int)got, text);
	close(fd);
}

static void show_hang(int number)
{
	const struct lane *lane = &shared->lane[number];
	const struct log_slot *slot = &lane->page[lane->seq / LOG_SLOTS % LOG_PAGES]
				      .slot[lane->seq % LOG_SLOTS];
	char path[64];

	printf("HANG: lane %d process %d thread %d operation %llu: %s\n", number, lane->pid,
	       lane->tid, (unsigned long long)lane->seq, slot->text);
	snprintf(path, sizeof(path), "/proc/%d/stack", lane->tid);
	show_file(path);
	snprintf(path, sizeof(path), "/proc/%d/status", lane->tid);
	show_file(path);
}

/*
 * A thread that was killed keeps its lane until its process is waited for. One in a pid
 * namespace of its own has a number there that is another's here, below ours.
 */
static bool is_alive(pid_t tid)
{
	char path[64], text[256], *state;
	int fd;
	ssize_t got;

	if (tid < getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	state = strrchr(text, ')');
	return state && !strchr("ZX", state[2]);
}

/* Return: whether an operation has taken too long; not one that handles signals all the time. */
static bool any_hang(void)
{
	static uint64_t seen[LANES];
	uint64_t now = lane_now();
	bool found = false;

	for (int i = 0; i < LANES; i++) {
		struct lane *lane = &shared->lane[i];
		uint64_t since = __atomic_load_n(&lane->since_ns, __ATOMIC_ACQUIRE);
		uint64_t signals = __atomic_load_n(&lane->signals, __ATOMIC_RELAXED);
		bool busy = signals != seen[i];

		seen[i] = signals;
		if (lane->pid && since && since + LONGEST_NS < now && !busy &&
		    is_alive(lane->tid)) {
			show_hang(i);
			found = true;
		}
	}
	return found;
}

static uint64_t total_ops(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < workers; i++)
		sum += __atomic_load_n(&shared->family_ops[i], __ATOMIC_RELAXED);
	return sum;
}

/* Return: number of workers that died before the end of their work; -1 for a hang. */
static int supervise(void)
{
	uint64_t shown = 0, stopped = 0;
	int left = workers, died = 0, status;

	while (left) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			lanes_give_all_of(pid);
			if (status) {
				printf("worker %d ended with status %x\n", pid, status);
				died++;
			}
			continue;
		}
		if (any_hang())
			return -1;
		if (total_ops() >= shown + 50000) {
			shown = total_ops();
			printf("# %llu operations\n", (unsigned long long)shown);
			fflush(stdout);
		}
		/* the loops have ended, and now all they wait for has to */
		if (left < workers && !stopped)
			stopped = lane_now();
		if (stopped && lane_now() > stopped + 40 * LONGEST_NS)
			return -1;
		usleep(200000);
	}
	return died;
}

static void report_kind(int kind)
{
	const uint64_t *results = shared->results[kind];
	uint64_t sum = 0;

	for (int i = 0; i < ERRNOS; i++)
		sum += results[i];
	if (!sum)
		return;
	printf("%-14s %8llu  slowest %7.3f s  ok %llu", op_name(kind), (unsigned long long)sum,
	       shared->slowest_ns[kind] / 1e9, (unsigned long long)results[0]);
	for (int i = 1; i < ERRNOS; i++)
		if (results[i])
			printf(", %s %llu", strerrorname_np(i) ?: "?", (unsigned long long)results[i]);
	printf("\n");
}

/* A kernel worker accounts for child events after the exit of their task. */
static unsigned int events_left(void)
{
	struct pmuring_info info = { .size = sizeof(info) };
	int fd = open(PMURING_DEVICE, O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 100; i++) {
		if (fd < 0 || ioctl(fd, PMURING_IOC_INFO, &info))
			err(1, "INFO");
		if (!info.events)
			break;
		usleep(20000);
	}
	close(fd);
	printf("# nmis %llu samples %llu lost %llu throttled %llu late %llu not inherited %llu\n",
	       (unsigned long long)info.nmis, (unsigned long long)info.samples,
	       (unsigned long long)info.lost, (unsigned long long)info.throttled,
	       (unsigned long long)info.late_nmis, (unsigned long long)info.not_inherited);
	return info.events;
}

static int report(int died)
{
	unsigned int left;

	for (int i = 0; i < OP_KINDS; i++)
		report_kind(i);
	if (shared->strays)
		printf("# %llu faults that no operation expected\n",
		       (unsigned long long)shared->strays);
	left = events_left();
	if (left)
		printf("%u events are left open\n", left);
	printf("total %llu operations, %.1f s of the machine's time\n",
	       (unsigned long long)total_ops(), lane_now() / 1e9);
	return died || left;
}

int main(int argc, char **argv)
{
	struct rlimit files = { 1100, 1100 };
	uint64_t seed, ops;
	int roots, users, died;

	if (argc > 1 && !strcmp(argv[1], "continue"))
		return exec_continue(argc, argv);
	if (argc != 5)
		errx(2, "usage: fuzz SEED OPERATIONS ROOTS USERS");
	seed = strtoull(argv[1], NULL, 0);
	ops = strtoull(argv[2], NULL, 0);
	roots = atoi(argv[3]);
	users = atoi(argv[4]);
	if (roots < 0 || users < 0 || roots + users < 1 || roots + users > FAMILIES)
		errx(2, "1 to %d workers", FAMILIES);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	shared_create(seed);
	shared->quota = ops / (roots + users);
	for (int i = 0; i < roots + users; i++)
		start_worker(seed, i < roots);
	died = supervise();
	if (died < 0)
		return 1;
	return report(died);
}
