/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors 0 to 2, which whoever starts us may have closed: then the next file opened would take their place. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static inline bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static inline void explain_closed_output(void)
{
	fprintf(stderr, "error: standard output is closed\nHINT: if nobody is to read it: >/dev/null\n");
}

/* Standard output is opened for reading: what is written to it fails, as it would have. */
static inline int open_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (is_closed(fd) && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			return -errno;
	return 0;
}
