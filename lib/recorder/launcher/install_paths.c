// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "launcher/install_paths.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "launcher/find_python.h"

static int join(char *path, const char *directory, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int find_paths(struct paths *paths)
{
	char directory[PATH_MAX];
	ssize_t length;
	int err;

	length = readlink("/proc/self/exe", paths->program, PATH_MAX - 1);
	if (length < 0)
		return -errno;
	paths->program[length] = '\0';
	strcpy(directory, paths->program);
	*strrchr(directory, '/') = '\0';

	err = join(paths->package, directory, "../lib/perfdiag/python/perfdiag/__main__.py");
	if (!err && !access(paths->package, R_OK)) {
		if (find_python(paths->python))
			paths->no_python = true;
		paths->installed = true;
		paths->options = "-ISB"; /* all it needs is installed with it: no modules of the host's */
		return join(paths->recorder, directory, "../lib/perfdiag/perfdiag-recorder")
			       ?: join(paths->scripts, directory, "../share/perfdiag");
	}
	if (!err && errno == EACCES)
		return -EACCES;
	paths->options = "-IB";
	err = err ?: join(paths->package, directory, "../../lib/perfdiag/__main__.py");
	err = err ?: join(paths->python, directory, "../venv/bin/python");
	err = err ?: join(paths->scripts, directory, "../..");
	return err ?: join(paths->recorder, directory, "perfdiag-recorder");
}
