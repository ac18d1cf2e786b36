/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files are host facts: tables that facts/list.c makes a list of. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/*
 * What is read: all names in all directories that match.  A plain directory's missing file is recorded as missing;
 * where a directory is a pattern, only what exists is.  Never cmdline, environ, exe, maps, smaps and numa_maps of a
 * process: they need its mmap_lock, which a stuck page fault may hold for ever.
 */
struct fact_rule {
	const char *directory;
	const char *names; /* separated by blanks */
	int phases;
	uint32_t limit;	  /* bytes of text; 0: the usual */
	unsigned int max; /* directories; 0: the usual */
	const char *until;
};

extern const struct fact_rule host_rules[];
extern const size_t host_rules_count;
