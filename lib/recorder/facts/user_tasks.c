// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes of a user may start no more tasks, because the user has as many as their RLIMIT_NPROC allows?  Threads of
 * all processes count, by their owner.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"

#define PROCESSES_MAX 65536 /* of one user */
#define STAT_THREADS 17	    /* fields behind the state, which is the first one behind the name's bracket */
#define LIMIT_OF_TASKS "\nMax processes "

struct user {
	uid_t id;
	unsigned long tasks;
	size_t count;
	unsigned int pids[PROCESSES_MAX];
};

/* Reads the beginning of /proc/PID/NAME. */
static bool read_text(int proc, unsigned int pid, const char *name, char *text, size_t size)
{
	_cleanup_close_ int file = -1;
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	file = openat(proc, path, O_RDONLY | O_CLOEXEC);
	length = file < 0 ? -1 : read(file, text, size - 1);
	text[length < 0 ? 0 : length] = 0;
	return length > 0;
}

/* The threads of a process; 0: it is gone, or of another user namespace, where limits are counted apart. */
static unsigned long threads_of(int proc, unsigned int pid, ino_t own_namespace)
{
	char path[64], text[1024], *at;
	struct stat namespace;

	snprintf(path, sizeof(path), "%u/ns/user", pid);
	if (fstatat(proc, path, &namespace, 0) || namespace.st_ino != own_namespace ||
	    !read_text(proc, pid, "stat", text, sizeof(text)))
		return 0;
	at = strrchr(text, ')');
	for (int field = 0; at && field <= STAT_THREADS; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoul(at, NULL, 10) : 0;
}

static int count_tasks(struct user *user, DIR *proc)
{
	struct stat own, process;
	const struct dirent *entry;

	if (fstatat(dirfd(proc), "self/ns/user", &own, 0))
		return -errno;
	while ((entry = readdir(proc))) {
		unsigned int pid = strtoul(entry->d_name, NULL, 10);
		unsigned long tasks;

		if (!isdigit((unsigned char)entry->d_name[0]) || fstatat(dirfd(proc), entry->d_name, &process, 0) ||
		    process.st_uid != user->id)
			continue;
		tasks = threads_of(dirfd(proc), pid, own.st_ino);
		if (tasks && user->count == PROCESSES_MAX)
			return -E2BIG;
		user->tasks += tasks;
		if (tasks)
			user->pids[user->count++] = pid;
	}
	return 0;
}

/* "TASKS SOFT_LIMIT HARD_LIMIT PID" of a process at its limit. */
static void tell_if_full(struct fact_text *fact, int proc, unsigned int pid, unsigned long tasks)
{
	char text[2048], hard[24], *limit;
	unsigned long soft;

	limit = read_text(proc, pid, "limits", text, sizeof(text)) ? strstr(text, LIMIT_OF_TASKS) : NULL;
	if (!limit || sscanf(limit + strlen(LIMIT_OF_TASKS), "%lu %23s", &soft, hard) != 2 || tasks < soft)
		return;
	fact->length += snprintf(fact->text + fact->length, sizeof(fact->text) - fact->length, "%lu %lu %s %u\n", tasks,
				 soft, hard, pid);
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
		tell_if_full(fact, dirfd(proc), user->pids[i], user->tasks);
	}
}
