// SPDX-License-Identifier: GPL-2.0
/*
 * Events and exec: enable_on_exec, once; remove_on_exec; an exec by a thread that
 * is not the leader; one that fails; one that gains rights. The program that is
 * executed has a known length.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "machine.h"
#include "perf_syscall.h"
#include "tap.h"
#include "workload.h"

/* spin.S */
#define SPIN		20000004ULL
#define ROUNDS		10000
#define NOBODY		65534

static char spin_path[PATH_MAX];
static const char suid_path[] = "/tmp/exec_test-spin";

/* a process that does one thing after the other, when it is told to */
struct actor {
	pid_t pid;
	int go;
	int tell;
};

typedef void (*act)(int go, int tell);

static void wait_for_go(int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(9);
}

static void tell(int fd, pid_t pid)
{
	if (write(fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(8);
}

static void actor_start(struct actor *actor, act fn)
{
	int go[2], told[2];

	if (pipe(go) || pipe(told))
		bail_out("no pipe");
	actor->pid = fork();
	if (!actor->pid) {
		close(go[1]);
		close(told[0]);
		fn(go[0], told[1]);
		_exit(7);
	}
	close(go[0]);
	close(told[1]);
	actor->go = go[1];
	actor->tell = told[0];
}

static void actor_go(const struct actor *actor)
{
	if (write(actor->go, "g", 1) != 1)
		bail_out("the process takes no order");
}

static pid_t actor_tells(const struct actor *actor)
{
	pid_t pid;

	if (read(actor->tell, &pid, sizeof(pid)) != sizeof(pid))
		bail_out("the process tells nothing");
	return pid;
}

static int actor_ends(const struct actor *actor)
{
	int status;

	waitpid(actor->pid, &status, 0);
	close(actor->go);
	close(actor->tell);
	return status;
}

static void spin(void)
{
	execl(spin_path, "spin", NULL);
}

static int revents(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	poll(&pfd, 1, 0);
	return pfd.revents;
}

static void is_spin(uint64_t got, const char *what)
{
	between(got, SPIN, SPIN + machine_slack(SPIN), "%s", what);
}

static struct perf_event_attr on_exec(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);

	attr.enable_on_exec = 1;
	return attr;
}

static void work_and_spin(int go, int told)
{
	(void)told;
	wait_for_go(go);
	work(ROUNDS);
	spin();
}

static void child_spins(int go, int told)
{
	(void)told;
	wait_for_go(go);
	work(ROUNDS);
	if (!fork())
		spin();
	wait(NULL);
	_exit(0);
}

static void enable_on_exec(void)
{
	struct perf_event_attr attr = on_exec();
	struct actor actor;
	int fd, perf;

	actor_start(&actor, work_and_spin);
	fd = open_event(&attr, actor.pid, -1);
	actor_go(&actor);
	is(actor_ends(&actor), 0, "enable_on_exec: the program runs");
	is_spin(read_value(fd), "  counted from its first instruction to its last");
	close(fd);

	actor_start(&actor, work_and_spin);
	perf = perf_open(&attr, actor.pid, -1);
	actor_go(&actor);
	actor_ends(&actor);
	is_spin(read_value(perf), "  as by perf");
	close(perf);

	attr.inherit = 1;
	actor_start(&actor, child_spins);
	fd = open_event(&attr, actor.pid, -1);
	actor_go(&actor);
	actor_ends(&actor);
	is_spin(read_value(fd), "  inherited: the child that execs, its parent does not");
	close(fd);
}

/* main() again, which spins when it is told to */
static void exec_twice(int go, int told)
{
	char go_text[12], told_text[12];

	snprintf(go_text, sizeof(go_text), "%d", go);
	snprintf(told_text, sizeof(told_text), "%d", told);
	wait_for_go(go);
	execl("/proc/self/exe", "exec_test", go_text, told_text, NULL);
}

static void once(void)
{
	struct perf_event_attr attr = on_exec();
	struct actor actor;
	uint64_t value;
	int fd;

	actor_start(&actor, exec_twice);
	fd = open_event(&attr, actor.pid, -1);
	actor_go(&actor);
	actor_tells(&actor);
	switch_event(fd, PERF_EVENT_IOC_DISABLE);
	value = read_value(fd);
	ok(value > 0, "the first exec enables");
	actor_go(&actor);
	is(actor_ends(&actor), 0, "  and the second");
	is(read_value(fd), value, "  does not");
	close(fd);
}

static void fails(int go, int told)
{
	wait_for_go(go);
	execl("/nonexistent", "no", NULL);
	execl("/proc/self/status", "no", NULL);
	execl("/proc", "no", NULL);
	syscall(SYS_execve, spin_path, 8, NULL);
	tell(told, errno);
	wait_for_go(go);
	spin();
}

static void failing(void)
{
	struct perf_event_attr attr = on_exec(), removed = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct actor actor;
	struct ring ring;
	uint64_t value;
	int fd, other;

	removed.remove_on_exec = 1;
	removed.disabled = 0;
	actor_start(&actor, fails);
	fd = open_event(&attr, actor.pid, -1);
	other = open_event(&removed, actor.pid, -1);
	map_ring(&ring, other, 1);
	actor_go(&actor);
	is(actor_tells(&actor), EFAULT, "execs that fail");
	is(read_value(fd), 0, "  do not enable");
	is(revents(other), 0, "  and do not remove");
	value = read_value(other);
	actor_go(&actor);
	is(actor_ends(&actor), 0, "  one that works");
	is_spin(read_value(fd), "  enables");
	is(revents(other), POLLHUP, "  and removes");
	between(read_value(other), value, value + 1000, "  before the first instruction");
	ring_unmap(&ring);
	close(fd);
	close(other);
}

/* Return: what is left of the event after exec */
static uint64_t remove_with(int inherit)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct actor actor;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.remove_on_exec = 1;
	attr.inherit = inherit;
	attr.disabled = 0;
	actor_start(&actor, exec_twice);
	fd = open_event(&attr, actor.pid, 0);
	map_ring(&ring, fd, 1);
	is(revents(fd), 0, "remove_on_exec: before");
	actor_go(&actor);
	actor_tells(&actor);
	is(revents(fd), POLLHUP, "  after: POLLHUP, while the task lives");
	value = read_value(fd);
	ok(value > 0 && value < SPIN, "  the count of the old program is left");
	gives(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "  ENABLE does no harm");
	gives(door_open_event(&attr, actor.pid, 0, fd, 0), ENODEV, "  it leads no group any more");
	actor_go(&actor);
	actor_ends(&actor);
	is(read_value(fd), value, "  and the count stays");
	ring_unmap(&ring);
	close(fd);
	return value;
}

static void remove_on_exec(void)
{
	struct perf_event_attr attr = on_exec();

	attr.remove_on_exec = 1;
	gives(door_open_event(&attr, 0, -1, -1, 0), EINVAL, "remove_on_exec and enable_on_exec");
	remove_with(0);
	remove_with(1);
}

/* the child execs and its copy goes; the parent's event stays */
static void removed_copy(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct actor actor;
	struct ring ring;
	uint64_t value;
	int fd;

	attr.remove_on_exec = 1;
	attr.inherit = 1;
	attr.disabled = 0;
	actor_start(&actor, child_spins);
	fd = open_event(&attr, actor.pid, 0);
	map_ring(&ring, fd, 1);
	actor_go(&actor);
	actor_ends(&actor);
	value = read_value(fd);
	between(value, ROUNDS * WORK_ROUND, SPIN / 2, "a copy is removed by exec, with its count");
	is(revents(fd), POLLHUP, "  and its parent when that ends");
	ring_unmap(&ring);
	close(fd);
}

struct thread {
	int go;
	int told;
};

static void *thread_spins(void *data)
{
	struct thread *thread = data;

	tell(thread->told, gettid());
	wait_for_go(thread->go);
	work(ROUNDS);
	spin();
	_exit(6);
}

static void *thread_waits(void *data)
{
	for (;;)
		work(*(int *)data);
	return NULL;
}

static void threads(int go, int told)
{
	struct thread thread = { go, told };
	pthread_t other, spinner;
	int rounds = ROUNDS;

	pthread_create(&other, NULL, thread_waits, &rounds);
	pthread_create(&spinner, NULL, thread_spins, &thread);
	for (;;)
		pause();
}

static void exec_by_thread(void)
{
	struct perf_event_attr attr = on_exec(), leader = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct actor actor;
	struct ring ring;
	uint64_t value;
	int fds[2];
	pid_t tid;

	leader.disabled = 0;
	actor_start(&actor, threads);
	tid = actor_tells(&actor);
	fds[0] = open_event(&attr, tid, -1);
	fds[1] = open_event(&leader, actor.pid, -1);
	map_ring(&ring, fds[1], 1);
	actor_go(&actor);
	is(actor_ends(&actor), 0, "a thread that is not the leader execs");
	is_spin(read_value(fds[0]), "  its event goes on as the process");
	is(revents(fds[1]), POLLHUP, "  the leader's ends with the leader");
	value = read_value(fds[1]);
	ok(value < SPIN / 2, "  and has nothing of the program");
	ring_unmap(&ring);
	close(fds[0]);
	close(fds[1]);
}

static void become_root(int go, int told)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(5);
	tell(told, 0);
	wait_for_go(go);
	execl(suid_path, "spin", NULL);
}

static bool make_suid(void)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), "cp %s %s", spin_path, suid_path);
	return !system(command) && !chown(suid_path, 0, 0) && !chmod(suid_path, 04755);
}

/* what a program does that has more rights than its user is none of the user's business */
static void gains_rights(int (*open)(const struct perf_event_attr *attr, pid_t pid, int cpu),
			 const char *whose)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct actor actor;
	int fd;

	attr.disabled = 0;
	actor_start(&actor, become_root);
	actor_tells(&actor);
	fd = open(&attr, actor.pid, -1);
	actor_go(&actor);
	is(actor_ends(&actor), 0, "a program that has its owner's rights");
	between(read_value(fd), 1, SPIN / 2, "  %s: is not counted", whose);
	close(fd);
}

int main(int argc, char **argv)
{
	int log = kernel_log_open();

	if (readlink("/proc/self/exe", spin_path, sizeof(spin_path) - 8) < 0)
		bail_out("where am I?");
	strcpy(strrchr(spin_path, '/') + 1, "spin");
	if (argc > 2) {
		tell(atoi(argv[2]), getpid());
		wait_for_go(atoi(argv[1]));
		spin();
		return 1;
	}
	if (!pmu_is_there())
		return skip_all("no PMU");
	plan(4 + 3 + 7 + 1 + 2 * 6 + 2 + 4 + 2 * 2 + 2);
	cpu_pin(0);
	enable_on_exec();
	once();
	failing();
	remove_on_exec();
	removed_copy();
	exec_by_thread();
	if (make_suid()) {
		gains_rights(perf_open, "perf");
		gains_rights(open_event, "pmuring");
	} else {
		skip(4, "no program that gains rights can be made");
	}
	unlink(suid_path);
	sleep_ms(50);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel has nothing to say");
	return done();
}
