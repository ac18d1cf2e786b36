// SPDX-License-Identifier: GPL-2.0-only
/* SOURCES: output/output.c */
/* WRAPS: poll */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "output/output.h"
#include "check.h"

#define LINES 3001 /* a prime, and more than pipe and buffer hold */

static bool never_ready; /* poll() runs into its timeout at once: nobody reads */

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return never_ready ? 0 : __real_poll(fds, count, timeout_ms);
}

/* Line i is i, a blank and i % 90 letters. */
static int write_lines(struct output *output, int count)
{
	char line[128];
	int err = 0;

	for (int i = 0; i < count && !err; i++)
		err = output_line(output, line, snprintf(line, sizeof(line), "%d %0*d", i, i % 90 + 1, 0));
	return err;
}

/* How many lines a file has; -1 if one of them is not whole or not in its place. */
static int read_lines(int fd)
{
	FILE *file = fdopen(dup(fd), "r");
	char line[256], should[256];
	int count = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		snprintf(should, sizeof(should), "%d %0*d\n", count, count % 90 + 1, 0);
		if (strcmp(line, should)) {
			count = -1;
			break;
		}
		count++;
	}
	fclose(file);
	return count;
}

static void writes_to_both_sinks(void)
{
	int one = memfd_create("one", 0), two = memfd_create("two", 0);
	struct output output = {};

	CHECK_NUMBER(output_add(&output, dup(one), "one"), 0);
	CHECK_NUMBER(output_add(&output, dup(two), "two"), 0);
	CHECK_NUMBER(output_add(&output, 0, "three"), -ENOSPC);
	CHECK_NUMBER(output_add(&output, -1, "none"), -EINVAL);
	CHECK_NUMBER(write_lines(&output, LINES), 0);
	CHECK_NUMBER(output_flush(&output), 0);
	CHECK_NUMBER(read_lines(one), LINES);
	CHECK_NUMBER(read_lines(two), LINES);
	CHECK_NUMBER(output.lines_lost, 0);
	CHECK_NUMBER(output_close(&output), 0);
	close(one);
	close(two);
}

static void keeps_a_line_longer_than_the_buffer(void)
{
	size_t length = 200000;
	char *data = malloc(length);
	int fd = memfd_create("long", 0);
	struct output output = {};

	memset(data, 'x', length);
	output_add(&output, dup(fd), "long");
	CHECK_NUMBER(output_line(&output, "short", 5), 0);
	CHECK_NUMBER(output_line(&output, data, length), 0);
	CHECK_NUMBER(output_line(&output, "short", 5), 0);
	CHECK_NUMBER(output_close(&output), 0);
	CHECK_NUMBER(lseek(fd, 0, SEEK_END), length + 1 + 6 + 6);
	close(fd);
	free(data);
}

static void goes_on_without_a_full_disk(void)
{
	int full = open("/dev/full", O_WRONLY), good = memfd_create("good", 0);
	struct output output = {};

	CHECK(full >= 0);
	output_add(&output, full, "full");
	output_add(&output, dup(good), "good");
	CHECK_NUMBER(write_lines(&output, LINES), 0);
	CHECK_NUMBER(output_flush(&output), 0);
	CHECK_NUMBER(output.sinks[0].fd, -1);
	CHECK_NUMBER(output.sinks[0].error, -ENOSPC);
	CHECK_NUMBER(output.sinks[1].error, 0);
	CHECK_NUMBER(read_lines(good), LINES);
	CHECK_NUMBER(output.lines_lost, 0);
	CHECK_NUMBER(output_close(&output), 0);
	CHECK_NUMBER(output.sinks[0].error, -ENOSPC);
	close(good);
}

/* A disk that fills up in the middle of a line. */
static void takes_half_a_line_back(void)
{
	char path[] = "/tmp/perfdiag-output-XXXXXX";
	int fd = mkstemp(path), left = -1;
	struct rlimit before, small;
	struct output output = {};

	unlink(path);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ 10007, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	output_add(&output, dup(fd), "small");
	write_lines(&output, LINES);
	CHECK_NUMBER(output_flush(&output), -EPIPE);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_NUMBER(output.sinks[0].error, -EFBIG);
	left = read_lines(fd);
	CHECK(left > 100 && left < LINES);
	CHECK_NUMBER(output_close(&output), -EPIPE);
	close(fd);
}

static void tells_when_the_reader_is_gone(void)
{
	struct output output = {};
	int ends[2];

	CHECK_NUMBER(pipe(ends), 0);
	close(ends[0]);
	output_add(&output, ends[1], "pipe");
	CHECK_NUMBER(output_line(&output, "{}", 2), 0);
	CHECK_NUMBER(output_flush(&output), -EPIPE); /* and no SIGPIPE */
	CHECK_NUMBER(output.sinks[0].error, -EPIPE);
	CHECK_NUMBER(output_line(&output, "{}", 2), -EPIPE);
	CHECK_NUMBER(output.lines_lost, 1);
	output_close(&output);
}

/* A pipe that cannot block takes a few kilobytes at a time, and sometimes nothing. */
static void finishes_short_writes(void)
{
	int copy = memfd_create("copy", 0), ends[2], status = 0;
	struct output output = {};
	pid_t reader;

	CHECK_NUMBER(pipe2(ends, O_NONBLOCK), 0);
	reader = fork();
	if (!reader) {
		char data[777];
		ssize_t n;

		close(ends[1]);
		fcntl(ends[0], F_SETFL, 0);
		for (int i = 0; (n = read(ends[0], data, sizeof(data))) > 0; i++) {
			if (write(copy, data, n) != n)
				_exit(1);
			if (i % 40 == 0)
				usleep(1000);
		}
		_exit(n < 0);
	}
	close(ends[0]);
	output_add(&output, ends[1], "pipe");
	CHECK_NUMBER(write_lines(&output, LINES), 0);
	CHECK_NUMBER(output_close(&output), 0);
	waitpid(reader, &status, 0);
	CHECK_NUMBER(status, 0);
	CHECK_NUMBER(read_lines(copy), LINES);
	close(copy);
}

static void gives_a_stalled_reader_up(void)
{
	int good = memfd_create("good", 0), ends[2];
	struct output output = {};

	CHECK_NUMBER(pipe(ends), 0);
	output_add(&output, ends[1], "stalled");
	CHECK_NUMBER(output_line(&output, "0 0", 3), 0);
	never_ready = true;
	CHECK_NUMBER(output_flush(&output), -EPIPE);
	never_ready = false;
	CHECK_NUMBER(output.sinks[0].error, -ETIMEDOUT);
	CHECK_NUMBER(output_add(&output, dup(good), "good"), 0);
	CHECK_NUMBER(output_line(&output, "0 0", 3), 0);
	CHECK_NUMBER(output_close(&output), 0);
	CHECK_NUMBER(read_lines(good), 1);
	close(ends[0]);
	close(good);
}

int main(void)
{
	RUN(writes_to_both_sinks);
	RUN(keeps_a_line_longer_than_the_buffer);
	RUN(goes_on_without_a_full_disk);
	RUN(takes_half_a_line_back);
	RUN(tells_when_the_reader_is_gone);
	RUN(finishes_short_writes);
	RUN(gives_a_stalled_reader_up);
	return check_result();
}
