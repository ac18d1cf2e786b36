// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/standard_descriptors.h"
#include "launcher/find_python.h"
#include "launcher/out_of_memory.h"
#include "launcher/printable.h"
#include "launcher/record_without_python.h"

#define EXIT_WRONG_USAGE 2
#define NS_PER_S 1e9
#define LONGEST_NS (366.0 * 86400 * NS_PER_S) /* as options.py */
#define MOST_GROUPS 1024

/* As options.py: "250ms", "5m"; a number alone is seconds where those may be left out.  Below 0: no time. */
static double time_ns(const char *text, bool seconds_alone)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },
		      { "us", 1e3 },
		      { "ms", 1e6 },
		      { "s", NS_PER_S },
		      { "m", 60 * NS_PER_S },
		      { "min", 60 * NS_PER_S },
		      { "h", 3600 * NS_PER_S } };
	double number;
	char *end;

	if (!*text || !strchr("0123456789.", *text) || strpbrk(text, "eExXpP"))
		return -1;
	number = strtod(text, &end);
	if (end == text)
		return -1;
	end += *end == ' ';
	if (!*end)
		return seconds_alone ? number * NS_PER_S : -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name))
			return number * units[i].ns;
	return -1;
}

static const char *wrong(const char *option, const char *value, const char *hint)
{
	fprintf(stderr, "error: %s: '%s' is not understood\nHINT: %s\n", option, printable(value), hint);
	return "";
}

/* The recorder would refuse it as well, when an older recording of that name is gone. */
static const char *check_pid(const char *value)
{
	char path[32];

	if (!*value || strlen(value) > 10 || value[strspn(value, "0123456789")])
		return wrong("--pid", value, "it is the number of a process: ps -e");
	snprintf(path, sizeof(path), "/proc/%s", value);
	if (!access(path, F_OK))
		return NULL;
	fprintf(stderr, "error: no process has pid %s\nHINT: it may have ended; list processes with ps -e\n", value);
	return "";
}

static const char *missing(const char *what)
{
	fprintf(stderr, "error: %s is missing\nHINT: without Python: perfdiag record -o FILE --pid PID\n", what);
	return "";
}

/* The recorder takes seconds and nanoseconds where perfdiag takes times with units. */
static const char *add_time(const char **arguments, int *count, const char *option, const char *value)
{
	const char *equals = strrchr(value, '=');
	bool objective = !strcmp(option, "--slo");
	double ns = time_ns(objective && equals ? equals + 1 : value, !objective);
	char *text = NULL;
	int length;

	if (ns < 0 || ns > LONGEST_NS || (objective && (ns < 1 || strchr(value, '=') != equals)))
		return wrong(option, value, "a time is 250ms, 30s or 5m");
	if (objective)
		length = asprintf(&text, "%.*s%.0f", equals ? (int)(equals + 1 - value) : 0, value, ns);
	else
		length = asprintf(&text, "%.9f", ns / NS_PER_S);
	if (length < 0)
		return wrong(option, value, "memory is exhausted");
	arguments[(*count)++] = option;
	arguments[(*count)++] = text;
	return NULL;
}

static const struct {
	const char *typed, *full;
	bool takes_value;
} known[] = { { "-o", "--output", true },
	      { "--output", "--output", true },
	      { "-p", "--pid", true },
	      { "--pid", "--pid", true },
	      { "-d", "--duration", true },
	      { "--duration", "--duration", true },
	      { "--slo", "--slo", true },
	      { "--only", "--only", false },
	      { "--stacks", "--stacks", false },
	      { "--no-request-names", "--no-request-names", false },
	      { "--no-apps", "--no-apps", false },
	      { "-q", "", false },
	      { "--quiet", "", false } };

/* Finds an option, alone or with its value ("--pid=5", "-p5"); *value is NULL where that is the next word. */
static int find_option(const char *word, const char **value)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t length = strlen(known[i].typed);
		bool is_long = known[i].typed[1] == '-';

		if (strncmp(word, known[i].typed, length))
			continue;
		*value = word[length] ? word + length + (is_long && word[length] == '=') : NULL;
		if (!word[length] || (known[i].takes_value && (!is_long || word[length] == '=')))
			return i;
	}
	return -1;
}

const char *recorder_arguments(char **words, const char **arguments, const char **path)
{
	const char *failed = NULL;
	bool has_pid = false;
	int count = 0;

	*path = NULL;
	arguments[count++] = "perfdiag-recorder";
	for (; *words && !failed; words++) {
		const char *value, *word = *words;
		int option = find_option(word, &value);

		if (option < 0)
			return word;
		if (count > MOST_RECORDER_ARGUMENTS - 4)
			return wrong("record", word, "give fewer options");
		if (!known[option].takes_value) {
			if (*known[option].full)
				arguments[count++] = known[option].full;
			continue;
		}
		if (!value && !(value = *++words))
			return missing("the value of the last option");
		if (!strcmp(known[option].full, "--output")) {
			*path = value;
		} else if (!strcmp(known[option].full, "--pid")) {
			has_pid = true;
			arguments[count++] = "--pid";
			arguments[count++] = value;
			failed = check_pid(value);
		} else {
			failed = add_time(arguments, &count, known[option].full, value);
		}
	}
	arguments[count] = NULL;
	if (!failed && (!has_pid || !*path || !**path))
		return missing(has_pid ? "-o FILE" : "--pid PID");
	return failed;
}

/* Of root's own process only: others may have anything in their environment.  Below 0: nobody is behind it. */
static int64_t caller(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long long id;
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) || real || effective || saved || !text)
		return -1;
	id = strtoll(text, &end, 10);
	return !*text || *end || id < 0 || id >= UINT32_MAX ? -2 : id;
}

/* A file that was there is emptied where it is a regular one of the caller's with no other name. */
static int open_as_caller(const char *path, uid_t owner)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat status;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != owner || status.st_nlink != 1 ||
	    fchmod(fd, 0600) || ftruncate(fd, 0)) {
		close(fd);
		return -EEXIST;
	}
	return fd;
}

int open_recording(const char *path)
{
	int64_t uid = caller("SUDO_UID"), gid = caller("SUDO_GID");
	gid_t groups[MOST_GROUPS];
	int group_count, fd;

	if (uid == -1 && gid == -1)
		return open_as_caller(path, geteuid());
	if (uid < 0 || gid < 0)
		return -EPERM;
	group_count = getgroups(MOST_GROUPS, groups);
	if (group_count < 0)
		return -errno;
	/* His other groups are left out: to look them up is not for a static program. */
	if (setgroups(1, (gid_t[]){ gid }) || setegid(gid) || seteuid(uid))
		_exit(EXIT_FAILURE);
	fd = open_as_caller(path, uid);
	if (seteuid(0) || setegid(0) || setgroups(group_count, groups))
		_exit(EXIT_FAILURE);
	return fd;
}

/* Lets the recording go to the file instead of standard output.  0 or an exit status, and has said why. */
static int redirect(const char *path)
{
	int fd;

	if (!strcmp(path, "-")) {
		if (isatty(STDOUT_FILENO)) {
			fprintf(stderr,
				"error: a recording is nothing for a terminal\nHINT: write it to a file: -o FILE\n");
			return EXIT_WRONG_USAGE;
		}
		return 0;
	}
	fd = open_recording(path);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
		fprintf(stderr, "error: cannot write %s: %s\nHINT: give a new file, in a directory of yours\n",
			printable(path), strerror(fd < 0 ? -fd : errno));
		return EXIT_FAILURE;
	}
	return 0;
}

int record_without_python(const char *recorder, char **words, const char *found)
{
	static const char *arguments[MOST_RECORDER_ARGUMENTS];
	const char *path, *failed = recorder_arguments(words, arguments, &path);
	int status;

	if (failed && *failed) {
		fprintf(stderr,
			"error: perfdiag record %s needs Python 3.%d to 3.%d; this host has %s\n"
			"HINT: without Python it takes -o FILE, --pid, --duration, --only, --stacks, --slo, "
			"--no-request-names and --no-apps\n",
			printable(failed), OLDEST_PYTHON_MINOR, NEWEST_PYTHON_MINOR,
			*found ? found : "none in /usr/bin or /usr/local/bin");
		return EXIT_WRONG_USAGE;
	}
	if (failed)
		return EXIT_WRONG_USAGE;
	status = redirect(path);
	if (status)
		return status;
	fprintf(stderr,
		"perfdiag: recording without Python; Ctrl-C ends it; then, where there is Python: perfdiag report %s\n",
		printable(path));
	offer_to_oom_killer(RECORDER_OOM_SCORE);
	execv(recorder, (char *const *)arguments);
	fprintf(stderr, "error: cannot run %s: %s\nHINT: " INSTALL_AGAIN "\n", recorder, strerror(errno));
	return EXIT_FAILURE;
}
