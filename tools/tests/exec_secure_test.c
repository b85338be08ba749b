// SPDX-License-Identifier: GPL-2.0
/*
 * Exec of a program that the user may not observe, because it is setuid or unreadable:
 * events opened on the old program end before the new one is loaded, as in perf. The
 * test also races opens with the exec, but this does not detect an open without
 * exec_update_lock.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "door.h"
#include "events.h"
#include "follower.h"
#include "machine.h"
#include "perf_syscall.h"
#include "software.h"
#include "tap.h"

#define NOBODY		65534
#define ATTACKS		3
#define OPENS_MAX	400

static const char path[] = "/tmp/exec_secure_test-program";

static const struct secret {
	mode_t mode;
	const char *what;
} secrets[] = {
	{ 04755, "that is setuid" },
	{ 0711, "that cannot be read" },
};

static bool copy_program(const char *from, mode_t mode)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), "cp -f %s %s", from, path);
	return !system(command) && !chown(path, 0, 0) && !chmod(path, mode);
}

/**
 * struct seen - records of an exec in a ring
 * @exec: the COMM record with the new name was seen
 * @before: page faults before that record
 * @after: page faults after that record
 */
struct seen {
	bool exec;
	unsigned int before;
	unsigned int after;
};

static void see(const struct record *rec, void *data)
{
	struct seen *seen = data;

	if (rec->header.type == PERF_RECORD_COMM)
		seen->exec |= rec->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	if (rec->header.type != PERF_RECORD_SAMPLE)
		return;
	if (seen->exec)
		seen->after++;
	else
		seen->before++;
}

static void become_secret(int go, int told)
{
	if (setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1))
		_exit(5);
	tell(told, 0);
	wait_for_go(go);
	execl(path, "secret", "--end", NULL);
}

/* The addresses of the first faults tell where a program is. */
static void faults_are_not_seen(int (*open)(const struct perf_event_attr *attr, pid_t pid, int cpu),
				const char *whose)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct seen seen = { 0 };
	struct follower follower;
	struct ring ring;
	int fd;

	attr.disabled = 0;
	attr.exclude_kernel = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR;
	attr.comm = 1;
	attr.comm_exec = 1;
	follower_start(&follower, become_secret);
	follower_tells(&follower);
	fd = open(&attr, follower.pid, -1);
	map_ring(&ring, fd, 16);
	follower_go(&follower);
	is(follower_ends(&follower), 0, "%s: an unobservable program runs", whose);
	drain(&ring, see, &seen);
	ok(seen.exec && seen.before, "the exec and the faults before it are recorded");
	is(seen.after, 0, "no fault of the program is recorded");
	ring_unmap(&ring);
	close(fd);
}

/* Return: the largest count of the events that could be opened while it ran */
static uint64_t attack(void)
{
	struct perf_event_attr attr = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct follower follower;
	int fds[OPENS_MAX], n = 0;
	uint64_t most = 0, value;

	attr.disabled = 0;
	attr.inherit = 1;
	follower_start(&follower, become_secret);
	follower_tells(&follower);
	for (int opens = 0; waitpid(follower.pid, NULL, WNOHANG) != follower.pid; opens++) {
		if (n < OPENS_MAX)
			fds[n] = door_open_event(&attr, follower.pid, -1, -1, 0);
		if (n < OPENS_MAX && fds[n] >= 0)
			n++;
		if (opens == 1)
			follower_go(&follower);
	}
	while (n--) {
		value = read_value(fds[n]);
		most = value > most ? value : most;
		close(fds[n]);
	}
	close(follower.go);
	close(follower.tell);
	return most;
}

static int attack_often(void)
{
	uint64_t most;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 5;
	for (int i = 0; i < ATTACKS; i++) {
		most = attack();
		if (!most || most >= SPIN)
			return 1;
	}
	return 0;
}

static void program_is_not_counted(const struct secret *secret)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(attack_often());
	waitpid(pid, &status, 0);
	is(status, 0, "no event of another user counts a program %s", secret->what);
}

int main(int argc, char **argv)
{
	bool pmu;
	int log;

	if (argc == 2 && !strcmp(argv[1], "--end"))
		return 0;
	log = kernel_log_open();
	pmu = pmu_is_there();
	plan(ARRAY_SIZE(secrets) * (2 * 3 + 1) + 2);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		if (!copy_program("/proc/$PPID/exe", secrets[i].mode))
			bail_out("no program");
		faults_are_not_seen(perf_open, "perf");
		faults_are_not_seen(open_event, "pmuring");
		if (pmu && copy_program(spin_path(), secrets[i].mode))
			program_is_not_counted(&secrets[i]);
		else
			skip(1, "no PMU");
	}
	unlink(path);
	is(module_info().events, 0, "no event is left");
	ok(kernel_log_is_clean(log), "the kernel log is clean");
	return done();
}
