/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is needed to name the addresses of a process after its end: which files it had mapped where.  A helper reads
 * that while the process lives (maps_child.c), because /proc/PID/maps waits for a lock of the target.  It stays, because
 * a fork for each process of a target that makes many would cost ten times as much.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include "core/records.h"
#include "scripts/interpreters.h"

#define LARGEST_MAPS_BYTES (64 * 1024)

struct remembered_maps {
	pid_t pid;		   /* 0: a free place */
	bool reused;		   /* more than one process had this number: nobody knows whose an address is */
	int64_t first_ms, seen_ms; /* met, last met */
	int64_t next_ms, refreshed_ms;
	uint64_t start_ticks; /* of the process: its number alone may be another's later */
	size_t length;
	bool was_asked; /* of `interpreter` nobody has been told yet */
	struct interpreter interpreter;
	char *text; /* executable mappings in the format of /proc/PID/maps, numbers of files as stat() has them */
};

/* Asks anew for these processes and takes all answers that come within the deadline. */
void remembered_maps_refresh(const pid_t *pids, size_t count, unsigned int deadline_ms);
/* NULL: not met. */
const struct remembered_maps *remembered_maps_find(pid_t pid);
/* The nth of the processes that are known, in no particular order; 0: there are no more. */
pid_t remembered_maps_pid(size_t n);

bool remembered_maps_reads_memory(void); /* as user_symbols_read_memory() was told */
/* Asks for the name of a script's function (scripts/interpreters.h); the answer goes to script_names_take(). */
bool remembered_maps_ask_name(pid_t pid, uint64_t code); /* false: not now */

/* What the helper is asked: what a process has mapped, or the name of what is at `code` in its memory. */
struct maps_question {
	pid_t pid;
	uint32_t padding;
	uint64_t code; /* 0: what it has mapped */
};

/* It answers each with this, and length bytes of text. */
struct maps_record {
	pid_t pid;
	uint32_t length;		     /* 0: it has ended, or has no memory of its own; no name */
	uint32_t unasked;		     /* sent on the helper's own account */
	uint32_t no_function;		     /* at `code` */
	uint64_t code;			     /* as in the question */
	uint64_t start_ticks;		     /* of the process */
	struct interpreter interpreter;	     /* root 0: it is none that is known */
	char script_file[SCRIPT_FILE_BYTES]; /* the interpreter's; "": it is none */
};

/* argument: a bool, whether to look for interpreters of scripts. */
void maps_child(const void *argument, int fd);
