/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that a script saw nothing of.  Most engines see who is switched: a thread that slept through the whole window
 * is in no line of theirs.  /proc knows it at both ends of the window, and whether it ran between them.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "output/output.h"

struct unseen {
	uint64_t asleep; /* all along: they have lines */
	uint64_t other;	 /* what they did is not known */
};

/* Who is there when the window begins. */
void script_sleepers_begin(pid_t pid);
/* A line of a thread that the script has printed. */
void script_sleepers_seen(const char *line, size_t length);
/* Who is there when the window ends, and what for: before anything makes them run. */
void script_sleepers_end(pid_t pid);
/*
 * Adds a line for each that slept from start_ns to end_ns.  0; -ENODATA: /proc did not tell all, so nothing is known and
 * no line is added; -errno of the output.
 */
int script_sleepers_write(struct output *output, pid_t pid, uint64_t start_ns, uint64_t end_ns, struct unseen *unseen);
