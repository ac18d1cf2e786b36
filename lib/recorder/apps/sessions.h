/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes of PostgreSQL, each with what it published when it was looked at; read by a helper, which may hang. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include "core/records.h"

#define PROGRAMS_MAX 8 /* different ones: versions, clusters */

/* A program file that was recognised, or looked at in vain. */
struct program {
	uint64_t device, inode;
	uint64_t first_code, wait_pointer,
		entry_pointer; /* addresses as the file has them; wait_pointer 0: not exported */
};

struct session {
	pid_t pid;
	__s32 program; /* index; -1: a program not known yet, of which device and inode stand here */
	uint64_t device, inode;
	struct database database;
};

/* Asks about each of the processes; returns how many answered by the deadline, the first ones, or -errno. */
ssize_t sessions_read(const pid_t *pids, size_t count, const struct program *programs, size_t program_count,
		      struct session *ret, unsigned int deadline_ms);
