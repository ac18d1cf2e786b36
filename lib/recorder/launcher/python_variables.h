/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Python reads PYTHONEXECUTABLE and __PYVENV_LAUNCHER__ even when it is isolated (-I), and from the place that they name
 * it runs code.  So none of its variables reaches it: they go by another name, under which held_command.py finds what a
 * command was given.  The same holds for those that make the C library of any program load code, or change what it does;
 * the launcher itself is static and obeys none of them.
 */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT "PERFDIAG_KEPT_"

static inline int keep_from_python(void)
{
	static const char *const kept[] = { "PYTHON", "__PYVENV_LAUNCHER__", "LD_", "GLIBC_TUNABLES=", "GCONV_PATH=" };
	char **left = environ;

	for (char **entry = environ; entry && *entry; entry++) {
		if (!strncmp(*entry, KEPT, strlen(KEPT)))
			continue; /* not ours: the caller could give a command what sudo takes from it */
		*left = *entry;
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			if (!strncmp(*entry, kept[i], strlen(kept[i])) && asprintf(left, KEPT "%s", *entry) < 0)
				return -ENOMEM;
		left++;
	}
	if (left)
		*left = NULL;
	return 0;
}
