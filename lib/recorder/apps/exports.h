/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program exports: found in its file by a confined child, because the file is hostile until shown otherwise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORTS_MAX 4
#define FUNCTIONS_MAX 2
#define MARKS_MAX 4
#define VERSION_BYTES 32

/* What to look for in a program. */
struct exports_wanted {
	const char *names[EXPORTS_MAX];	      /* of data it exports; NULL: no more */
	const char *functions[FUNCTIONS_MAX]; /* likewise of functions */
	const char *marks[MARKS_MAX];	      /* functions that only this program has: without them it is another one */
	const char *version_prefix;	      /* digits and dots behind it are the version; NULL: a text begins there */
	const char *version_suffix;	      /* what must follow them; NULL: anything */
};

/* Addresses as the file has them. */
struct exports {
	uint64_t addresses[EXPORTS_MAX]; /* 0: not exported */
	uint64_t offsets[FUNCTIONS_MAX]; /* of functions, in the file; 0: not exported, or no place to set a probe at */
	uint32_t marks;			 /* those found, as bits */
	uint64_t first_code;		 /* of the first executable segment: /proc/PID/stat tells where that lies */
	char version[VERSION_BYTES];	 /* "" if it has none */
};

/* Whether the program is what its process is called: it exports what only that one has. */
bool exports_has_marks(const struct exports_wanted *wanted, const struct exports *exports);

/*
 * Of the program that a process runs.  0; -ENODATA: no ELF file that could be read to its end; -errno.  *ret_fd is the
 * file that was read, or -1: the process may run another one by now, and nothing that was found holds for that.
 */
int exports_find(pid_t pid, const struct exports_wanted *wanted, struct exports *ret, int *ret_fd,
		 unsigned int deadline_ms);
