/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Python reads PYTHONEXECUTABLE and __PYVENV_LAUNCHER__ even when it is isolated (-I), and from the place that they name
 * it runs code.  So none of its variables reaches it: they go by another name, under which heldback.py finds what a
 * command was given.
 */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT "PERFDIAG_KEPT_"

static inline int keep_from_python(void)
{
	static const char python[] = "PYTHON", launcher[] = "__PYVENV_LAUNCHER__";
	char **left = environ;

	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, KEPT, strlen(KEPT)))
			continue; /* not ours: the caller could give a command what sudo takes from it */
		*left = *entry;
		if (!strncmp(*entry, python, strlen(python)) || !strncmp(*entry, launcher, strlen(launcher)))
			if (asprintf(left, KEPT "%s", *entry) < 0)
				return -ENOMEM;
		left++;
	}
	if (left)
		*left = NULL;
	return 0;
}
