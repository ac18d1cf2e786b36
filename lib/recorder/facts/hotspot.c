// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "facts/hotspot.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/process_files.h"

#define THREADS_LOOKED_AT 512 /* the thread is among the first: only those of a parallel collector come before */
#define MAPPINGS_LOOKED_AT 65536

/* Names of threads can be read without the lock of the address space, which maps needs. */
bool hotspot_suspected(pid_t pid)
{
	_cleanup_closedir_ DIR *threads = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	for (int i = 0; threads && i < THREADS_LOOKED_AT && (entry = readdir(threads)); i++) {
		_cleanup_close_ int fd = -1;
		char file[300], name[16] = "";

		snprintf(file, sizeof(file), "%s/comm", entry->d_name);
		fd = openat(dirfd(threads), file, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, name, sizeof(name)) > 0 && !strncmp(name, "VM Thread\n", 10))
			return true;
	}
	return false;
}

static int find_library(int process, struct hotspot_library *library)
{
	_cleanup_fclose_ FILE *maps = process_file(process, "maps");
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;

	if (!maps)
		return -errno;
	for (int i = 0; i < MAPPINGS_LOOKED_AT && getline(&line, &capacity, maps) >= 0; i++) {
		struct mapping mapping;

		if (mapping_parse(line, &mapping))
			hotspot_library_add(library, &mapping);
	}
	return library->inode ? 0 : -ENXIO;
}

int hotspot_perf_memory(struct loaded_object *library, uint64_t *address)
{
	uint64_t variable = 0;
	const struct hotspot_wanted start = { "PerfMemory", "_start", &variable };
	int err = hotspot_layout_fields(library, &start, 1);

	if (err)
		return err;
	if (!variable)
		return -ENOENT;
	if (!memory_read(library->memory, variable, address, sizeof(*address)))
		return -ENOEXEC;
	return *address ? 0 : -ENODATA;
}

static void add_way(struct fact_text *fact, const char *way)
{
	fact->length = sprintf(fact->text, "read %s\n", way);
}

static int read_memory(pid_t pid, size_t limit, struct fact_text *fact)
{
	_cleanup_close_ int process = process_open(process_speaker(pid)), memory = -1;
	_cleanup_free_ uint8_t *copy = NULL;
	struct hotspot_library library = {};
	uint8_t head[PERF_MEMORY_HEAD];
	uint64_t address = 0;
	size_t length;
	int err;

	if (process < 0)
		return process;
	err = find_library(process, &library);
	if (err)
		return err;
	memory = openat(process, "mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return -errno;
	library.object.memory = memory;
	err = hotspot_perf_memory(&library.object, &address);
	if (err)
		return err;
	length = memory_read(memory, address, head, sizeof(head)) ? perf_memory_used(head) : 0;
	copy = length ? malloc(length) : NULL;
	if (!copy || !memory_read(memory, address, copy, length))
		return -ENOEXEC;
	add_way(fact, "memory");
	perf_memory_text(copy, length, limit, fact);
	return 0;
}

/* A file of the process's own user, found without following a symbolic link. */
static int open_counters_file(int temporary, const char *directory_name, pid_t pid, uid_t owner)
{
	_cleanup_close_ int directory = -1, path_fd = -1;
	struct stat status;
	char name[16];

	directory = openat(temporary, directory_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	snprintf(name, sizeof(name), "%d", pid);
	path_fd = directory < 0 ? -1 : openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, &status) || status.st_uid != owner)
		return -ENOENT;
	return reopen_regular(path_fd, 0, 0);
}

/* Where memory may not be read: the file that a virtual machine keeps of its counters, in our own /tmp. */
static int read_file(pid_t pid, size_t limit, struct fact_text *fact)
{
	_cleanup_closedir_ DIR *temporary = opendir("/tmp");
	_cleanup_free_ uint8_t *copy = NULL;
	_cleanup_close_ int fd = -1;
	const struct dirent *entry;
	ssize_t length = 0;
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &process))
		return -errno;
	while (temporary && fd < 0 && (entry = readdir(temporary)))
		if (!strncmp(entry->d_name, "hsperfdata_", 11))
			fd = open_counters_file(dirfd(temporary), entry->d_name, pid, process.st_uid);
	copy = fd < 0 ? NULL : malloc(PERF_MEMORY_MAX);
	if (copy)
		length = read(fd, copy, PERF_MEMORY_MAX);
	if (length < PERF_MEMORY_HEAD || !perf_memory_used(copy))
		return -ENOENT;
	add_way(fact, "file");
	perf_memory_text(copy, length, limit, fact);
	return 0;
}

/* "unread REASON" where there is a virtual machine whose counters cannot be had; empty where there is none. */
void fact_read_hotspot(const struct wanted *wanted, struct fact_text *fact)
{
	pid_t pid = atoi(wanted->path + strlen(HOTSPOT_FACTS));
	int err = read_memory(pid, wanted->limit, fact);
	const char *reason = NULL;

	if ((err == -EACCES || err == -EPERM) && !read_file(pid, wanted->limit, fact))
		return;
	if (err == -ENXIO)
		return;
	if (err == -ENOENT)
		reason = "unknown";
	else if (err == -ENOEXEC)
		reason = "unreadable";
	else if (err == -ENODATA)
		reason = "off";
	if (reason)
		fact->length = sprintf(fact->text, "unread %s\n", reason);
	else
		fact->error = -err; /* 0: read */
}
