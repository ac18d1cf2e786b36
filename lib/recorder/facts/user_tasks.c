// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes of a user may start no more tasks, because the user has as many as their RLIMIT_NPROC allows?  Threads of
 * all processes count, by their owner.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/process_files.h"
#include "facts/internal.h"

#define PROCESSES_MAX 65536 /* of one user */

struct user {
	uid_t id;
	unsigned long tasks;
	size_t count;
	pid_t pids[PROCESSES_MAX];
};

/* The threads of a process; 0: it is gone, or of another user namespace, where limits are counted apart. */
static long threads_of(pid_t pid, ino_t own_namespace)
{
	_cleanup_close_ int process = process_open(pid);
	struct stat namespace;

	if (process < 0 || fstatat(process, "ns/user", &namespace, 0) || namespace.st_ino != own_namespace)
		return 0;
	return process_threads(process);
}

static int count_tasks(struct user *user, DIR *proc)
{
	struct stat own, process;
	const struct dirent *entry;

	if (fstatat(dirfd(proc), "self/ns/user", &own, 0))
		return -errno;
	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);
		long tasks;

		if (pid <= 0 || fstatat(dirfd(proc), entry->d_name, &process, 0) || process.st_uid != user->id)
			continue;
		tasks = threads_of(pid, own.st_ino);
		if (tasks && user->count == PROCESSES_MAX)
			return -E2BIG;
		user->tasks += tasks;
		if (tasks)
			user->pids[user->count++] = pid;
	}
	return 0;
}

/* "TASKS SOFT_LIMIT HARD_LIMIT PID" of a process at its limit. */
static void tell_if_full(struct fact_text *fact, pid_t pid, unsigned long tasks)
{
	_cleanup_close_ int process = process_open(pid);
	_cleanup_fclose_ FILE *file = process < 0 ? NULL : process_file(process, "limits");
	char line[256], hard[24];
	unsigned long soft;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Max processes %lu %23s", &soft, hard) == 2 && tasks >= soft)
			fact->length += snprintf(fact->text + fact->length, sizeof(fact->text) - fact->length,
						 "%lu %lu %s %d\n", tasks, soft, hard, pid);
}

void fact_read_user_tasks(const struct wanted *wanted, struct fact_text *fact)
{
	_cleanup_free_ struct user *user = calloc(1, sizeof(*user));
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	int err;

	if (user)
		user->id = strtoul(wanted->path + strlen(USER_TASKS_FACT), NULL, 10);
	err = !user ? -ENOMEM : proc ? count_tasks(user, proc) : -errno;
	fact->truncated = err == -E2BIG;
	fact->error = err && err != -E2BIG ? -err : 0;
	for (size_t i = 0; !fact->error && i < user->count; i++) {
		if (FACTS_DEFAULT_MAX - fact->length < 64) {
			fact->truncated = true;
			break;
		}
		tell_if_full(fact, user->pids[i], user->tasks);
	}
}
