// SPDX-License-Identifier: GPL-2.0-only
/* What is wanted of processes that no file tells: answers of the kernel, and counters in their memory. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include "facts/hotspot.h"
#include "facts/internal.h"

/* Of the user of a process, unless that is root, who is held to no limit of tasks. */
static int add_user_tasks(struct wanted_list *list, pid_t pid)
{
	struct stat process;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &process) || !process.st_uid)
		return 0;
	snprintf(path, sizeof(path), USER_TASKS_FACT "%u", process.st_uid);
	return wanted_has(list, path) ? 0 : wanted_add(list, path, 0, NULL);
}

int facts_list_answers(struct wanted_list *list, enum facts_phase phase, const pid_t *pids, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err && phase != FACTS_SERIES; i++) {
		char path[64];

		snprintf(path, sizeof(path), LISTENERS_FACT "%d", pids[i]);
		err = wanted_add(list, path, 0, NULL);
		snprintf(path, sizeof(path), FILE_SYSTEMS_FACT "%d", pids[i]);
		err = err ?: wanted_add(list, path, 0, NULL);
	}
	for (size_t i = 0; i < count && !err && phase == FACTS_END; i++)
		err = add_user_tasks(list, pids[i]);
	return err;
}

static pid_t (*also_looked_at)(size_t n);

void facts_look_also_at(pid_t (*pid)(size_t n))
{
	also_looked_at = pid;
}

static int add_hotspot(struct wanted_list *list, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), HOTSPOT_FACTS "%d", pid);
	return wanted_has(list, path) || !hotspot_suspected(pid) ? 0 : wanted_add(list, path, 0, NULL);
}

int facts_list_hotspot(struct wanted_list *list, const pid_t *pids, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && i < FACTS_PIDS_MAX && !err; i++)
		err = add_hotspot(list, pids[i]);
	for (size_t i = 0; also_looked_at && i < FACTS_PIDS_MAX && !err; i++)
		if (also_looked_at(i) > 0)
			err = add_hotspot(list, also_looked_at(i));
	return err;
}
