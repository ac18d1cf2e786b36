/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a recording goes: up to two sinks (a file and the reader of this run).  A sink that fails, say on a full
 * disk, is closed and remembered with its error; the other one goes on.  Lines are whole or absent.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_SINKS 2
#define OUTPUT_STALL_MS 10000 /* a reader that takes nothing for so long is gone */

struct output {
	struct sink {
		int fd;	   /* -1: none */
		int error; /* -errno of the write that ended it */
		const char *name;
	} sinks[OUTPUT_SINKS];
	uint64_t lines, lines_lost;
	char *buffer;
	size_t length, capacity;
};

/* Takes over fd, from an output that is all zeroes at first.  SIGPIPE is ignored from then on. */
int output_add(struct output *output, int fd, const char *name);
/* Adds a newline to data and keeps the line until the buffer is full or flushed.  -EPIPE: no sink is left. */
int output_line(struct output *output, const char *data, size_t length);
/* A sink that takes nothing for OUTPUT_STALL_MS fails with -ETIMEDOUT: nobody can stop the recorder by not reading. */
int output_flush(struct output *output);
/* Flushes, closes the sinks (their errors can still be read) and frees the buffer. */
int output_close(struct output *output);
