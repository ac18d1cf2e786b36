/* SPDX-License-Identifier: GPL-2.0-only */
/* Engines: programs that run a script that records.  A script belongs to one by how its name ends. */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include "base/lack.h"

#define ENGINE_OPTIONS 3

struct engine {
	const char *name;
	const char *script;  /* of perfdiag's, below the directory of all scripts; others end as it does */
	const char *program; /* an absolute path */
	const char *options[ENGINE_OPTIONS];
	const char *complains;	  /* has this in the line that tells why it does not trace, large or small */
	const char *installed_by; /* what a hint tells people to do */
	const char *needs;	  /* where it is, but does not trace */
	uint64_t again_ms;	  /* it can miss an interrupt: then it is told again after so long; 0: it hears each */
};

/* NULL: no engine has such scripts, or such a name. */
const struct engine *engine_of(const char *script);
const struct engine *engine_named(const char *name);
/* All of them, those that tell most first; NULL: the first one, and after the last one. */
const struct engine *engine_after(const struct engine *engine);

/*
 * Refuses what somebody else than root could change, or what is not there.  *ret is the path of the script without links,
 * to be freed.  -ENOENT, -EACCES.
 */
int engine_check(const struct engine *engine, const char *script, char **ret, struct lack *lack);

/* Starts it on one process.  *output and *messages are read by the caller, who ends *pid as well. */
int engine_start(const struct engine *engine, const char *script, pid_t target, int messages, pid_t *pid, int *output);
