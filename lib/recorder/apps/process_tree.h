/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes of the target by their name, before any of them has a record. */
#pragma once
#include <stddef.h>
#include <sys/types.h>
#include "recorder.h"

/* Those of the target whose comm is one of `comms` (the last one NULL), at most `limit`. */
size_t processes_named(const struct options *options, const char *const *comms, pid_t *ret, size_t limit);
/* One of them. */
bool process_is_named(pid_t pid, const char *const *comms);
