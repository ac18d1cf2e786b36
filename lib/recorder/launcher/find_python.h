/* SPDX-License-Identifier: GPL-2.0-only */
/* Which Python of the host runs an installed perfdiag: found by the names of files, without running any. */
#pragma once

#define OLDEST_PYTHON_MINOR 11 /* pyproject.toml: requires-python */
#define NEWEST_PYTHON_MINOR 14 /* Makefile: PYTHON_MINORS, those whose compiled parts are installed */

/*
 * Copies the path into `python` (PATH_MAX bytes) and returns 0.  Returns -ENOENT where no Python fits; `python` then
 * holds the path of one that does not, or "".
 */
int find_python(char *python);
/* Says of the command (NULL: none was given) that it needs Python, which one is here, and what to do. */
void explain_no_python(const char *command, const char *found);
