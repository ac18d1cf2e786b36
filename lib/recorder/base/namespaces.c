// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/namespaces.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/passed_descriptors.h"
#include "base/privileges.h"
#include "base/netlink.h"

#define PASSED_MAX 2 /* a namespace, and where the answer goes: who asked may have been given up, another asks next */

struct answer {
	int error;
	int somaxconn;
	int protocol; /* of the question */
};

static int server = -1;

static int send_with(int to, const struct answer *answer, const int *passed, int count)
{
	return send_with_descriptors(to, answer, sizeof(*answer), passed, count);
}

/* Fills in as many of passed[PASSED_MAX] as came, -1 the rest. */
static int receive_with(int from, struct answer *answer, int *passed)
{
	ssize_t length = receive_with_descriptors(from, answer, sizeof(*answer), passed, PASSED_MAX);

	if (length == sizeof(*answer))
		return 0;
	return length < 0 ? (int)length : -EPIPE;
}

static int own_somaxconn(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
	int limit;

	return file && fscanf(file, "%d", &limit) == 1 ? limit : -1;
}

static int open_socket(int protocol)
{
	return protocol == NETLINK_ROUTE || protocol == NETLINK_SOCK_DIAG ? netlink_open(protocol) : -EPROTONOSUPPORT;
}

static void serve_one(int home, int namespace, int asker, int protocol)
{
	struct answer answer = { .somaxconn = -1 };
	_cleanup_close_ int socket = -1;

	if (setns(namespace, CLONE_NEWNET)) {
		answer.error = errno;
	} else {
		answer.somaxconn = own_somaxconn();
		socket = open_socket(protocol);
		answer.error = socket < 0 ? -socket : 0;
	}
	send_with(asker, &answer, &socket, socket >= 0);
	if (setns(home, CLONE_NEWNET))
		_exit(1); /* rather than keep a namespace alive whose last process may have ended */
}

/* Until the recorder ends. */
static _Noreturn void serve(int askers)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	while (home >= 0) {
		struct answer question;
		int passed[PASSED_MAX], err = receive_with(askers, &question, passed);

		if (err)
			break;
		serve_one(home, passed[0], passed[1], question.protocol);
		for (int i = 0; i < PASSED_MAX; i++)
			close(passed[i]);
	}
	_exit(0);
}

static _Noreturn void become_server(int askers, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The recorder's pipes must end with the recorder. */
	if (getppid() != parent || capabilities_keep(OF_NAMESPACES, OF_NAMESPACES) || dup2(askers, STDIN_FILENO) < 0 ||
	    syscall(SYS_close_range, STDIN_FILENO + 1, ~0U, 0))
		_exit(1);
	prctl(PR_SET_NAME, "perfdiag-netns");
	serve(STDIN_FILENO);
}

void namespaces_start(void)
{
	pid_t parent = getpid(), child;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	child = fork();
	if (!child)
		become_server(ends[1], parent);
	close(ends[1]);
	if (child > 0)
		server = ends[0];
	else
		close(ends[0]);
}

int namespaces_move(int fd)
{
	if (server < 0 || dup2(server, fd) < 0)
		return fd;
	server = fd;
	return fd + 1;
}

static bool is_own(pid_t pid)
{
	struct stat own, other;
	char path[64];

	/* Each namespace has inode numbers of its own for these; asking which it is can wait for an exec. */
	snprintf(path, sizeof(path), "/proc/%d/net/netstat", pid);
	return stat("/proc/self/net/netstat", &own) == 0 && stat(path, &other) == 0 && own.st_ino == other.st_ino;
}

static int ask_server(int namespace, int protocol, int *somaxconn)
{
	_cleanup_close_ int mine = -1, theirs = -1;
	struct answer answer = { .protocol = protocol };
	int ends[2], passed[PASSED_MAX], err;

	if (server < 0)
		return -EPERM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	mine = ends[0];
	theirs = ends[1];
	err = send_with(server, &answer, (int[]){ namespace, theirs }, PASSED_MAX);
	if (err)
		return err;
	close(take_fd(theirs)); /* or its end, should the server have none, would never come */
	err = receive_with(mine, &answer, passed);
	if (err)
		return err;
	*somaxconn = answer.somaxconn;
	return answer.error ? -answer.error : passed[0];
}

int namespaces_socket(pid_t pid, int protocol, bool *own, int *somaxconn)
{
	_cleanup_close_ int there = -1;
	char path[64];

	*somaxconn = -1;
	*own = is_own(pid);
	if (*own) {
		*somaxconn = own_somaxconn();
		return open_socket(protocol);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	there = open(path, O_RDONLY | O_CLOEXEC);
	return there < 0 ? -errno : ask_server(there, protocol, somaxconn);
}
