/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resources that end with their scope: `_cleanup_free_ char *text = NULL;`.  Always initialise such a variable.
 */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

/* A descriptor below 0 is none.  errno stays: a failed step's reason is often read after this. */
static inline void cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE **file)
{
	int saved = errno;

	if (*file)
		fclose(*file);
	errno = saved;
}

static inline void cleanup_closedir(DIR **directory)
{
	int saved = errno;

	if (*directory)
		closedir(*directory);
	errno = saved;
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))
#define _cleanup_closedir_ __attribute__((cleanup(cleanup_closedir)))

/* Hands the pointer or descriptor over to somebody else: the scope no longer ends it. */
#define take_pointer(pointer)                                                                                          \
	({                                                                                                             \
		__typeof__(pointer) taken_ = (pointer);                                                                \
		(pointer) = NULL;                                                                                      \
		taken_;                                                                                                \
	})
#define take_fd(fd)                                                                                                    \
	({                                                                                                             \
		int taken_ = (fd);                                                                                     \
		(fd) = -1;                                                                                             \
		taken_;                                                                                                \
	})
