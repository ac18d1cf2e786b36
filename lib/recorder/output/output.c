// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "output/output.h"

#define BUFFER_BYTES (64 * 1024)

static bool is_open(const struct sink *sink)
{
	return sink->name && sink->fd >= 0;
}

static bool any_open(const struct output *output)
{
	for (int i = 0; i < OUTPUT_SINKS; i++)
		if (is_open(&output->sinks[i]))
			return true;
	return false;
}

static int wait_writable(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	int64_t deadline = monotonic_ms() + OUTPUT_STALL_MS;

	for (;;) {
		int64_t left = deadline - monotonic_ms();
		int n = poll(&ready, 1, left > 0 ? left : 0);

		if (n > 0)
			return 0; /* an error of the descriptor is told by write() */
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/*
 * Writes all of data; *written tells how far it came.  At most PIPE_BUF at a time after poll(), because only that
 * much is sure not to block on a pipe that others do not fill: a stopped reader must not stop the recorder for ever.
 */
static int write_all(int fd, const char *data, size_t length, size_t *written)
{
	*written = 0;
	while (*written < length) {
		size_t left = length - *written;
		ssize_t n;
		int err = wait_writable(fd);

		if (err)
			return err;
		n = write(fd, data + *written, left < PIPE_BUF ? left : PIPE_BUF);
		if (n > 0)
			*written += n;
		else if (n == 0)
			return -EIO;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

/* Takes a half-written last line back.  Possible on a regular file only; a pipe's reader sees a line without end. */
static void trim(int fd, size_t bytes)
{
	struct stat status;
	off_t end;

	if (!bytes || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return;
	end = lseek(fd, 0, SEEK_CUR);
	if (end >= (off_t)bytes && ftruncate(fd, end - bytes) == 0)
		lseek(fd, end - bytes, SEEK_SET);
}

static void sink_write(struct sink *sink, const char *data, size_t length)
{
	const char *line_end;
	size_t written, whole;
	int err = write_all(sink->fd, data, length, &written);

	line_end = memrchr(data, '\n', written);
	whole = line_end ? line_end + 1 - data : 0;
	if (!err)
		return;
	trim(sink->fd, written - whole);
	sink->error = err;
	if (sink->fd > STDERR_FILENO) /* a standard descriptor would be handed out again by the next open() */
		close(sink->fd);
	sink->fd = -1;
}

int output_add(struct output *output, int fd, const char *name)
{
	if (fd < 0 || !name)
		return -EINVAL;
	if (!output->buffer) {
		output->buffer = malloc(BUFFER_BYTES);
		if (!output->buffer)
			return -ENOMEM;
		output->capacity = BUFFER_BYTES;
		signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of one sink, not our end */
	}
	for (int i = 0; i < OUTPUT_SINKS; i++) {
		if (output->sinks[i].name)
			continue;
		output->sinks[i] = (struct sink){ .fd = fd, .name = name };
		return 0;
	}
	return -ENOSPC;
}

int output_flush(struct output *output)
{
	for (int i = 0; i < OUTPUT_SINKS && output->length; i++)
		if (is_open(&output->sinks[i]))
			sink_write(&output->sinks[i], output->buffer, output->length);
	output->length = 0;
	return any_open(output) ? 0 : -EPIPE;
}

int output_line(struct output *output, const char *data, size_t length)
{
	if (!any_open(output)) {
		output->lines_lost++;
		return -EPIPE;
	}
	if (length >= output->capacity - output->length)
		output_flush(output);
	if (length >= output->capacity) {
		char *buffer = realloc(output->buffer, length + 1);

		if (!buffer) {
			output->lines_lost++;
			return -ENOMEM;
		}
		output->buffer = buffer;
		output->capacity = length + 1;
	}
	memcpy(output->buffer + output->length, data, length);
	output->length += length;
	output->buffer[output->length++] = '\n';
	output->lines++;
	return any_open(output) ? 0 : -EPIPE;
}

int output_close(struct output *output)
{
	int err = output_flush(output);

	for (int i = 0; i < OUTPUT_SINKS; i++) {
		struct sink *sink = &output->sinks[i];

		if (is_open(sink) && sink->fd > STDERR_FILENO && close(sink->fd) && !sink->error)
			sink->error = -errno; /* NFS and quotas tell a failed write here */
		sink->fd = -1;
	}
	free(output->buffer);
	output->buffer = NULL;
	output->length = output->capacity = 0;
	return err;
}
