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

#define SETTINGS "/proc/sys/net/"

struct question {
	int protocol;	  /* of a socket */
	char setting[64]; /* or "ipv4/tcp_sack" */
};

struct answer {
	int error;
	int somaxconn;
};

static int server = -1;

/* Fills in as many of passed[PASSED_MAX] as came, -1 the rest. */
static int receive_with(int from, void *message, size_t size, int *passed)
{
	ssize_t length = receive_with_descriptors(from, message, size, passed, PASSED_MAX);

	if (length == (ssize_t)size)
		return 0;
	return length < 0 ? (int)length : -EPIPE;
}

static int own_somaxconn(void)
{
	_cleanup_fclose_ FILE *file = fopen(SETTINGS "core/somaxconn", "re");
	int limit;

	return file && fscanf(file, "%d", &limit) == 1 ? limit : -1;
}

static int open_socket(int protocol)
{
	return protocol == NETLINK_ROUTE || protocol == NETLINK_SOCK_DIAG ? netlink_open(protocol) : -EPROTONOSUPPORT;
}

static int open_setting(const char *setting)
{
	char path[sizeof(SETTINGS) + sizeof(((struct question *)NULL)->setting)];
	int fd;

	if (strstr(setting, ".."))
		return -EINVAL;
	snprintf(path, sizeof(path), SETTINGS "%s", setting);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void serve_one(int home, int namespace, int asker, const struct question *question)
{
	struct answer answer = { .somaxconn = -1 };
	_cleanup_close_ int found = -1;

	if (setns(namespace, CLONE_NEWNET)) {
		answer.error = errno;
	} else {
		answer.somaxconn = own_somaxconn();
		found = question->setting[0] ? open_setting(question->setting) : open_socket(question->protocol);
		answer.error = found < 0 ? -found : 0;
	}
	send_with_descriptors(asker, &answer, sizeof(answer), &found, found >= 0);
	if (setns(home, CLONE_NEWNET))
		_exit(1); /* rather than keep a namespace alive whose last process may have ended */
}

/* Until the recorder ends. */
static _Noreturn void serve(int askers)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	while (home >= 0) {
		struct question question;
		int passed[PASSED_MAX], err = receive_with(askers, &question, sizeof(question), passed);

		if (err)
			break;
		question.setting[sizeof(question.setting) - 1] = '\0';
		serve_one(home, passed[0], passed[1], &question);
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

bool namespaces_is_own(pid_t pid)
{
	struct stat own, other;
	char path[64];

	/* Each namespace has inode numbers of its own for these; asking which it is can wait for an exec. */
	snprintf(path, sizeof(path), "/proc/%d/net/netstat", pid);
	return stat("/proc/self/net/netstat", &own) == 0 && stat(path, &other) == 0 && own.st_ino == other.st_ino;
}

static int ask_server(int namespace, const struct question *question, int *somaxconn)
{
	_cleanup_close_ int mine = -1, theirs = -1;
	struct answer answer;
	int ends[2], passed[PASSED_MAX], err;

	if (server < 0)
		return -EPERM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	mine = ends[0];
	theirs = ends[1];
	err = send_with_descriptors(server, question, sizeof(*question), (int[]){ namespace, theirs }, PASSED_MAX);
	if (err)
		return err;
	close(take_fd(theirs)); /* or its end, should the server have none, would never come */
	err = receive_with(mine, &answer, sizeof(answer), passed);
	if (err)
		return err;
	*somaxconn = answer.somaxconn;
	return answer.error ? -answer.error : passed[0];
}

static int ask_in(pid_t pid, const struct question *question, int *somaxconn)
{
	_cleanup_close_ int there = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (there < 0)
		return errno == ENOENT ? -ESRCH : -errno; /* -ENOENT is that of what was asked for */
	return ask_server(there, question, somaxconn);
}

int namespaces_socket(pid_t pid, int protocol, bool *own, int *somaxconn)
{
	const struct question question = { .protocol = protocol };

	*somaxconn = -1;
	*own = namespaces_is_own(pid);
	if (*own) {
		*somaxconn = own_somaxconn();
		return open_socket(protocol);
	}
	return ask_in(pid, &question, somaxconn);
}

int namespaces_setting(pid_t pid, const char *setting)
{
	struct question question = {};
	int somaxconn;

	if (strlen(setting) >= sizeof(question.setting))
		return -ENAMETOOLONG;
	memcpy(question.setting, setting, strlen(setting));
	return ask_in(pid, &question, &somaxconn);
}
