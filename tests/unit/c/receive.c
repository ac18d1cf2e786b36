// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: base/receive.c */
/* What a child sends is received whole, by the deadline, or not at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "base/receive.h"
#include "check.h"

/* A child that writes each part a moment after the one before; it stays until it is ended if it hangs. */
static pid_t start(const char *const *parts, bool hangs, int *fd)
{
	int ends[2];
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child) {
		close(ends[0]);
		for (; *parts; parts++) {
			usleep(20000);
			if (write(ends[1], *parts, strlen(*parts)) < 0)
				_exit(1);
		}
		while (hangs)
			pause();
		_exit(0);
	}
	close(ends[1]);
	*fd = ends[0];
	return child;
}

static int received(const char *const *parts, bool hangs, char text[16], int64_t patience_ms)
{
	int fd, err, status;
	pid_t child = start(parts, hangs, &fd);

	memset(text, 0, 16);
	err = receive_by(fd, text, 6, monotonic_ms() + patience_ms);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(fd);
	return err;
}

static const char *const SLOWLY[] = { "a", "bcd", "ef", NULL };
static const char *const SHORT[] = { "abc", NULL };
static const char *const MORE[] = { "abcdefgh", NULL };

static void parts_are_put_together(void)
{
	char text[16];

	CHECK_NUMBER(received(SLOWLY, false, text, PATIENCE_MS), 0);
	CHECK_TEXT(text, "abcdef");
	CHECK_NUMBER(received(MORE, true, text, PATIENCE_MS), 0);
	CHECK_TEXT(text, "abcdef");
}

static void less_than_all_is_nothing(void)
{
	char text[16];

	CHECK_NUMBER(received(SHORT, false, text, PATIENCE_MS), -ENODATA);
	CHECK_NUMBER(received(SHORT, true, text, 100), -ETIMEDOUT);
	CHECK_NUMBER(received(SLOWLY, false, text, 0), -ETIMEDOUT);
}

static void nothing(int signal)
{
	(void)signal;
}

static void a_signal_does_not_end_it(void)
{
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = {};
	const struct sigaction interrupting = { .sa_handler = nothing };
	char text[16];

	sigaction(SIGALRM, &interrupting, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK_NUMBER(received(SLOWLY, false, text, PATIENCE_MS), 0);
	CHECK_TEXT(text, "abcdef");
	CHECK_NUMBER(received(SHORT, true, text, 100), -ETIMEDOUT);
	setitimer(ITIMER_REAL, &never, NULL);
}

int main(void)
{
	RUN(parts_are_put_together);
	RUN(less_than_all_is_nothing);
	RUN(a_signal_does_not_end_it);
	return check_result();
}
