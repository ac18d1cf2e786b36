// SPDX-License-Identifier: GPL-2.0-only
/* From files of /proc that never block. */
#define _GNU_SOURCE
#include "apps/process_tree.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

#define DEEPEST 24	    /* generations: two files are open for each */
#define PROCESSES_MAX 65536 /* that are asked for their names */

struct search {
	const char *const *comms; /* NULL: whatever it is called */
	pid_t *found;
	size_t count, limit, asked;
};

bool process_is_named(pid_t pid, const char *const *comms)
{
	char path[64], comm[COMM_BYTES + 1];
	_cleanup_close_ int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? 0 : read(fd, comm, sizeof(comm) - 1);
	if (length <= 0)
		return false;
	comm[length - (comm[length - 1] == '\n')] = '\0';
	for (; *comms; comms++)
		if (!strcmp(comm, *comms))
			return true;
	return false;
}

static bool is_found(const struct search *search, pid_t pid)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->found[i] == pid)
			return true;
	return false;
}

static void ask(struct search *search, pid_t pid)
{
	search->asked++;
	if (search->count < search->limit && (!search->comms || process_is_named(pid, search->comms)) &&
	    !is_found(search, pid))
		search->found[search->count++] = pid;
}

/* Of the shell that it was started from perfdiag is a descendant. */
static bool is_own(pid_t pid)
{
	return pid == getpid() || pid == getppid();
}

static void ask_tree(struct search *search, pid_t pid, int depth);

static void ask_children(struct search *search, pid_t pid, pid_t tid, int depth)
{
	_cleanup_fclose_ FILE *children = NULL;
	char path[96];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &child) == 1)
		ask_tree(search, child, depth + 1);
}

static void ask_tree(struct search *search, pid_t pid, int depth)
{
	_cleanup_closedir_ DIR *threads = NULL;
	const struct dirent *entry;
	char path[64];

	if (depth > DEEPEST || search->asked >= PROCESSES_MAX || search->count >= search->limit || is_own(pid))
		return;
	ask(search, pid);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads)))
		if (atoi(entry->d_name) > 0)
			ask_children(search, pid, atoi(entry->d_name), depth);
}

/* By the name of the group alone: one of the same name elsewhere has no records, so nothing is booked for it. */
static bool is_in_group(pid_t pid, const struct group *group)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[4096];
	size_t length = strnlen(group->name, sizeof(group->name));

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		for (const char *at = line; (at = strchr(at, '/')); at++)
			if (!strncmp(at + 1, group->name, length) && strchr("/\n", at[1 + length]))
				return true;
	return false;
}

static void ask_host(struct search *search, const struct options *options)
{
	_cleanup_closedir_ DIR *processes = opendir("/proc");
	const struct dirent *entry;

	while (processes && search->asked < PROCESSES_MAX && (entry = readdir(processes))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 &&
		    (options->host || (process_is_named(pid, search->comms) && is_in_group(pid, &options->group))))
			ask(search, pid);
	}
}

size_t processes_named(const struct options *options, const char *const *comms, pid_t *ret, size_t limit)
{
	struct search search = { .comms = comms, .found = ret, .limit = limit };

	if (options->host || options->group.id)
		ask_host(&search, options);
	for (size_t i = 0; i < options->pid_count; i++) {
		if (options->only)
			ask(&search, options->pids[i]);
		else
			ask_tree(&search, options->pids[i], 0);
	}
	return search.count;
}

size_t processes_add_descendants(const struct options *options, pid_t *pids, size_t count, size_t limit)
{
	struct search search = { .found = pids, .count = count, .limit = limit };

	for (size_t i = 0; i < options->pid_count && !options->only; i++)
		ask_tree(&search, options->pids[i], 0);
	return search.count;
}
