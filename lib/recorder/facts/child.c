// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/child.h"
#include "base/monotonic.h"
#include "base/namespaces.h"
#include "base/privileges.h"
#include "base/receive.h"

#define ABANDONED_MAX 64      /* children that hang at the same time: the recorder of an hour must not leave more */
#define REPLACED_MAX 8	      /* with so many of them, none is replaced by another at once */
#define PIPE_END STDIN_FILENO /* in the child */

static struct {
	pid_t pid;  /* to be reaped when it comes back, if ever; 0: a free place */
	char *path; /* what it hangs in; NULL: unknown */
} abandoned[ABANDONED_MAX];

static int free_place(void)
{
	int place = 0;

	while (place < ABANDONED_MAX && abandoned[place].pid)
		place++;
	return place;
}

void child_send(const void *bytes, size_t length)
{
	for (const char *at = bytes; length;) {
		ssize_t n = write(PIPE_END, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += n;
		length -= n;
	}
}

/*
 * The child keeps nothing open but its pipe and the socket to the server of namespaces.c: one that hangs must hold
 * neither our BPF links nor the stdout somebody waits to be closed.  A Ctrl-C is meant for the parent, which still
 * wants its facts.
 */
static __attribute__((noreturn)) void run_child(void (*work)(void *argument), void *argument, int fd, pid_t parent)
{
	int unused;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (dup2(fd, PIPE_END) < 0)
		_exit(1);
	unused = namespaces_move(PIPE_END + 1);
	if (close_range(unused, ~0U, 0) || capabilities_keep(OF_FACTS, OF_FACTS))
		_exit(1);
	prctl(PR_SET_NAME, "perfdiag-facts");
	work(argument);
	_exit(0);
}

int child_start(struct child *child, void (*work)(void *argument), void *argument)
{
	pid_t parent = getpid();
	int ends[2];

	if (free_place() == ABANDONED_MAX)
		return -EBUSY;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child->pid = fork();
	if (child->pid == 0)
		run_child(work, argument, ends[1], parent);
	close(ends[1]);
	child->fd = ends[0];
	if (child->pid > 0)
		return 0;
	close(ends[0]);
	return -EAGAIN;
}

bool child_end(struct child *child, const char *path)
{
	int place = free_place();

	close(child->fd);
	kill(child->pid, SIGKILL);
	for (int i = 0; i < 20; i++) {
		if (waitpid(child->pid, NULL, WNOHANG))
			return true;
		poll(NULL, 0, 1);
	}
	abandoned[place].pid = child->pid;
	abandoned[place].path = path ? strdup(path) : NULL;
	return place < REPLACED_MAX;
}

bool child_hangs_in(const char *path)
{
	for (int i = 0; i < ABANDONED_MAX; i++)
		if (abandoned[i].pid && abandoned[i].path && !strcmp(abandoned[i].path, path))
			return true;
	return false;
}

void child_reap(void)
{
	for (int i = 0; i < ABANDONED_MAX; i++) {
		if (abandoned[i].pid && waitpid(abandoned[i].pid, NULL, WNOHANG)) {
			free(abandoned[i].path);
			abandoned[i].path = NULL;
			abandoned[i].pid = 0;
		}
	}
}

/* On a host with a load of 400 a child may just not have had its turn: that is no reason to give it up. */
static bool child_runs(const struct child *child)
{
	char path[64], text[512], *end;
	_cleanup_close_ int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", child->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	end = strrchr(text, ')');
	return end && end[1] && end[2] == 'R';
}

struct awaited {
	const struct child *child;
	const struct patience *patience;
};

static int wait_readable(const void *argument)
{
	const struct awaited *awaited = argument;
	const struct patience *patience = awaited->patience;
	struct pollfd ready = { .fd = awaited->child->fd, .events = POLLIN };

	for (;;) {
		uint64_t now = now_ns();
		int left_ms = now < patience->limit_ns ? (patience->limit_ns - now) / 1000000 : 0, n;

		if (patience->meanwhile)
			patience->meanwhile();
		n = poll(&ready, 1, left_ms < patience->silence_ms ? left_ms : patience->silence_ms);
		if (n > 0)
			return 0;
		if (n == 0 && (left_ms <= patience->silence_ms || !child_runs(awaited->child)))
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

int child_receive(const struct child *child, const struct patience *patience, void *bytes, size_t length)
{
	const struct awaited awaited = { child, patience };

	return receive(child->fd, bytes, length, wait_readable, &awaited);
}
