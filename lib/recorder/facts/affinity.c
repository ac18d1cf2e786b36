// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that need a status of their own among the facts: those that may use other CPUs than the first thread of their
 * process, and some of all where that one has ended, because its status then says nothing of the process's state.
 * The kernel is asked for the masks directly, which takes no lock that a stuck thread could hold.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "facts/internal.h"

#define CPUS_MAX 8192
#define THREADS_MAX 4096 /* looked at, of one process */
#define BOUND_MAX 16	 /* recorded, of one process */

struct cpus {
	unsigned char bits[CPUS_MAX / 8];
};

static bool read_cpus(pid_t tid, struct cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return sched_getaffinity(tid, sizeof(*cpus), (cpu_set_t *)cpus) == 0;
}

/* The first thread of a process stays as a zombie until all others have ended. */
static bool first_has_ended(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char line[256], path[64], state = '\0';

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !state && fgets(line, sizeof(line), file))
		sscanf(line, "State: %c", &state);
	return state == 'Z';
}

int facts_list_affinity(struct wanted_list *list, pid_t pid)
{
	_cleanup_closedir_ DIR *threads = NULL;
	struct cpus own, first;
	struct dirent *entry;
	char path[320];
	int err = 0, bound = 0;
	bool any;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads || !read_cpus(pid, &first))
		return 0; /* it has ended: its own facts say so */
	any = first_has_ended(pid);
	for (int seen = 0; !err && bound < BOUND_MAX && seen < THREADS_MAX && (entry = readdir(threads)); seen++) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 || tid == pid || !read_cpus(tid, &own) || (!any && !memcmp(&own, &first, sizeof(own))))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
		err = wanted_add(list, path, 0, NULL);
		bound++;
	}
	return err;
}
