/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes of the target, before any of them has a record. */
#pragma once
#include <stddef.h>
#include <sys/types.h>
#include "recorder.h"

/* Those of the target whose comm is one of `comms` (the last one NULL), at most `limit`. */
size_t processes_named(const struct options *options, const char *const *comms, pid_t *ret, size_t limit);
/* Adds descendants of it to `count` processes, until they are `limit`, perfdiag's own left out; returns how many they are. */
size_t processes_add_descendants(const struct options *options, pid_t *pids, size_t count, size_t limit);
/* Is its comm one of these? */
bool process_is_named(pid_t pid, const char *const *comms);
