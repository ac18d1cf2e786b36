// SPDX-License-Identifier: GPL-2.0-only
#include "base/receive.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "base/monotonic.h"

int receive(int fd, void *bytes, size_t length, int (*wait)(const void *argument), const void *argument)
{
	for (char *at = bytes; length;) {
		int err = wait(argument);
		ssize_t n;

		if (err)
			return err;
		n = read(fd, at, length);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ENODATA;
		at += n > 0 ? n : 0;
		length -= n > 0 ? n : 0;
	}
	return 0;
}

struct until {
	int fd;
	int64_t deadline_ms;
};

int wait_readable_by(int fd, int64_t deadline_ms)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left_ms = deadline_ms - monotonic_ms();
		int n = left_ms > 0 ? poll(&readable, 1, left_ms) : 0;

		if (n > 0)
			return 0;
		if (left_ms <= 0)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int wait_until(const void *argument)
{
	const struct until *until = argument;

	return wait_readable_by(until->fd, until->deadline_ms);
}

int receive_by(int fd, void *bytes, size_t length, int64_t deadline_ms)
{
	const struct until until = { fd, deadline_ms };

	return receive(fd, bytes, length, wait_until, &until);
}
