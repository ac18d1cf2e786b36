// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include "base/cleanup.h"
#include "base/process_files.h"
#include "symbols/remembered_maps.h"
#include "symbols/symbol_lookup.h"

#define VDSO "[vdso]"
#define FOUR_GB (1ULL << 32)
#define ROOTS_TRIED 16

/* No symbolic link on the way leads out of the root. */
static int open_below(const char *root_path, const char *path, uint64_t device, uint64_t inode)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int path_fd = -1, root = open(root_path, O_PATH | O_CLOEXEC);

	if (root < 0)
		return -errno;
	path_fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return path_fd < 0 ? -errno : reopen_regular(path_fd, device, inode);
}

/*
 * map_files leads to the very file that is mapped, deleted or in another mount namespace; it asks for CAP_SYS_ADMIN
 * or CAP_CHECKPOINT_RESTORE.  Otherwise the path is looked up inside the process's root and must be the same inode.
 */
static int open_mapped(pid_t pid, const struct mapping *mapping)
{
	_cleanup_close_ int path_fd = -1;
	char name[96];

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start, mapping->end);
	path_fd = open(name, O_PATH | O_CLOEXEC);
	if (path_fd >= 0)
		return reopen_regular(path_fd, 0, 0);
	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	return open_below(name, mapping->path, 0, mapping->inode);
}

/*
 * The process is gone, its file is not: it has its path still, here or in a container where others of the target live.
 * Whatever else lies at that path by now has other numbers.
 */
static int open_remembered(const struct mapping *mapping)
{
	int fd = open_below("/", mapping->path, mapping->device, mapping->inode);
	pid_t pid;

	for (size_t i = 0; fd < 0 && i < ROOTS_TRIED && (pid = remembered_maps_pid(i)); i++) {
		char root[32];

		snprintf(root, sizeof(root), "/proc/%d/root", process_speaker(pid));
		fd = open_below(root, mapping->path, mapping->device, mapping->inode);
	}
	return fd;
}

/* The kernel gives all processes of one architecture the same vDSO, so ours serves; libelf wants a file. */
static int copy_vdso(const struct mapping *mapping)
{
	const char *own = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t length = mapping->end - mapping->start;
	_cleanup_close_ int fd = -1;

	/* A 32-bit process has another one. */
	if (!own || mapping->start < FOUR_GB)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* If ours is shorter after all, the kernel says so: it reads the memory, not we. */
	if (write(fd, own, length) != (ssize_t)length)
		return -ENOENT;
	return take_fd(fd);
}

static char *module_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *deleted = strstr(name, " (deleted)");

	if (!*name)
		return strdup("anonymous");
	return deleted && !deleted[strlen(" (deleted)")] ? strndup(name, deleted - name) : strdup(name);
}

/*
 * The kernel names a mapped file by the path that links lead to, and redis-server may be a link to redis-check-rdb.  A
 * process is known by the name it was started by, if that leads to the same file.  NULL: it does not.
 */
static char *started_as(pid_t pid, const struct mapping *mapping, const char *comm)
{
	const char *slash = strrchr(mapping->path, '/');
	_cleanup_close_ int fd = -1;
	char root[32], path[4096];
	int length;

	if (!pid || !mapping->inode || !slash || !*comm || strchr(comm, '/'))
		return NULL;
	length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - mapping->path), mapping->path, comm);
	if (length >= (int)sizeof(path) || !strcmp(path, mapping->path))
		return NULL;
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	fd = open_below(root, path, 0, mapping->inode);
	return fd < 0 ? NULL : strdup(comm);
}

static int open_file(pid_t pid, const struct mapping *mapping, const char *name)
{
	if (!mapping->inode)
		return strcmp(name, VDSO) ? -1 : copy_vdso(mapping);
	return pid ? open_mapped(pid, mapping) : open_remembered(mapping);
}

/*
 * A file mapped by many processes, or many times, is one entry: its symbols are read once.  pid 0: the process that
 * had it mapped is gone.
 */
static struct mapped_file *file_of(struct mapped_files *all, pid_t pid, const struct mapping *mapping, const char *name)
{
	_cleanup_free_ char *kept = NULL;
	struct mapped_file *file, **larger;

	for (size_t i = 0; i < all->count; i++) {
		file = all->files[i];
		if (file->device != mapping->device || file->inode != mapping->inode || strcmp(file->name, name))
			continue;
		if (file->fd < 0)
			file->fd = open_file(pid, mapping, name);
		return file;
	}
	larger = realloc(all->files, (all->count + 1) * sizeof(struct mapped_file *));
	if (!larger)
		return NULL;
	all->files = larger;
	kept = strdup(name);
	file = kept ? calloc(1, sizeof(*file)) : NULL;
	if (!file)
		return NULL;
	*file = (struct mapped_file){ .device = mapping->device, .inode = mapping->inode };
	file->fd = open_file(pid, mapping, name);
	file->name = take_pointer(kept);
	all->files[all->count++] = file;
	return file;
}

/* Finds those that have no file yet; both are in order of addresses.  library NULL: its memory is not wanted. */
static void walk(FILE *maps, pid_t pid, const char *comm, struct lookup *lookups, size_t count,
		 struct mapped_files *files, struct hotspot_library *library)
{
	struct lookup *next = lookups, *end = lookups + count;
	_cleanup_free_ char *line = NULL;
	struct mapping mapping;
	size_t capacity = 0;

	while ((next < end || library) && getline(&line, &capacity, maps) >= 0) {
		_cleanup_free_ char *name = NULL;

		if (!mapping_parse(line, &mapping))
			continue;
		if (library)
			hotspot_library_add(library, &mapping);
		while (next < end && next->address < mapping.start)
			next++;
		for (; next < end && next->address < mapping.end; next++) {
			if (!mapping.executable || next->file)
				continue;
			if (!name && !(name = started_as(pid, &mapping, comm)))
				name = module_name(mapping.path);
			next->file = name ? file_of(files, pid, &mapping, name) : NULL;
			next->place = mapping.inode || (next->file && next->file->fd >= 0)
					      ? next->address - mapping.start + mapping.offset
					      : next->address;
		}
	}
}

/* Without its end of line; empty where it cannot be read. */
static void read_comm(int process, char *comm, size_t size)
{
	_cleanup_fclose_ FILE *file = process_file(process, "comm");

	if (!file || !fgets(comm, size, file))
		*comm = 0;
	comm[strcspn(comm, "\n")] = 0;
}

int process_maps_find(pid_t pid, struct lookup *lookups, size_t count, struct mapped_files *files,
		      struct hotspot_library *library)
{
	const struct remembered_maps *remembered = remembered_maps_find(pid);
	_cleanup_fclose_ FILE *before = NULL, *now = NULL;
	_cleanup_close_ int process = process_open(pid), speaking = -1;
	pid_t speaker = process_speaker(pid);
	bool has_text = remembered && remembered->text;
	uint64_t start_ticks;
	char comm[32] = "";

	library->object.memory = -1;
	if (process >= 0 && !process_start_ticks(process, &start_ticks)) {
		if (has_text && start_ticks != remembered->start_ticks)
			return -ESTALE;
		speaking = process_open(speaker);
		now = process_file(speaking, "maps");
	}
	if (remembered && remembered->reused)
		return -ESTALE;
	if (now) {
		read_comm(process, comm, sizeof(comm));
		walk(now, speaker, comm, lookups, count, files, remembered_maps_reads_memory() ? library : NULL);
		if (library->inode)
			library->object.memory = openat(speaking, "mem", O_RDONLY | O_CLOEXEC);
	}
	/* What it had mapped before: it has ended since, or closed a library, or become another program. */
	if (has_text)
		before = fmemopen(remembered->text, remembered->length, "r");
	if (before)
		walk(before, 0, "", lookups, count, files, NULL);
	return now || before ? 0 : -ESRCH;
}
