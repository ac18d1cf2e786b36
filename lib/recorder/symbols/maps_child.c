// SPDX-License-Identifier: GPL-2.0-only
/* The helper's side of remembered_maps.c: reads what processes have mapped, when told and while they are young. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/monotonic.h"
#include "base/process_files.h"
#include "scripts/interpreters.h"
#include "symbols/remembered_maps.h"

#define PROGRAMS 256  /* interpreters that are remembered */
#define YOUNG 64      /* processes that are watched while they load their libraries: */
#define SOON_MS 5     /* asked again after so long, then whenever that time has doubled, */
#define GROWN_MS 2000 /* up to this age */

/*
 * maps tells the device of the file system, stat() that of the subvolume or overlay: only the latter can be compared
 * with a file found by its path later.  A file on a dead mount answers from what is cached.
 */
static void identify(int process, struct mapping *mapping)
{
	struct statx status;
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, mapping->start, mapping->end);
	if (statx(process, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &status))
		return;
	mapping->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	mapping->inode = status.stx_ino;
}

static char text[LARGEST_MAPS_BYTES];

static size_t read_maps(int process, struct script_files *files)
{
	_cleanup_fclose_ FILE *maps = process_file(process, "maps");
	_cleanup_free_ char *line = NULL;
	struct mapping mapping;
	size_t capacity = 0, length = 0;

	while (maps && getline(&line, &capacity, maps) >= 0) {
		size_t room = LARGEST_MAPS_BYTES - length, written;

		if (!mapping_parse(line, &mapping))
			continue;
		script_files_add(files, &mapping);
		if (!mapping.executable)
			continue;
		if (mapping.inode)
			identify(process, &mapping);
		written = snprintf(text + length, room,
				   "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %" PRIu64 " %s\n", mapping.start,
				   mapping.end, mapping.offset, major(mapping.device), minor(mapping.device),
				   mapping.inode, mapping.path);
		if (written >= room)
			break;
		length += written;
	}
	return length;
}

/* The kernel's buffer may be full: then this waits until the recorder comes by. */
static void send_all(int fd, const void *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = send(fd, (const char *)data + done, length - done, MSG_NOSIGNAL);

		if (n < 0)
			_exit(0);
		done += n;
	}
}

/* Interpreters that were found; the oldest gives way. */
static struct {
	pid_t pid;
	struct script_program program;
} programs[PROGRAMS];
static size_t oldest;
static bool reads_scripts;

static struct script_program *program_of(pid_t pid)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (programs[i].pid == pid)
			return &programs[i].program;
	return NULL;
}

static struct script_program *find_program(pid_t pid, int process, const struct script_files *files)
{
	struct script_program *program = program_of(pid);

	if (!program) {
		programs[oldest].pid = pid;
		program = &programs[oldest].program;
		oldest = (oldest + 1) % PROGRAMS;
	}
	*program = (struct script_program){};
	if (reads_scripts)
		script_program_find(process, files, program);
	return program;
}

/* False: the process has ended. */
static bool answer(int fd, pid_t pid, bool unasked)
{
	_cleanup_close_ int process = process_open(pid), speaking = process_open(process_speaker(pid));
	struct maps_record record = { .pid = pid, .unasked = unasked };
	const struct script_program *program;

	if (process >= 0 && !process_start_ticks(process, &record.start_ticks)) {
		struct script_files files = {};

		record.length = read_maps(speaking, &files);
		program = find_program(pid, speaking, &files);
		record.interpreter = program->interpreter;
		memcpy(record.script_file, program->file, sizeof(record.script_file));
	}
	if (record.length || !unasked)
		send_all(fd, &record, sizeof(record));
	send_all(fd, text, record.length);
	return record.length;
}

static void answer_name(int fd, pid_t pid, uint64_t code)
{
	_cleanup_close_ int process = process_open(process_speaker(pid));
	const struct script_program *program = program_of(pid);
	struct maps_record record = { .pid = pid, .code = code };
	char name[SCRIPT_NAME_BYTES];
	ssize_t length = -ESRCH;

	if (process >= 0 && program) /* else it has given way: whose names are wanted is looked at again soon */
		length = script_function_name(process, program, code, name);
	record.length = length > 0 ? length : 0;
	record.no_function = !length;
	send_all(fd, &record, sizeof(record));
	send_all(fd, name, record.length);
}

static struct young {
	pid_t pid; /* 0: a free place */
	int64_t first_ms, next_ms;
} young[YOUNG];

static void watch(pid_t pid, int64_t now)
{
	struct young *place = young;

	for (size_t i = 0; i < YOUNG; i++) {
		if (young[i].pid == pid) {
			place = &young[i];
			break;
		}
		if (young[i].first_ms < place->first_ms)
			place = &young[i];
	}
	*place = (struct young){ .pid = pid, .first_ms = now, .next_ms = now + SOON_MS };
}

/* Asks again about those whose age has doubled; returns when the next one is due. */
static int64_t grow(int fd)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < YOUNG; i++) {
		int64_t now = monotonic_ms();

		if (!young[i].pid)
			continue;
		if (now >= young[i].next_ms) {
			young[i].next_ms = now + (now - young[i].first_ms);
			if (now - young[i].first_ms > GROWN_MS || !answer(fd, young[i].pid, true)) {
				young[i] = (struct young){};
				continue;
			}
		}
		next = young[i].next_ms < next ? young[i].next_ms : next;
	}
	return next;
}

void maps_child(const void *argument, int fd)
{
	struct pollfd request = { .fd = fd, .events = POLLIN };
	int buffer_bytes =
		1024 * 1024; /* for what waits until the recorder comes by; the kernel gives what it allows */

	reads_scripts = *(const bool *)argument;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
	for (;;) {
		int64_t now = monotonic_ms(), next = grow(fd), left = next > now ? next - now : 0;
		struct maps_question question;

		if (poll(&request, 1, next == INT64_MAX ? -1 : (int)left) <= 0)
			continue;
		if (recv(fd, &question, sizeof(question), MSG_WAITALL) != sizeof(question))
			return; /* the recorder has ended */
		if (question.code)
			answer_name(fd, question.pid, question.code);
		else if (answer(fd, question.pid, false))
			watch(question.pid, now);
	}
}
