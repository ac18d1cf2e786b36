// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processes behind which the target waited longest for a CPU, or for a lock on a file: how they are scheduled, how
 * long they waited for CPUs themselves, and whether they have ended.
 * Their files are named /competitor/PID/FILE, apart from those of the target.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "facts/facts.h"
#include "facts/internal.h"

static pid_t competitors[COMPETITORS];
static size_t competitor_count;

void facts_look_at_competitors(const pid_t *pids, size_t count)
{
	competitor_count = count < COMPETITORS ? count : COMPETITORS;
	memcpy(competitors, pids, competitor_count * sizeof(*pids));
}

int facts_list_competitors(struct wanted_list *list)
{
	static const char *const names[] = { "stat", "schedstat", "autogroup", "cgroup" };
	int err = 0;

	for (size_t i = 0; i < competitor_count; i++) {
		for (size_t name = 0; name < sizeof(names) / sizeof(*names) && !err; name++) {
			char path[64];

			snprintf(path, sizeof(path), COMPETITOR_FACTS "%d/%s", competitors[i], names[name]);
			err = wanted_add(list, path, 0, NULL);
		}
	}
	return err ?: facts_list_weights(list, competitors, competitor_count);
}
