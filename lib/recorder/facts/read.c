// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "facts/internal.h"
#include "base/process_files.h"

#define ENTRIES_MAX 1000000  /* of a directory; counting more takes too long */
#define LOG_LINES_MAX 100000 /* records of the kernel log that are looked at */
#define MSR_MPERF 0xe7	     /* counts at the rated clock while the CPU is not idle */
#define MSR_APERF 0xe8	     /* counts at the delivered clock while the CPU is not idle */

static __attribute__((format(printf, 2, 3))) void set_text(struct fact_text *fact, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fact->length = vsnprintf(fact->text, sizeof(fact->text), format, arguments);
	va_end(arguments);
}

static void read_link(int fd, struct fact_text *fact)
{
	ssize_t length = readlinkat(fd, "", fact->text, PATH_MAX);

	if (length < 0)
		fact->error = errno;
	else
		fact->length = length;
}

/*
 * "ENTRIES inode NUMBER".  Since 6.2 the size of /proc/PID/fd is its entry count; before, it is 0 and they are counted.
 */
static void read_directory(const char *path, const struct stat *status, struct fact_text *fact)
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;
	uint64_t entries = 0;

	if (strncmp(path, "/proc/", 6) == 0 && status->st_size > 0) {
		entries = status->st_size;
	} else {
		directory = opendir(path);
		if (!directory) {
			fact->error = errno;
			return;
		}
		while (entries < ENTRIES_MAX && (entry = readdir(directory)))
			entries += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
		fact->truncated = entries == ENTRIES_MAX;
	}
	set_text(fact, "%" PRIu64 " inode %" PRIu64, entries, (uint64_t)status->st_ino);
}

/*
 * The words that trouble is logged with.  Everything else of the log stays where it is: it can hold what is none of a
 * report's business.
 */
static bool log_line_matters(const char *line)
{
	static const char *const words[] = {
		"error",	   "fail",
		"timeout",	   "timed out",
		"reset",	   "abort",
		"offline",	   "degraded",
		"not responding",  " OK",
		"out of memory",   "oom",
		"killed process",  "blocked for more",
		"lockup",	   "stall",
		"clocksource",	   "tsc",
		"machine check",   "mce:",
		"hardware",	   "edac",
		"thermal",	   "throttl",
		"remount",	   "corrupt",
		"read-only",	   "link is down",
		"link down",	   "hypervisor",
		"nr_open",	   "file-max",
		"table full",	   "dropping",
		"page allocation", "memory cgroup",
		"temperature",	   "duplicate",
		"unstable",	   "i/o",
		"overflow",	   "out of ",
		"low water",	   "space mode",
		"grace period",	   "hung",
		"too many",	   "hogged",
		"limit reached",   "is full",
		"reject",	   "flooding",
		"not enough",	   "no space",
	};
	/* Secrets, and what anybody can have logged: paths, arguments, packets, and trouble in the name of a process. */
	static const char *const of_users[] = { "command line",	  ";audit:",	 ";traps:",
						": segfault at ", ";overlayfs:", "SRC=" };

	for (size_t i = 0; i < sizeof(of_users) / sizeof(of_users[0]); i++)
		if (strcasestr(line, of_users[i]))
			return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(line, words[i]))
			return true;
	return false;
}

/* Adds a line; when the room is used up, the older half goes. */
static void keep_log_line(struct fact_text *fact, size_t limit, const char *line, size_t length)
{
	if (fact->length + length + 1 > limit) {
		const char *half = memchr(fact->text + limit / 2, '\n', fact->length - limit / 2);
		size_t kept = half ? fact->text + fact->length - (half + 1) : 0;

		memmove(fact->text, fact->text + fact->length - kept, kept);
		fact->length = kept;
		fact->truncated = true;
	}
	memcpy(fact->text + fact->length, line, length);
	fact->length += length;
	fact->text[fact->length++] = '\n';
}

/*
 * A record is "LEVEL,SEQUENCE,MICROSECONDS,FLAGS;TEXT" and lines " KEY=VALUE".  Puts DEVICE behind the text and hides what
 * users named, before anything is looked for in it.  Returns whether the record is kept.
 */
static bool take_record(char *record, unsigned int *oom_lines)
{
	char *end = record + strcspn(record, "\n"), *text = strchr(record, ';');
	const char *device = strstr(end, "\n DEVICE=");
	size_t length = device ? strcspn(device + 1, "\n") : 0;
	bool of_oom;

	*end = '\0';
	of_oom = log_line_of_oom_report(record, oom_lines);
	if (!of_oom && text)
		fact_hide_names(text + 1);
	end = record + strlen(record);
	memmove(end, device ? device + 1 : end, length);
	end[length] = '\0';
	return of_oom || log_line_matters(record);
}

/* Others have another facility: whoever may write /dev/kmsg says there what he likes. */
static bool is_of_kernel(const char *record)
{
	return LOG_FAC(strtoul(record, NULL, 10)) == 0;
}

/*
 * The last record is always kept, without its text if it is not ours to keep: its number tells which lines of a later
 * reading are new.
 */
static void read_log(int fd, size_t limit, struct fact_text *fact)
{
	char record[8192 + 1];
	unsigned int oom_lines = 0;
	bool pending = false;

	for (int i = 0; i < LOG_LINES_MAX; i++) {
		ssize_t length = read(fd, record, sizeof(record) - 1);

		if (length < 0 && errno == EPIPE)
			continue; /* overwritten while we read: go on with the oldest there is */
		if (length < 0 && errno != EAGAIN)
			fact->error = errno;
		if (length <= 0)
			break;
		record[length] = '\0';
		pending = !is_of_kernel(record) || !take_record(record, &oom_lines);
		if (!pending)
			keep_log_line(fact, limit, record, strlen(record));
	}
	if (pending)
		keep_log_line(fact, limit, record, strcspn(record, ";") + 1);
}

/* Reading a CPU's counters interrupts it, also out of an idle state: hence never in the series. */
static void read_clock_counters(int fd, struct fact_text *fact)
{
	uint64_t mperf, aperf;

	errno = EIO;
	if (pread(fd, &mperf, sizeof(mperf), MSR_MPERF) != sizeof(mperf) ||
	    pread(fd, &aperf, sizeof(aperf), MSR_APERF) != sizeof(aperf))
		fact->error = errno;
	else
		set_text(fact, "mperf %" PRIu64 "\naperf %" PRIu64 "\n", mperf, aperf);
}

static void read_text(int fd, const struct wanted *wanted, struct fact_text *fact)
{
	size_t limit = fact_limit(wanted);

	while (fact->length < limit) {
		ssize_t length = read(fd, fact->text + fact->length, limit - fact->length);
		const char *end;

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			fact->error = errno;
		if (length <= 0)
			return;
		fact->length += length;
		end = wanted->until ? memmem(fact->text, fact->length, wanted->until, strlen(wanted->until)) : NULL;
		if (end) {
			fact->length = end + 1 - fact->text;
			return;
		}
	}
	fact->truncated = read(fd, &(char){ 0 }, 1) == 1;
}

/* Where a path really is: the leader of a process may have ended, and with it all that is shared is gone from there. */
static void real_path(const char *wanted, char path[PATH_MAX])
{
	static const char *const shared[] = { "/fd", "/net/", "/mountinfo" };
	int pid, length = 0;

	snprintf(path, PATH_MAX, "%s", wanted);
	if (sscanf(wanted, "/proc/%d%n", &pid, &length) != 1)
		return;
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (strncmp(wanted + length, shared[i], strlen(shared[i])) == 0)
			snprintf(path, PATH_MAX, "/proc/%d%s", process_speaker(pid), wanted + length);
}

void fact_read(const struct wanted *wanted, struct fact_text *fact)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat status;

	fact->length = 0;
	fact->error = 0;
	fact->truncated = false;
	if (strncmp(wanted->path, CPUID_FACTS "/", strlen(CPUID_FACTS "/")) == 0)
		return fact_read_cpuid(wanted->path, fact);
	if (strcmp(wanted->path, NFS_CONNECTIONS_FACT) == 0)
		return fact_read_nfs_connections(wanted, fact);
	if (strncmp(wanted->path, LISTENERS_FACT, strlen(LISTENERS_FACT)) == 0)
		return fact_read_listeners(wanted, fact);
	if (strncmp(wanted->path, TRAFFIC_CONTROL_FACT, strlen(TRAFFIC_CONTROL_FACT)) == 0)
		return fact_read_traffic_control(wanted, fact);
	if (strncmp(wanted->path, ETHTOOL_FACTS "/", strlen(ETHTOOL_FACTS "/")) == 0)
		return fact_read_link_settings(wanted, fact);
	if (strncmp(wanted->path, NETWORK_SETTINGS_FACT, strlen(NETWORK_SETTINGS_FACT)) == 0)
		return fact_read_network_settings(wanted, fact);
	if (strncmp(wanted->path, FILE_SYSTEMS_FACT, strlen(FILE_SYSTEMS_FACT)) == 0)
		return fact_read_file_systems(wanted, fact);
	if (strncmp(wanted->path, USER_TASKS_FACT, strlen(USER_TASKS_FACT)) == 0)
		return fact_read_user_tasks(wanted, fact);
	if (strncmp(wanted->path, HOTSPOT_FACTS, strlen(HOTSPOT_FACTS)) == 0)
		return fact_read_hotspot(wanted, fact);
	if (strncmp(wanted->path, COMPETITOR_FACTS, strlen(COMPETITOR_FACTS)) == 0)
		snprintf(path, sizeof(path), "/proc/%s", wanted->path + strlen(COMPETITOR_FACTS));
	else
		real_path(wanted->path, path);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status)) {
		fact->error = errno;
		return;
	}
	if (S_ISLNK(status.st_mode)) {
		read_link(fd, fact);
		return;
	}
	if (S_ISDIR(status.st_mode)) {
		read_directory(path, &status, fact);
		return;
	}
	close(fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		fact->error = errno;
	else if (strcmp(wanted->path, "/dev/kmsg") == 0)
		read_log(fd, wanted->limit, fact);
	else if (S_ISCHR(status.st_mode))
		read_clock_counters(fd, fact);
	else
		read_text(fd, wanted, fact);
	fact_cut_mounts(wanted->path, fact);
	fact_cut_boot_options(wanted->path, fact);
}
