// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/capabilities.h"
#include "base/oom_kills.h"
#include "launcher/out_of_memory.h"

#define OOM_SCORE "PERFDIAG_OOM_SCORE"
#define PYTHON_OOM_SCORE "1000"
#define NEEDED_BYTES ((size_t)NEEDED_MEBIBYTES << 20)
#define ROOM_TIMEOUT_MS 1000

const char *offer_to_oom_killer(const char *score)
{
	static char before[16];
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, before, sizeof(before) - 1);

	if (length > 0 && pwrite(fd, score, strlen(score), 0) < 0)
		length = -1;
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return NULL;
	before[length] = '\0';
	return before;
}

void go_first(void)
{
	const char *before = offer_to_oom_killer(PYTHON_OOM_SCORE);

	unsetenv(OOM_SCORE);
	if (before)
		setenv(OOM_SCORE, before, true);
}

/*
 * Whether perfdiag has room: tried by a child that the OOM killer takes before all others, because no figure of the
 * kernel says what all limits together leave.  perfdiag itself must not be what finds out: the memory of its programs
 * is given back late, and meanwhile the kernel would take the target.  Who does not answer in time is no proof.
 */
bool has_room(void)
{
	siginfo_t ended = {};
	struct pollfd fds = { .events = POLLIN };
	pid_t pid = fork();

	if (!pid) {
		if (offer_to_oom_killer(PYTHON_OOM_SCORE))
			mmap(NULL, NEEDED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
			     0);
		_exit(0);
	}
	if (pid < 0)
		return true;
	fds.fd = syscall(SYS_pidfd_open, pid, 0);
	if (fds.fd < 0 || poll(&fds, 1, ROOM_TIMEOUT_MS) != 1)
		kill(pid, SIGKILL);
	else
		waitid(P_PID, pid, &ended, WEXITED | WNOHANG);
	close(fds.fd);
	return ended.si_code != CLD_KILLED || ended.si_status != SIGKILL;
}

/* Waits until Python has ended, and says why if the OOM killer must have done it. */
static void watch(int python, int ended, unsigned long kills_before)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTOU };
	struct pollfd fds = { .fd = python, .events = POLLIN };
	char byte;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN); /* a terminal sends them to everybody: they are Python's business */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (poll(&fds, 1, -1) < 0 && errno == EINTR)
		;
	if (read(ended, &byte, 1) != 1 && oom_kills() > kills_before)
		fprintf(stderr,
			"error: perfdiag was killed: memory is short, and the kernel's OOM killer took it first\n"
			"HINT: give it 80 MiB of room, also in its control group, or wait until there are\n");
}

/*
 * What the OOM killer takes can say nothing itself: a child that stays behind does.  It is no parent, so signals, the
 * terminal and the exit status are Python's own.  Returns the descriptor for ENDED, or -1: then nothing is said.
 */
int start_watcher(void)
{
	int pipe_ends[2], python = syscall(SYS_pidfd_open, getpid(), 0);
	unsigned long kills_before = oom_kills();
	pid_t pid;

	if (python < 0)
		return -1;
	if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK)) {
		close(python);
		return -1;
	}
	pid = fork();
	if (!pid) {
		close(pipe_ends[1]);
		capabilities_keep(0, 0); /* what it does, anybody may */
		/* Stopped, it would stay behind; a change of capabilities resets this. */
		prctl(PR_SET_PDEATHSIG, SIGCONT);
		prctl(PR_SET_NAME, "perfdiag-watch");
		watch(python, pipe_ends[0], kills_before);
		_exit(0);
	}
	close(python);
	close(pipe_ends[0]);
	return pipe_ends[1];
}
