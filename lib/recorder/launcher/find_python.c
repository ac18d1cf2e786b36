// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "launcher/find_python.h"
#include "launcher/printable.h"

#define NAME "python3."
#define UNKNOWN_MINOR (-1)

static const char *const directories[] = { "/usr/bin", "/usr/local/bin" };

/*
 * Whether root alone can change what a path leads to, and every directory above it.  In a user namespace the files of
 * the host's root belong to nobody, as "/" then does.
 */
static bool only_root_changes(const char *resolved)
{
	char path[PATH_MAX];
	struct stat top, status;
	char *slash;

	if (lstat("/", &top))
		return false;
	strcpy(path, resolved);
	for (;;) {
		if (lstat(path, &status) || (status.st_uid && status.st_uid != top.st_uid) ||
		    (status.st_mode & (S_IWGRP | S_IWOTH)))
			return false;
		if (!path[1])
			return true;
		slash = strrchr(path, '/');
		slash[slash == path] = '\0';
	}
}

/* The 12 of "/usr/bin/python3.12". */
static int minor_of(const char *resolved)
{
	const char *name = strrchr(resolved, '/') + 1;
	char *end;
	long minor;

	if (strncmp(name, NAME, strlen(NAME)))
		return UNKNOWN_MINOR;
	minor = strtol(name + strlen(NAME), &end, 10);
	return *end || end == name + strlen(NAME) ? UNKNOWN_MINOR : minor;
}

/* A python3 whose file has no version in its name may fit: Python itself looks then (__main__.py). */
static bool fits(const char *candidate, char *resolved, bool any_version)
{
	int minor;

	if (!realpath(candidate, resolved) || access(resolved, X_OK) || !only_root_changes(resolved))
		return false;
	minor = minor_of(resolved);
	return minor == UNKNOWN_MINOR ? any_version : minor >= OLDEST_PYTHON_MINOR && minor <= NEWEST_PYTHON_MINOR;
}

int find_python(char *python)
{
	static char candidate[PATH_MAX], resolved[PATH_MAX];

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		snprintf(candidate, sizeof(candidate), "%s/python3", directories[i]);
		if (fits(candidate, resolved, false))
			goto found; /* the one that the host's administrator has chosen */
	}
	for (int minor = NEWEST_PYTHON_MINOR; minor >= OLDEST_PYTHON_MINOR; minor--)
		for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
			snprintf(candidate, sizeof(candidate), "%s/" NAME "%d", directories[i], minor);
			if (fits(candidate, resolved, false))
				goto found;
		}
	snprintf(candidate, sizeof(candidate), "%s/python3", directories[0]);
	if (fits(candidate, resolved, true))
		goto found;
	strcpy(python, realpath(candidate, resolved) ? resolved : "");
	return -ENOENT;
found:
	strcpy(python, candidate); /* by this name, so that it finds its own library */
	return 0;
}

void explain_no_python(const char *command, const char *found)
{
	fprintf(stderr, "error: perfdiag%s%s needs Python 3.%d to 3.%d; this host has %s\n", command ? " " : "",
		command ? printable(command) : "", OLDEST_PYTHON_MINOR, NEWEST_PYTHON_MINOR,
		*found ? found : "none in /usr/bin or /usr/local/bin");
	fprintf(stderr,
		"HINT: install one of them; or here: perfdiag record -o FILE --pid PID, which needs no Python, and "
		"on another host: perfdiag report FILE\n");
}
