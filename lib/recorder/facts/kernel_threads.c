// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the kernel whose CPU time tells what a feature of the host costs: those that look for equal pages and for
 * huge ones.  They were started at boot, or when the feature was switched on: mostly among the first of /proc.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"

#define PROCESSES_MAX 4096 /* looked at */
#define KTHREADD 2	   /* the parent of them all, of no process */

static const struct wanted_thread {
	const char *name, *feature;
} wanted_threads[] = {
	{ "ksmd", "/sys/kernel/mm/ksm" },
	{ "khugepaged", "/sys/kernel/mm/transparent_hugepage" },
};

#define WANTED (sizeof(wanted_threads) / sizeof(*wanted_threads))

/* A process may call itself so, too, but is no child of kthreadd. */
static bool is_kernel_thread(int pid, const char *name)
{
	_cleanup_close_ int fd = -1;
	char path[64], text[128];
	const char *end;
	ssize_t length;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = 0;
	snprintf(path, sizeof(path), "%d (%s) ", pid, name);
	end = strncmp(text, path, strlen(path)) ? NULL : text + strlen(path);
	return end && sscanf(end, "%*c %d", &parent) == 1 && parent == KTHREADD;
}

static int add_thread(struct wanted_list *list, int pid)
{
	static const char *const names[] = { "comm", "schedstat" };
	char path[64];
	int err = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !err; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, names[i]);
		err = wanted_add(list, path, 0, NULL);
	}
	return err;
}

int facts_list_kernel_threads(struct wanted_list *list)
{
	_cleanup_closedir_ DIR *processes = opendir("/proc");
	bool missing[WANTED];
	struct dirent *entry;
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < WANTED; i++) {
		missing[i] = !access(wanted_threads[i].feature, F_OK);
		left += missing[i];
	}
	for (int seen = 0; processes && left && !err && seen < PROCESSES_MAX && (entry = readdir(processes)); seen++) {
		int pid = atoi(entry->d_name);

		for (size_t i = 0; i < WANTED && pid > 0 && !err; i++) {
			if (!missing[i] || !is_kernel_thread(pid, wanted_threads[i].name))
				continue;
			missing[i] = false;
			left--;
			err = add_thread(list, pid);
		}
	}
	return err;
}
