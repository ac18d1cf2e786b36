// SPDX-License-Identifier: GPL-2.0-only
/* The line protocol with the unprivileged side: what to follow, when to start and stop.  See perfdiag-recorder(8). */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/passed_descriptors.h"
#include "recorder.h"

#define LINE_BYTES 4096

static char buffer[LINE_BYTES];
static size_t buffered;

void control_say(int fd, const char *format, ...)
{
	char line[512];
	va_list arguments;
	int length;

	if (fd < 0)
		return;
	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/* A parent that is gone is noticed by its end of file; nothing to do here. */
	if (length > 0)
		(void)!send(fd, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1, MSG_NOSIGNAL);
}

int control_attached(int fd)
{
	/*
	 * From here on a recording gets its end, also when who asked for it has gone.  Who is stopped does not see that
	 * the socket closes.  SIGCONT is allowed within a session whoever the parent has become.
	 */
	if (fd >= 0 && prctl(PR_SET_PDEATHSIG, SIGCONT))
		return -errno;
	control_say(fd, "attached\n");
	return 0;
}

/* One more read; an fd that comes along (SCM_RIGHTS) is kept in *passed. */
static ssize_t receive(int fd, int *passed)
{
	int came;
	ssize_t length = receive_with_descriptors(fd, buffer + buffered, sizeof(buffer) - buffered, &came, 1);

	if (length > 0 && came >= 0) {
		if (*passed >= 0)
			close(*passed);
		*passed = came;
	}
	if (length > 0)
		buffered += length;
	return length;
}

/* Takes one whole line out of the buffer into `line`; false if there is none. */
static bool take_line(char line[LINE_BYTES])
{
	char *end = memchr(buffer, '\n', buffered);
	size_t length;

	if (!end)
		return false;
	length = end - buffer;
	memcpy(line, buffer, length);
	line[length] = 0;
	buffered -= length + 1;
	memmove(buffer, end + 1, buffered);
	return true;
}

static int add_pid(struct options *options, const char *text, bool on_exec)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > INT32_MAX || options->pid_count == MAX_TARGETS)
		return -EINVAL;
	options->pids[options->pid_count] = pid;
	options->on_exec[options->pid_count++] = on_exec;
	return 0;
}

static int take_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno || end == text || *end || *text == '-' || *ret > INT64_MAX ? -EINVAL : 0;
}

/* "NS", or "NS NAME"; a name may hold blanks. */
static int take_limit(struct options *options, const char *text)
{
	char number[32];
	size_t length = strcspn(text, " ");
	uint64_t ns;
	int err;

	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	err = length < sizeof(number) ? take_number(number, &ns) : -EINVAL;
	if (err)
		return err;
	if (text[length])
		return limits_add(options, text + length + 1, ns);
	options->slo_ns = ns;
	return 0;
}

/* In parts per million. */
static int take_max_cost(struct options *options, const char *text)
{
	uint64_t ppm;

	if (take_number(text, &ppm) || ppm > 1000000)
		return -EINVAL;
	options->has_max_cost = true;
	options->max_cost_ppm = ppm;
	return 0;
}

/* "HIERARCHY ID PARENT NAME"; a name may hold blanks, and begin with them. */
static int take_group(const char *text, struct group *ret)
{
	struct group group = {};
	unsigned long long id, parent;
	const char *name;
	int end;

	if (sscanf(text, "%u %llu %llu%n", &group.hierarchy, &id, &parent, &end) != 3 || text[end] != ' ' || !id)
		return -EINVAL;
	name = text + end + 1;
	if (strlen(name) >= sizeof(group.name))
		return -EINVAL;
	group.id = id;
	group.parent_id = parent;
	memcpy(group.name, name, strlen(name));
	*ret = group;
	return 0;
}

/* What has no room is refused: cut, it would be another command, or end inside a character. */
static int take_asked(struct options *options, const char *text)
{
	size_t length = strlen(text);

	if (length >= sizeof(options->asked))
		return -EINVAL;
	memcpy(options->asked, text, length + 1);
	return 0;
}

static int obey(struct options *options, struct output *output, const char *line, int *passed)
{
	if (!strncmp(line, "pid ", 4))
		return add_pid(options, line + 4, false);
	if (!strncmp(line, "exec ", 5))
		return add_pid(options, line + 5, true);
	if (!strncmp(line, "group ", 6))
		return take_group(line + 6, &options->group);
	if (!strncmp(line, "duration ", 9))
		return take_number(line + 9, &options->duration_ns);
	if (!strncmp(line, "slo ", 4))
		return take_limit(options, line + 4);
	if (!strncmp(line, "max-cost ", 9))
		return take_max_cost(options, line + 9);
	if (!strncmp(line, "asked ", 6))
		return take_asked(options, line + 6);
	if (!strcmp(line, "only"))
		options->only = true;
	else if (!strcmp(line, "host"))
		options->host = true;
	else if (!strcmp(line, "no-request-names"))
		options->no_request_names = true;
	else if (!strcmp(line, "no-apps"))
		options->no_apps = true;
	else if (!strcmp(line, "stacks"))
		options->stacks = true;
	else if (!strcmp(line, "output") && *passed >= 0) {
		int err = output_add(output, *passed, "the recording file");

		*passed = -1;
		return err;
	} else
		return -EINVAL;
	return 0;
}

int control_wait_start(struct options *options, struct output *output, int signals)
{
	struct pollfd fds[] = { { .fd = options->control_fd, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	char line[LINE_BYTES];
	int passed = -1, err;

	for (;;) {
		ssize_t length;

		while (take_line(line)) {
			if (!strcmp(line, "start"))
				return 0;
			if (!strcmp(line, "stop"))
				return -ECANCELED;
			err = obey(options, output, line, &passed);
			if (err) {
				control_say(options->control_fd, "error %d not understood: %.80s\n", -err, line);
				return err;
			}
		}
		if (buffered == sizeof(buffer))
			return -EMSGSIZE;
		if (poll(fds, sizeof(fds) / sizeof(*fds), -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return -ECANCELED;
		if (!fds[0].revents)
			continue;
		length = receive(options->control_fd, &passed);
		if (length <= 0)
			return length ? (int)length : -ECANCELED;
	}
}

bool control_read(int fd)
{
	char line[LINE_BYTES];
	int passed = -1;
	ssize_t length = receive(fd, &passed);
	bool stop = length <= 0 || buffered == sizeof(buffer); /* the other side is gone, or talks nonsense */

	if (passed >= 0)
		close(passed);
	while (take_line(line))
		stop |= !strcmp(line, "stop");
	return stop;
}
