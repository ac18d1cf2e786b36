/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors 0 to 2, which whoever starts us may have closed: then the next file opened would take their place. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static inline bool is_writable(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static inline void explain_closed_output(void)
{
	fprintf(stderr,
		"error: standard output is closed, or open for reading only\nHINT: if nobody is to read it: >/dev/null\n");
}

/* Python does not start with one as its input. */
static inline bool is_directory(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISDIR(status.st_mode);
}

/* Input is opened for writing and output for reading: to read, or to write, fails as it would have. */
static inline int open_standard_descriptors(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };

	if (is_directory(STDIN_FILENO))
		close(STDIN_FILENO);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (is_closed(fd) && open("/dev/null", modes[fd]) < 0)
			return -errno;
	return 0;
}
