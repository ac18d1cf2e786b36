/* SPDX-License-Identifier: GPL-2.0-only */
/* Where this program, the recorder, Python and what they read lie. */
#pragma once
#include <limits.h>
#include <stdbool.h>

struct paths {
	char program[PATH_MAX], recorder[PATH_MAX], python[PATH_MAX], package[PATH_MAX], scripts[PATH_MAX];
	const char *options; /* of Python */
	bool no_python;	     /* `python` does not fit, or is "" */
	bool installed;	     /* and no checkout */
};

/* An installed tree (PREFIX/bin, PREFIX/lib/perfdiag) is preferred; else this is build/bin of a checkout.  0 or -errno. */
int find_paths(struct paths *paths);
