/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Children that may hang for ever.  They send bytes through a pipe, and are never waited for longer than allowed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int fd;
};

struct patience {
	uint64_t limit_ns;	 /* of CLOCK_MONOTONIC */
	int silence_ms;		 /* without a word, from a child that is not running */
	void (*meanwhile)(void); /* called now and then; NULL: nothing */
};

/* Runs work(argument) in a child that may use nothing but child_send() and dies with us; -EBUSY: too many hang. */
int child_start(struct child *child, void (*work)(void *argument), void *argument);
void child_send(const void *bytes, size_t length); /* called in the child; ends it if nobody listens */
/* Receives exactly length bytes: 0, -ETIMEDOUT, -ENODATA (the child has ended) or another error. */
int child_receive(const struct child *child, const struct patience *patience, void *bytes, size_t length);
/* Ends a child, or abandons one that cannot end, in this path; false: so many hang that it is not to be replaced. */
bool child_end(struct child *child, const char *path);
/* Whether a child has been abandoned in this path: another would hang there, too.  Children know it as well. */
bool child_hangs_in(const char *path);
/* Forgets the abandoned children that have ended since. */
void child_reap(void);
