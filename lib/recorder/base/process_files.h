/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading /proc/PID: its maps wait for a lock of the process, so only helpers may. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset, device, inode; /* inode 0: no file */
	bool executable;
	char *path;
};

/* A descriptor of /proc/PID, which is never about a later process of the same number; or -errno. */
int process_open(pid_t pid);
/*
 * Opens for reading what was opened with O_PATH, if it is a regular file, because opening a device can do anything, and
 * of these numbers (0: any).  A descriptor or -errno.
 */
int reopen_regular(int path_fd, uint64_t device, uint64_t inode);
/* A file in there, or NULL. */
FILE *process_file(int process, const char *name);
/* When it was started, in clock ticks since boot; an exec does not change that.  0 or -errno. */
int process_start_ticks(int process, uint64_t *ticks);

/* How many threads it has, from status, which waits for nothing; 0: not known. */
long process_threads(int process);

/* Whether a thread of it is left: one that has ended stays a zombie until its parent asks, its leader until all end. */
bool process_alive(pid_t pid);

/*
 * The thread to ask for what the threads of a process share (maps, fd, root, net): a leader that has ended (its main
 * called pthread_exit) answers with nothing, although the others go on.  The process's own number if it is as good.
 */
pid_t process_speaker(pid_t pid);

/* The process that a thread belongs to; 0: not known. */
pid_t process_of_thread(pid_t tid);

/* One line of maps: "start-end perms offset major:minor inode   path\n".  mapping->path points into line. */
bool mapping_parse(char *line, struct mapping *mapping);
