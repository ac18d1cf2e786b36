// SPDX-License-Identifier: GPL-2.0-only
/* /tmp/perf-PID.map: where a virtual machine says which functions it made at run time, and where they are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include "base/cleanup.h"
#include "base/process_files.h"
#include "symbols/symbol_lookup.h"

#define LONGEST_LINE_BYTES 4096 /* what is longer counts as several lines, and names nothing */
#define LARGEST_MAP_BYTES (64 * 1024 * 1024)

/* The process's number as it knows it itself, and the user it acts as. */
static int read_identity(pid_t pid, long *inner_pid, uid_t *uid)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	bool has_pid = false, has_uid = false;
	size_t capacity = 0;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (getline(&line, &capacity, file) >= 0) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NStgid:", 7) && last) /* one number a namespace, innermost last */
			has_pid = sscanf(last, "%ld", inner_pid) == 1;
		else if (!strncmp(line, "Uid:", 4))
			has_uid = sscanf(line, "Uid: %*u %u", uid) == 1;
	}
	return has_pid && has_uid ? 0 : -ENOENT;
}

/*
 * Others can write to /tmp too, and a process can mount over it whatever it likes in a namespace of its own: a device,
 * a file that only root may read.  So the file is looked at before it is opened, and must be a regular one of the
 * process's own user, not of /proc (whose files are read with the rights of who opens them); no symbolic link of the
 * process may lead out of its root.
 */
int perf_map_open(pid_t pid)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = -1, path_fd = -1;
	struct stat status;
	struct statfs file_system;
	long inner_pid;
	char name[64];
	uid_t uid;
	int err = read_identity(pid, &inner_pid, &uid);

	if (err)
		return err;
	snprintf(name, sizeof(name), "/proc/%d/root", process_speaker(pid));
	root = open(name, O_PATH | O_CLOEXEC);
	if (root < 0)
		return -errno;
	snprintf(name, sizeof(name), "tmp/perf-%ld.map", inner_pid);
	path_fd = syscall(SYS_openat2, root, name, &how, sizeof(how));
	if (path_fd < 0 || fstat(path_fd, &status) || fstatfs(path_fd, &file_system))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != uid || file_system.f_type == PROC_SUPER_MAGIC)
		return MAP_REFUSED;
	if (status.st_size > LARGEST_MAP_BYTES)
		return -EFBIG;
	return reopen_regular(path_fd, status.st_dev, status.st_ino);
}

static int compare_addresses(const void *left, const void *right)
{
	const struct lookup *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* The last line that covers an address counts: memory of functions is used again. */
static void offer(const char *symbol, uint64_t start, uint64_t size, struct lookup *lookups, size_t count)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lookups[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && lookups[low].address - start < size; low++) {
		if (lookups[low].named || !lookups[low].file)
			continue;
		free((char *)lookups[low].symbol);
		lookups[low].symbol = strdup(symbol);
	}
}

void perf_map_find(int fd, struct lookup *lookups, size_t count, FILE *results)
{
	_cleanup_fclose_ FILE *file = fdopen(fd, "re");
	char line[LONGEST_LINE_BYTES];
	size_t bytes = 0;

	if (!file)
		return;
	for (size_t i = 0; i < count; i++)
		lookups[i].symbol = NULL;
	qsort(lookups, count, sizeof(*lookups), compare_addresses);
	/* "start size name\n", both in hexadecimal; it may grow while it is read, even by one endless line. */
	while (bytes < LARGEST_MAP_BYTES && fgets(line, sizeof(line), file)) {
		char *at, *name;
		uint64_t start = strtoull(line, &at, 16), size = strtoull(at, &name, 16);

		bytes += strlen(line);
		name += strspn(name, " \t");
		name[strcspn(name, "\n")] = '\0';
		if (at > line && size && *name)
			offer(name, start, size, lookups, count);
	}
	for (size_t i = 0; i < count; i++) {
		struct lookup *lookup = &lookups[i];

		if (lookup->symbol)
			lookup_report(lookup, lookup->symbol, strlen(lookup->symbol), "jit", results);
	}
}
