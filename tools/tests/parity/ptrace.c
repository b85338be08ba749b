// SPDX-License-Identifier: GPL-2.0
/*
 * Permission on another task: each kind of caller opens an event on each kind of
 * target. perf uses the kernel's ptrace check here, which compares user IDs,
 * capabilities and user namespaces, and tests whether the target is dumpable.
 *
 * The targets wait in separate processes. Some run a copy of this program with --wait,
 * for states that only an exec can create.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

/* Copies of this program: one set-user-ID, one that only root may read. */
#define PROGRAM_SETUID		"/parity-setuid"
#define PROGRAM_UNREADABLE	"/parity-unreadable"

#define CAP(name)	(1ULL << CAP_##name)
#define CAPS_ALL	((1ULL << (CAP_LAST_CAP + 1)) - 1)

static void must(long result, const char *what)
{
	if (result)
		give_up("%s: %s", what, error_name(-1));
}

static void set_ids(uid_t real, uid_t effective, uid_t saved)
{
	must(prctl(PR_SET_KEEPCAPS, 1), "KEEPCAPS");
	must(setgroups(0, NULL), "setgroups");
	must(setresgid(NOBODY, NOBODY, NOBODY), "setresgid");
	must(setresuid(real, effective, saved), "setresuid");
	must(prctl(PR_SET_DUMPABLE, 1), "DUMPABLE");
}

static void set_caps(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ effective, permitted, inheritable },
		{ effective >> 32, permitted >> 32, inheritable >> 32 },
	};

	must(syscall(SYS_capset, &header, data), "capset");
	must(prctl(PR_SET_DUMPABLE, 1), "DUMPABLE");
}

static void nobody_with_caps(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	set_ids(NOBODY, NOBODY, NOBODY);
	set_caps(effective, permitted, inheritable);
}

static void write_word(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%s", word) < 0)
		give_up("%s: %s", path, error_name(-1));
	close(fd);
}

/* Its own user is mapped there, and may enter a further one. */
static void enter_user_namespace(void)
{
	uid_t user = geteuid();
	gid_t group = getegid();
	char map[60];

	must(unshare(CLONE_NEWUSER), "CLONE_NEWUSER");
	must(prctl(PR_SET_DUMPABLE, 1), "DUMPABLE");
	snprintf(map, sizeof(map), "%u %u 1", user, user);
	write_word("/proc/self/uid_map", map);
	write_word("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", group, group);
	write_word("/proc/self/gid_map", map);
}

/* What callers and targets can be */

static void plain(void)
{
	nobody_with_caps(0, 0, 0);
}

static void root(void)
{
}

static void root_no_caps(void)
{
	set_caps(0, 0, 0);
}

static void with_net_raw(void)
{
	nobody_with_caps(CAP(NET_RAW), CAP(NET_RAW), 0);
}

static void ambient_net_raw(void)
{
	nobody_with_caps(CAP(NET_RAW), CAP(NET_RAW), CAP(NET_RAW));
	must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0), "ambient");
}

static void in_user_namespace(void)
{
	plain();
	enter_user_namespace();
}

/* Without a mapped user, since some callers may not map one. */
static void in_bare_user_namespace(void)
{
	must(unshare(CLONE_NEWUSER), "CLONE_NEWUSER");
	must(prctl(PR_SET_DUMPABLE, 1), "DUMPABLE");
}

static void root_in_user_namespace(void)
{
	enter_user_namespace();
}

static void other_user(void)
{
	set_ids(NOBODY + 1, NOBODY + 1, NOBODY + 1);
	set_caps(0, 0, 0);
}

/* Callers only */

static void net_raw_not_effective(void)
{
	nobody_with_caps(0, CAP(NET_RAW), 0);
}

static void ptrace(void)
{
	nobody_with_caps(CAP(SYS_PTRACE), CAP(SYS_PTRACE), 0);
}

static void ptrace_not_effective(void)
{
	nobody_with_caps(0, CAP(SYS_PTRACE), 0);
}

static void perfmon(void)
{
	nobody_with_caps(CAP(PERFMON), CAP(PERFMON), 0);
}

static void perfmon_not_effective(void)
{
	nobody_with_caps(0, CAP(PERFMON), 0);
}

static void root_not_effective(void)
{
	set_caps(0, CAPS_ALL, 0);
}

static void root_ptrace(void)
{
	set_caps(CAP(SYS_PTRACE), CAP(SYS_PTRACE), 0);
}

/* perf compares with the caller's real user ID. */
static void effective_nobody(void)
{
	set_ids(0, NOBODY, 0);
	set_caps(0, CAPS_ALL, 0);
}

static void really_nobody(void)
{
	set_ids(NOBODY, 0, 0);
	set_caps(0, 0, 0);
}

/* Targets only */

static void undumpable(void)
{
	plain();
	must(prctl(PR_SET_DUMPABLE, 0), "DUMPABLE");
}

static void inheritable_net_raw(void)
{
	nobody_with_caps(0, 0, CAP(NET_RAW));
}

static void permitted_net_raw(void)
{
	nobody_with_caps(0, CAP(NET_RAW), 0);
}

static void effective_root(void)
{
	set_ids(NOBODY, 0, NOBODY);
	set_caps(0, 0, 0);
}

static void saved_root(void)
{
	set_ids(NOBODY, NOBODY, 0);
	set_caps(0, 0, 0);
}

static void group_root(void)
{
	must(setresgid(NOBODY, 0, NOBODY), "setresgid");
	must(setresuid(NOBODY, NOBODY, NOBODY), "setresuid");
	set_caps(0, 0, 0);
}

static void run_waiting(const char *path)
{
	execle(path, path, "--wait", NULL, &(char *){ NULL });
	give_up("exec of %s: %s", path, error_name(-1));
}

static void run_setuid(void)
{
	plain();
	run_waiting(PROGRAM_SETUID);
}

static void run_unreadable(void)
{
	plain();
	run_waiting(PROGRAM_UNREADABLE);
}

/* Its memory belongs to the new namespace, too. */
static void run_in_user_namespace(void)
{
	in_user_namespace();
	run_waiting("/proc/self/exe");
}

/* Its memory belongs to the first namespace, where the file can be read. */
static void run_unreadable_in_user_namespace(void)
{
	in_user_namespace();
	run_waiting(PROGRAM_UNREADABLE);
}

struct role {
	const char *name;
	void (*become)(void);
};

static const struct role callers[] = {
	{ "nobody", plain },
	{ "other-user", other_user },
	{ "net-raw", with_net_raw },
	{ "net-raw-not-effective", net_raw_not_effective },
	{ "ambient", ambient_net_raw },
	{ "ptrace", ptrace },
	{ "ptrace-not-effective", ptrace_not_effective },
	{ "perfmon", perfmon },
	{ "perfmon-not-effective", perfmon_not_effective },
	{ "userns", in_user_namespace },
	{ "root", root },
	{ "root-no-caps", root_no_caps },
	{ "root-not-effective", root_not_effective },
	{ "root-ptrace", root_ptrace },
	{ "root-userns", root_in_user_namespace },
	{ "effective-nobody", effective_nobody },
	{ "really-nobody", really_nobody },
};

/* where a target is, and when it starts */
enum { HERE, PID_NAMESPACE, CHILD_OF_CALLER };

static const struct target {
	struct role role;
	int where;
	pid_t pid;
} targets[] = {
	{ { "nobody", plain }, HERE, 0 },
	{ { "undumpable", undumpable }, HERE, 0 },
	{ { "net-raw", with_net_raw }, HERE, 0 },
	{ { "net-raw-permitted", permitted_net_raw }, HERE, 0 },
	{ { "net-raw-inheritable", inheritable_net_raw }, HERE, 0 },
	{ { "ambient", ambient_net_raw }, HERE, 0 },
	{ { "root", root }, HERE, 0 },
	{ { "root-no-caps", root_no_caps }, HERE, 0 },
	{ { "effective-root", effective_root }, HERE, 0 },
	{ { "saved-root", saved_root }, HERE, 0 },
	{ { "group-root", group_root }, HERE, 0 },
	{ { "userns", in_user_namespace }, HERE, 0 },
	{ { "userns-exec", run_in_user_namespace }, HERE, 0 },
	{ { "userns-unreadable", run_unreadable_in_user_namespace }, HERE, 0 },
	{ { "root-userns", root_in_user_namespace }, HERE, 0 },
	{ { "pidns", plain }, PID_NAMESPACE, 0 },
	{ { "container", in_user_namespace }, PID_NAMESPACE, 0 },
	{ { "root-container", root_in_user_namespace }, PID_NAMESPACE, 0 },
	{ { "setuid", run_setuid }, HERE, 0 },
	{ { "unreadable", run_unreadable }, HERE, 0 },
	{ { "child", root }, CHILD_OF_CALLER, 0 },
	{ { "child-userns", in_bare_user_namespace }, CHILD_OF_CALLER, 0 },
	{ { "init", NULL }, HERE, 1 },
	{ { "kthread", NULL }, HERE, 2 },
};

struct pair {
	const struct role *caller;
	const struct target *target;
};

/**
 * wait_as_target - report on stdout that the target is ready, and wait to be killed
 */
void wait_as_target(void)
{
	if (write(STDOUT_FILENO, "\n", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t start(const struct target *target)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (!target->role.become)
		return target->pid;
	if (target->where == PID_NAMESPACE)
		must(unshare(CLONE_NEWPID), "CLONE_NEWPID");
	must(pipe2(ready, O_CLOEXEC), "pipe");
	pid = fork();
	if (!pid) {
		dup2(ready[1], STDOUT_FILENO);
		close(ready[0]);
		target->role.become();
		wait_as_target();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		give_up("no target");
	return pid;
}

static void attempt(const void *arg)
{
	const struct pair *pair = arg;
	struct perf_event_attr attr = instructions();
	bool later = pair->target->where == CHILD_OF_CALLER;
	pid_t pid = later ? 0 : start(pair->target);

	pair->caller->become();
	if (later)
		pid = start(pair->target);
	say_result("open", try_open(&attr, pid, -1, -1, 0));
}

/* A thread of the caller's process is always accessible. */
static pid_t thread_id;
static pthread_barrier_t thread_ready;

static void *run_as_root(void *unused)
{
	thread_id = gettid();
	pthread_barrier_wait(&thread_ready);
	pause();
	return unused;
}

static void thread_of_root(void)
{
	struct perf_event_attr attr = instructions();
	pthread_t thread;

	pthread_barrier_init(&thread_ready, NULL, 2);
	must(pthread_create(&thread, NULL, run_as_root, NULL), "thread");
	pthread_barrier_wait(&thread_ready);
	/* the system call, since the library would change all threads */
	must(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY), "setresuid");
	must(prctl(PR_SET_DUMPABLE, 0), "DUMPABLE");
	say_result("open", try_open(&attr, thread_id, -1, -1, 0));
}

/* The check uses the current capabilities of a task. */
static void target_gains_rights(void)
{
	struct perf_event_attr attr = instructions();
	struct target net_raw = { { "net-raw", with_net_raw }, HERE, 0 };
	struct target nobody = { { "nobody", plain }, HERE, 0 };
	pid_t strong = start(&net_raw), weak = start(&nobody);

	with_net_raw();
	say_result("weak", try_open(&attr, weak, -1, -1, 0));
	say_result("strong", try_open(&attr, strong, -1, -1, 0));
	set_caps(0, 0, 0);
	say_result("weak", try_open(&attr, weak, -1, -1, 0));
	say_result("strong", try_open(&attr, strong, -1, -1, 0));
}

static void open_zombie(void (*become)(void))
{
	struct perf_event_attr attr = instructions();
	pid_t pid = fork();
	siginfo_t info;

	if (!pid) {
		become();
		_exit(0);
	}
	must(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), "waitid");
	plain();
	say_result("open", try_open(&attr, pid, -1, -1, 0));
}

static void zombie(void)
{
	open_zombie(plain);
}

static void zombie_undumpable(void)
{
	open_zombie(undumpable);
}

static void zombie_root(void)
{
	open_zombie(root);
}

/* Not in every installed header: struct landlock_ruleset_attr of version 1. */
#define RIGHT_MAKE_FIFO	(1ULL << 10)

/* A security module's rule: a Landlock domain cannot trace a task outside of it. */
static void landlock(void)
{
	struct perf_event_attr attr = instructions();
	struct target nobody = { { "nobody", plain }, HERE, 0 };
	uint64_t handled = RIGHT_MAKE_FIFO;
	pid_t outside = start(&nobody);
	long ruleset;

	plain();
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "NO_NEW_PRIVS");
	ruleset = syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (ruleset < 0)
		give_up("landlock: %s", error_name(ruleset));
	must(syscall(SYS_landlock_restrict_self, ruleset, 0), "landlock_restrict_self");
	say_result("self", try_open(&attr, 0, -1, -1, 0));
	say_result("outside", try_open(&attr, outside, -1, -1, 0));
}

static const struct simple_case simple[] = {
	{ "thread-of-root", thread_of_root },
	{ "target-gains-rights", target_gains_rights },
	{ "zombie", zombie },
	{ "zombie-undumpable", zombie_undumpable },
	{ "zombie-root", zombie_root },
	{ "landlock", landlock },
};

static void install_copy(const char *path, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	struct stat status;

	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (from < 0 || to < 0 || fstat(from, &status) ||
	    sendfile(to, from, NULL, status.st_size) != status.st_size || fchmod(to, mode))
		perror(path);
	close(from);
	close(to);
}

/**
 * theme_ptrace - permission on other tasks
 */
void theme_ptrace(void)
{
	struct pair pair;
	char name[80];

	install_copy(PROGRAM_SETUID, 04755);
	install_copy(PROGRAM_UNREADABLE, 0711);
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		for (size_t j = 0; j < ARRAY_SIZE(targets); j++) {
			pair = (struct pair){ &callers[i], &targets[j] };
			snprintf(name, sizeof(name), "%s-to-%s", callers[i].name,
				 targets[j].role.name);
			run_case("ptrace", name, attempt, &pair);
		}
	run_simple("ptrace", simple, ARRAY_SIZE(simple));
	unlink(PROGRAM_SETUID);
	unlink(PROGRAM_UNREADABLE);
}
