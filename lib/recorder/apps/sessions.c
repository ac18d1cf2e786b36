// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs in a helper with the right to read the memory of others: it takes numbers there, never a length or a text, and
 * what is no address reads as nothing.
 */
#define _GNU_SOURCE
#include "apps/sessions.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/helper.h"
#include "base/monotonic.h"
#include "base/privileges.h"
#include "base/process_files.h"
#include "base/receive.h"

#define STAT_BYTES 1024
#define FIELD_START_CODE 26 /* of /proc/PID/stat */

struct question {
	const pid_t *pids;
	size_t count;
	const struct program *programs;
	size_t program_count;
};

static int identify(int process, struct session *session)
{
	struct statx status;

	if (statx(process, "exe", AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &status))
		return -errno;
	session->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	session->inode = status.stx_ino;
	return 0;
}

/* Where the first executable segment lies; 0: not told. */
static uint64_t start_of_code(int process)
{
	_cleanup_fclose_ FILE *file = process_file(process, "stat");
	char text[STAT_BYTES];
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *at;
	uint64_t start;

	text[length] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < FIELD_START_CODE; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%" SCNu64, &start) == 1 ? start : 0;
}

static uint64_t times_slept(int process)
{
	_cleanup_fclose_ FILE *file = process_file(process, "status");
	char line[256];
	uint64_t times;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &times) == 1)
			return times;
	return UINT64_MAX;
}

/* The number that a process has in its own namespace, by which it calls itself. */
static unsigned int own_number(int process)
{
	_cleanup_fclose_ FILE *file = process_file(process, "status");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "NSpid:", 6))
			return atoi(strrchr(line, '\t') + 1);
	return 0;
}

static bool peek(int memory, uint64_t address, void *into, size_t length)
{
	return address && address <= INT64_MAX && pread(memory, into, length, (off_t)address) == (ssize_t)length;
}

static bool in_transaction(int process, int memory, uint64_t entry_pointer)
{
	uint64_t entry = 0, begun = 0;
	uint32_t pid = 0;

	return peek(memory, entry_pointer, &entry, sizeof(entry)) &&
	       peek(memory, entry + POSTGRES_ENTRY_PID, &pid, sizeof(pid)) && pid == own_number(process) &&
	       peek(memory, entry + POSTGRES_ENTRY_TRANSACTION, &begun, sizeof(begun)) && begun;
}

/* What it waits for; 0 also where it did not sleep on while that was read. */
static void read_word(int process, struct database *database)
{
	_cleanup_close_ int memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	uint64_t pointer = 0, object;
	uint32_t word = 0;

	database->switches = times_slept(process);
	if (memory < 0 || !peek(memory, database->wait_pointer, &pointer, sizeof(pointer)) ||
	    !peek(memory, pointer, &word, sizeof(word)) || !word)
		return;
	object = word;
	if (POSTGRES_CLASS(word) == POSTGRES_CLIENT && in_transaction(process, memory, database->entry_pointer))
		object |= POSTGRES_IN_TRANSACTION;
	if (times_slept(process) == database->switches)
		database->waits_for = OBJECT(OBJECT_POSTGRES, object);
}

static void look_at(pid_t pid, const struct question *question, struct session *session)
{
	_cleanup_close_ int process = process_open(pid);
	struct database *database = &session->database;
	uint64_t start;

	*session = (struct session){ .pid = pid, .program = -1 };
	if (process < 0 || identify(process, session))
		return;
	for (size_t i = 0; i < question->program_count; i++)
		if (question->programs[i].device == session->device && question->programs[i].inode == session->inode)
			session->program = i;
	if (session->program < 0)
		return;
	const struct program *program = &question->programs[session->program];

	start = start_of_code(process);
	if (!program->wait_pointer || start < program->first_code)
		return;
	database->wait_pointer = start - program->first_code + program->wait_pointer;
	if (program->entry_pointer)
		database->entry_pointer = start - program->first_code + program->entry_pointer;
	read_word(process, database);
}

static void look_at_all(const void *argument, int fd)
{
	const struct question *question = argument;

	for (size_t i = 0; i < question->count; i++) {
		struct session session;

		look_at(question->pids[i], question, &session);
		if (send(fd, &session, sizeof(session), MSG_NOSIGNAL) != sizeof(session))
			return;
	}
}

ssize_t sessions_read(const pid_t *pids, size_t count, const struct program *programs, size_t program_count,
		      struct session *ret, unsigned int deadline_ms)
{
	static const struct helper_task task = { "perfdiag-apps", OF_SLEEPERS, look_at_all };
	struct question question = { pids, count, programs, program_count };
	int64_t deadline = monotonic_ms() + deadline_ms;
	struct helper helper;
	size_t done = 0;
	int err = helper_start(&helper, &task, &question);

	if (err)
		return err;
	while (done < count && !receive_by(helper.fd, &ret[done], sizeof(ret[done]), deadline))
		done++;
	helper_end(&helper);
	return done;
}
