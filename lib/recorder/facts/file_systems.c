// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file systems on which a process has files open for writing: how much room each has left.  Those of a server are
 * not asked: it might not answer.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"

#define LOOKED_AT_MAX 16384 /* descriptors: of a server most are sockets, which cost little */
#define FOUND_MAX 32

/* A mount on which the process writes, and one of its descriptors there. */
struct written {
	int mount, fd;
};

struct file_systems {
	struct fact_text *fact;
	struct written found[FOUND_MAX];
	size_t count;
};

static bool is_known(const struct file_systems *into, int mount)
{
	for (size_t i = 0; i < into->count; i++)
		if (into->found[i].mount == mount)
			return true;
	return false;
}

/* The mount of a descriptor that is open for writing, or -1. */
static int mount_written(int directory, const char *fd)
{
	_cleanup_close_ int file = openat(directory, fd, O_RDONLY | O_CLOEXEC);
	char text[256], *line;
	unsigned int flags = 0;
	ssize_t length;
	int mount = -1;

	length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (length <= 0)
		return -1;
	text[length] = 0;
	line = strstr(text, "flags:");
	if (!line || sscanf(line, "flags: %o", &flags) != 1 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
		return -1;
	line = strstr(text, "mnt_id:");
	return line && sscanf(line, "mnt_id: %d", &mount) == 1 ? mount : -1;
}

/* Sockets, pipes and the like have no path. */
static bool has_path(int descriptors, const char *fd)
{
	char first = 0;

	return readlinkat(descriptors, fd, &first, 1) == 1 && first == '/';
}

static int find_written(struct file_systems *into, pid_t pid)
{
	_cleanup_closedir_ DIR *directory = NULL;
	_cleanup_close_ int fdinfo = -1;
	const struct dirent *entry;
	char path[64];
	int looked = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	fdinfo = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = fdinfo < 0 ? NULL : opendir(path);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		int mount;

		if (looked++ == LOOKED_AT_MAX || into->count == FOUND_MAX) {
			into->fact->truncated = true;
			break;
		}
		mount = has_path(dirfd(directory), entry->d_name) ? mount_written(fdinfo, entry->d_name) : -1;
		if (mount >= 0 && !is_known(into, mount))
			into->found[into->count++] = (struct written){ mount, atoi(entry->d_name) };
	}
	return 0;
}

/* Whether the kernel of this host alone answers for a file system of that type. */
static bool is_local(const char *type)
{
	static const char *const local[] = { "ext2", "ext3",	 "ext4",  "xfs",  "btrfs",  "f2fs",
					     "zfs",  "bcachefs", "tmpfs", "vfat", "overlay" };

	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
		if (strcmp(type, local[i]) == 0)
			return true;
	return false;
}

/* "MAJOR:MINOR BLOCK_BYTES BLOCKS FREE AVAILABLE INODES FREE_INODES", available to all but root. */
static void add_file_system(struct file_systems *into, pid_t pid, int fd, const char *device)
{
	struct fact_text *fact = into->fact;
	_cleanup_close_ int file = -1;
	struct statfs space;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file < 0 || fstatfs(file, &space) || FACTS_DEFAULT_MAX - fact->length < 256)
		return;
	fact->length += snprintf(fact->text + fact->length, 256, "%s %lld %llu %llu %llu %llu %llu\n", device,
				 (long long)space.f_bsize, (unsigned long long)space.f_blocks,
				 (unsigned long long)space.f_bfree, (unsigned long long)space.f_bavail,
				 (unsigned long long)space.f_files, (unsigned long long)space.f_ffree);
}

/* "36 35 98:0 / /mnt rw - TYPE SOURCE OPTIONS" */
static void look_up_mount(struct file_systems *into, pid_t pid, const char *line)
{
	const char *rest = strstr(line, " - ");
	char device[32], type[32];
	int mount;

	if (!rest || sscanf(line, "%d %*d %31s", &mount, device) != 2 || sscanf(rest, " - %31s", type) != 1 ||
	    !is_local(type))
		return;
	for (size_t i = 0; i < into->count; i++)
		if (into->found[i].mount == mount)
			add_file_system(into, pid, into->found[i].fd, device);
}

void fact_read_file_systems(const struct wanted *wanted, struct fact_text *fact)
{
	struct file_systems into = { .fact = fact };
	pid_t pid = atoi(wanted->path + strlen(FILE_SYSTEMS_FACT));
	_cleanup_fclose_ FILE *mounts = NULL;
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;
	char path[64];
	int err = find_written(&into, pid);

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mounts = err ? NULL : fopen(path, "re");
	if (!mounts) {
		fact->error = err ? -err : errno;
		return;
	}
	while (getline(&line, &bytes, mounts) > 0)
		look_up_mount(&into, pid, line);
}
