// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/cleanup.h"
#include "base/process_files.h"

#define STAT_BYTES 1024

int process_open(pid_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d", pid);
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

FILE *process_file(int process, const char *name)
{
	_cleanup_close_ int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file)
		(void)take_fd(fd);
	return file;
}

int reopen_regular(int path_fd, uint64_t device, uint64_t inode)
{
	char self[32];
	struct stat status;

	if (fstat(path_fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || (inode && status.st_ino != inode) || (device && status.st_dev != device))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	return open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* From stat, which since 6.18 waits for an exec of the process to get through: for helpers only. */
int process_start_ticks(int process, uint64_t *ticks)
{
	_cleanup_fclose_ FILE *file = process_file(process, "stat");
	char text[STAT_BYTES];
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *at;

	text[length] = '\0';
	at = strrchr(text, ')'); /* "pid (comm) state ...": comm may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%" SCNu64, ticks) == 1 ? 0 : -ESRCH;
}

/* State and number of threads from status, which waits for nothing, and where a name cannot begin a line. */
static bool read_state(int process, char *state, long *threads)
{
	_cleanup_fclose_ FILE *file = process_file(process, "status");
	bool has_state = false, has_threads = false;
	char line[256];

	while (file && !has_threads && fgets(line, sizeof(line), file)) {
		has_state = has_state || sscanf(line, "State: %c", state) == 1;
		has_threads = sscanf(line, "Threads: %ld", threads) == 1;
	}
	return has_state && has_threads;
}

long process_threads(int process)
{
	char state;
	long threads;

	return read_state(process, &state, &threads) ? threads : 0;
}

pid_t process_of_thread(pid_t tid)
{
	_cleanup_close_ int thread = process_open(tid);
	_cleanup_fclose_ FILE *file = thread < 0 ? NULL : process_file(thread, "status");
	char line[256];
	pid_t pid = 0;

	while (file && !pid && fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &pid) != 1)
		;
	return pid;
}

static bool has_ended(int process)
{
	char state;
	long threads;

	return read_state(process, &state, &threads) && strchr("ZXx", state);
}

bool process_alive(pid_t pid)
{
	_cleanup_close_ int process = -1;
	long threads;
	char state;

	if (kill(pid, 0))
		return errno == EPERM;
	process = process_open(pid);
	/* What cannot be read may live; a leader that has ended counts while threads of it go on. */
	return !read_state(process, &state, &threads) || !strchr("ZXx", state) || threads > 1;
}

pid_t process_speaker(pid_t pid)
{
	_cleanup_closedir_ DIR *threads = NULL;
	_cleanup_close_ int process = process_open(pid);
	const struct dirent *entry;
	char name[32];

	if (process < 0 || !has_ended(process))
		return pid;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	while (threads && (entry = readdir(threads))) {
		pid_t tid = atoi(entry->d_name);
		_cleanup_close_ int thread = tid > 0 && tid != pid ? process_open(tid) : -1;

		if (thread >= 0 && !has_ended(thread))
			return tid;
	}
	return pid;
}

bool mapping_parse(char *line, struct mapping *mapping)
{
	unsigned int major, minor;
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &mapping->start, &mapping->end,
		   permissions, &mapping->offset, &major, &minor, &mapping->inode, &path) < 7)
		return false;
	mapping->device = makedev(major, minor);
	mapping->executable = permissions[2] == 'x';
	mapping->path = line + path + strspn(line + path, " ");
	mapping->path[strcspn(mapping->path, "\n")] = '\0';
	return true;
}
