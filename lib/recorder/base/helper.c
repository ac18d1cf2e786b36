// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "base/helper.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/monotonic.h"

#define HELPER_FD 3
#define REAP_MS 200
#define ABANDONED_MAX 2 /* that hang at the same time: the recorder of an hour must not leave a hundred */

static pid_t abandoned[ABANDONED_MAX]; /* to be reaped when they come back, if ever */

/* A place for one that hangs; NULL: so many do that no other may be started. */
static pid_t *abandoned_place(void)
{
	pid_t *place = NULL;

	for (int i = 0; i < ABANDONED_MAX; i++) {
		if (abandoned[i] && waitpid(abandoned[i], NULL, WNOHANG))
			abandoned[i] = 0;
		if (!abandoned[i])
			place = &abandoned[i];
	}
	return place;
}

/* The recorder's pipes and sockets must end with the recorder, even if this process hangs. */
static int detach(int fd)
{
	int moved = fcntl(fd, F_DUPFD, HELPER_FD + 1); /* out of the way of what follows */
	int null = open("/dev/null", O_RDWR);

	for (int standard = 0; standard < HELPER_FD; standard++)
		if (null < 0 || dup2(null, standard) < 0)
			close(standard);
	if (dup2(moved, HELPER_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, HELPER_FD + 1, ~0U, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return HELPER_FD;
}

/* Under memory pressure this process is the first to go, not the target; set before it reads anything. */
static void offer_to_oom_killer(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return; /* no harm done */
}

int helper_start(struct helper *helper, const struct helper_task *task, const void *argument)
{
	_cleanup_close_ int mine = -1, theirs = -1;
	sigset_t all, before;
	int ends[2], err;
	pid_t child;

	if (!abandoned_place())
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	mine = ends[0];
	theirs = ends[1];
	/* The child must not run the recorder's signal handlers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child = fork();
	if (!child) {
		int fd = detach(theirs);

		offer_to_oom_killer();
		if (capabilities_keep(task->capabilities, task->capabilities))
			_exit(1);
		prctl(PR_SET_NAME, task->name);
		task->run(argument, fd);
		_exit(0);
	}
	err = child < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err)
		*helper = (struct helper){ .pid = child, .fd = take_fd(mine) };
	return err;
}

void helper_end(struct helper *helper)
{
	int64_t deadline = monotonic_ms() + REAP_MS;
	pid_t ended, *place;

	close(helper->fd);
	kill(helper->pid, SIGKILL);
	while ((ended = waitpid(helper->pid, NULL, WNOHANG)) == 0 && monotonic_ms() < deadline)
		usleep(500);
	place = ended ? NULL : abandoned_place();
	if (place)
		*place = helper->pid;
	*helper = (struct helper){ .fd = -1 };
}
