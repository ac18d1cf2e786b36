/* SPDX-License-Identifier: GPL-2.0-only */
/* What facts_write() writes, as a test looks at it. */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "facts/facts.h"
#include "base/monotonic.h"
#include "check.h"

#define DEADLINE_MS 8000

/* What facts_write() writes, as one text; *elapsed_ms tells how long it took. */
static inline char *facts(const char *phase, const pid_t *pids, size_t count, unsigned int deadline_ms, int *elapsed_ms)
{
	int fd = memfd_create("facts", 0), copy = dup(fd);
	struct output output = {};
	uint64_t begin = now_ns();
	struct stat status;
	char *text;

	output_add(&output, fd, "memory");
	CHECK_NUMBER(facts_write(&output, phase, pids, count, deadline_ms, NULL), 0);
	CHECK_NUMBER(output_close(&output), 0);
	if (elapsed_ms)
		*elapsed_ms = (now_ns() - begin) / 1000000;
	fstat(copy, &status);
	text = calloc(1, status.st_size + 1);
	CHECK_NUMBER(pread(copy, text, status.st_size, 0), status.st_size);
	close(copy);
	return text;
}

static inline char *own_facts(const char *phase)
{
	return facts(phase, &(pid_t){ getpid() }, 1, DEADLINE_MS, NULL);
}

/* The line of a path, or "".  The next call overwrites it. */
static inline const char *line_of(const char *text, const char *path)
{
	static char line[4096];
	char key[256];
	const char *at;
	int length;

	snprintf(key, sizeof(key), "\"path\":\"%s\"", path);
	at = strstr(text, key);
	length = at ? (int)strcspn(at, "\n") : 0;
	snprintf(line, sizeof(line), "%.*s", length, at ? at : "");
	return line;
}

static inline bool says(const char *text, const char *path, const char *what)
{
	return strstr(line_of(text, path), what) != NULL;
}

static inline int count(const char *text, const char *what)
{
	int found = 0;

	while ((text = strstr(text, what))) {
		found++;
		text += strlen(what);
	}
	return found;
}
