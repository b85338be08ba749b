// SPDX-License-Identifier: GPL-2.0
/*
 * The actor: a process that always does the same, so that what events tell of it
 * can be compared. It is the program of the test itself, run anew. Called by
 * sideband.c and sideband_test.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"
#include "tap.h"

#define PAGE		4096UL
/* where the actor says that it is there, and hears that it may begin */
#define GO_FD		99

static void map_and_unmap(size_t length, int prot, int flags, int fd, off_t offset)
{
	void *at = mmap(NULL, length, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		_exit(2);
	munmap(at, length);
}

static void *thread(void *data)
{
	prctl(PR_SET_NAME, "thread");
	*(pid_t *)data = gettid();
	return NULL;
}

/* pthread_join() returns when the thread is about to end; then its end is told. */
static void have_thread(void)
{
	pthread_t other;
	pid_t tid;

	if (pthread_create(&other, NULL, thread, &tid) || pthread_join(other, NULL))
		_exit(2);
	while (!syscall(SYS_tgkill, getpid(), tid, 0))
		usleep(1000);
}

static void mappings(void)
{
	int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int memory = memfd_create("memory", MFD_CLOEXEC);
	void *at;

	if (program < 0 || memory < 0 || ftruncate(memory, 2 * PAGE))
		_exit(2);
	map_and_unmap(PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, program, PAGE);
	map_and_unmap(2 * PAGE, PROT_READ, MAP_SHARED, program, 0);
	map_and_unmap(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, memory, PAGE);
	map_and_unmap(PAGE, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	map_and_unmap(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	map_and_unmap(PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + PAGE, PAGE, PROT_READ | PROT_EXEC) ||
	    sbrk(8 * PAGE) == (void *)-1)
		_exit(2);
}

static void have_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/**
 * actor_main - what the actor does
 * @argc: as main()'s
 * @argv: "actor" and "leaf" as second word have a meaning
 *
 * Return: an exit status; -1: this is not the actor
 */
int actor_main(int argc, char **argv)
{
	char go;

	if (argc == 2 && !strcmp(argv[1], "leaf"))
		return 0;
	if (argc != 2 || strcmp(argv[1], "actor"))
		return -1;
	if (write(GO_FD, "", 1) != 1 || read(GO_FD, &go, 1) != 1)
		return 2;
	mappings();
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_SET_NAME, "fifteen-letters-and-more");
	have_thread();
	have_child();
	execl("/proc/self/exe", "actor", "leaf", NULL);
	return 2;
}

/**
 * actor_start - start the actor, which waits for a byte
 * @go: where that byte has to be written
 *
 * Addresses are the same each time: a comparison needs them.
 *
 * Return: its pid
 */
pid_t actor_start(int *go)
{
	int ends[2];
	pid_t pid;
	char there;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		bail_out("no socket");
	pid = fork();
	if (pid < 0)
		bail_out("no process");
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		dup2(ends[0], GO_FD);
		execl("/proc/self/exe", "actor", "actor", NULL);
		_exit(2);
	}
	close(ends[0]);
	if (read(ends[1], &there, 1) != 1)
		bail_out("the actor does not come");
	*go = ends[1];
	return pid;
}
