/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests that end a process right after it was met: nobody else waits for the answer of the helper. */
#pragma once
#include <unistd.h>
#include "base/monotonic.h"
#include "symbols/remembered_maps.h"
#include "symbols/symbols.h"

/* Returns whether the files of the process are known. */
static inline bool meet_and_wait(pid_t pid)
{
	int64_t end = monotonic_ms() + 10000;

	while (monotonic_ms() < end) {
		const struct remembered_maps *known;

		user_symbols_meet(pid, false);
		known = remembered_maps_find(pid);
		if (known && known->text)
			return true;
		usleep(10000);
	}
	return false;
}
