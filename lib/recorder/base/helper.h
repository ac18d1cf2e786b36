/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers: forked children that ask what may hang in the kernel.  What they find comes through a socket; they are
 * killed when their time is up, and left behind if even that does not end them.  They end with the recorder.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct helper {
	pid_t pid; /* 0: none */
	int fd;
};

struct helper_task {
	const char *name;
	uint64_t capabilities; /* of the caller's it keeps only these */
	void (*run)(const void *argument, int fd);
};

/*
 * run() has no descriptors but 0 to 2 (/dev/null) and fd, the other end of helper->fd.  0 or -errno, -EBUSY: too many
 * hang.
 */
int helper_start(struct helper *helper, const struct helper_task *task, const void *argument);
/* Kills it. */
void helper_end(struct helper *helper);
