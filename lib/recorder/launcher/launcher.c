// SPDX-License-Identifier: GPL-2.0-only
/*
 * perfdiag: starts the recorder before Python, then becomes Python.
 *
 * On a host in trouble Python may take seconds to start; the recorder, which locks its memory and loads its programs,
 * must not wait for that.  For the commands that need it, a socket and two files in memory are made here:
 *
 *	recorder	--control FD, stdout = the recording, stderr = its messages
 *	Python		PERFDIAG_CONTROL_FD, _RECORDING_FD and _MESSAGES_FD (read only), _RECORDER_PID; _NICENESS and
 *			_OOM_SCORE as they were; _ENDED_FD, into which it writes when it ends by itself
 *
 * When Python ends, however it ends, the socket closes and the recorder stops.  Python runs isolated (-I), and gets none of
 * its own variables and none of the dynamic linker's: they, and the working directory, cannot make root run other code.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "launcher/command_words.h"
#include "launcher/find_python.h"
#include "launcher/install_paths.h"
#include "launcher/out_of_memory.h"
#include "launcher/python_variables.h"
#include "launcher/record_without_python.h"
#include "launcher/resource_limits.h"
#include "base/set_user_id.h"
#include "base/standard_descriptors.h"

#define PROGRAM "PERFDIAG_PROGRAM"
#define CONTROL "PERFDIAG_CONTROL_FD"
#define RECORDING "PERFDIAG_RECORDING_FD"
#define MESSAGES "PERFDIAG_MESSAGES_FD"
#define RECORDER "PERFDIAG_RECORDER_PID"
#define NICENESS "PERFDIAG_NICENESS"
#define ENDED "PERFDIAG_ENDED_FD"

static int fail(int error, const char *what)
{
	const char *hint = error == EMFILE || error == ENFILE	? "raise the limit of open files: ulimit -n 1024"
			   : error == ENOMEM || error == EAGAIN ? "raise the limits of memory and processes: ulimit -a"
								: INSTALL_AGAIN;

	fprintf(stderr, "error: %s: %s\nHINT: %s\n", what, strerror(error), hint);
	return 1;
}

static int fail_to_find(int error, const char *package)
{
	char *end = strstr(package, "/python/perfdiag/");

	if (!*package) { /* nothing but /proc says where this program lies */
		fprintf(stderr, "error: /proc is not mounted here\nHINT: mount -t proc proc /proc\n");
		return 1;
	}
	if (error != EACCES || !end)
		return fail(error, "cannot find where perfdiag is installed");
	fprintf(stderr, "error: cannot read %s: %s\nHINT: chmod -R a+rX %.*s\n", package, strerror(error),
		(int)(end - package), package);
	return 1;
}

static int fail_without_python(int error, const struct paths *paths)
{
	if (!paths->installed)
		return fail(error, paths->python);
	fprintf(stderr, "error: cannot run %s: %s\n", paths->python, strerror(error));
	fprintf(stderr, "HINT: install Python again (apt install --reinstall python3-minimal)\n");
	return 1;
}

static int fail_without_null(int error)
{
	if (error != ENOENT && error != ENXIO && error != EACCES)
		return fail(error, "cannot start");
	fprintf(stderr, "error: cannot open /dev/null: %s\nHINT: mknod -m 666 /dev/null c 1 3\n", strerror(error));
	return 1;
}

/* Without these Python ends before any line of ours, in pages of its own words. */
static int check_descriptors(void)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC), second = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (first < 0 || second < 0)
		return -errno;
	close(first);
	close(second);
	return 0;
}

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv(name, text, true);
}

/* Lets Python inherit a descriptor; all others end here (close-on-exec). */
static int pass_on(const char *name, int fd)
{
	set_number(name, fd);
	return fcntl(fd, F_SETFD, 0) ? -errno : 0;
}

/* The same file, with a position of its own: the reader's must not be the writer's. */
static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* In the child: never returns.  What goes wrong is said on the control socket, as the recorder itself would. */
static void become_recorder(const struct paths *paths, char **argv, int control, int recording, int messages)
{
	char number[16];
	const char *arguments[8] = { "perfdiag-recorder", "--control", number };
	const char *engine = option_value(argv + 2, "--engine") ?: "auto";
	int error;

	offer_to_oom_killer(RECORDER_OOM_SCORE);
	snprintf(number, sizeof(number), "%d", control);
	if (!strcmp(argv[1], "check")) {
		arguments[1] = "--check";
		arguments[2] = NULL;
	} else if (strcmp(argv[1], "host") && strcmp(engine, "libbpf")) { /* what is no name is refused by Python */
		arguments[3] = "--engine";
		arguments[4] = engine;
		arguments[5] = "--scripts";
		arguments[6] = paths->scripts;
	}
	if (dup2(recording, STDOUT_FILENO) >= 0 && dup2(messages, STDERR_FILENO) >= 0 && !fcntl(control, F_SETFD, 0))
		execv(paths->recorder, (char *const *)arguments);
	error = errno;
	if (error == ENOENT || error == ENOEXEC)
		dprintf(messages, "HINT: " INSTALL_AGAIN "\n");
	if (error == EACCES)
		dprintf(messages, "HINT: install perfdiag again, on a file system that is not mounted noexec\n");
	dprintf(control, "error %d cannot run %s: %s\n", error, paths->recorder, strerror(error));
	_exit(127);
}

/* Starts the recorder and leaves the descriptors for Python in the environment. */
static int start_recorder(const struct paths *paths, char **argv)
{
	int sockets[2], recording, messages, recording_reader, messages_reader;
	pid_t pid;

	/* A recording for a file alone is not kept in memory, too: what cannot be written to is no place for it. */
	recording = strcmp(argv[1], "record") ? memfd_create("perfdiag recording", MFD_CLOEXEC)
					      : open("/dev/null", O_RDONLY | O_CLOEXEC);
	messages = memfd_create("perfdiag messages", MFD_CLOEXEC);
	if (recording < 0 || messages < 0)
		return -errno;
	recording_reader = open_again(recording);
	messages_reader = open_again(messages);
	if (recording_reader < 0 || messages_reader < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		become_recorder(paths, argv, sockets[1], recording, messages);
	set_number(RECORDER, pid);
	return pass_on(CONTROL, sockets[0]) ?: pass_on(RECORDING, recording_reader) ?: pass_on(MESSAGES, messages_reader);
}

/*
 * On a host with a load of 400 an ordinary process gets half a percent of a CPU, and the report would come in
 * minutes.  A command that is to be recorded gets its own niceness back (held_command.py).
 */
static void hurry(void)
{
	int niceness;

	errno = 0;
	niceness = getpriority(PRIO_PROCESS, 0);
	if (errno)
		return;
	set_number(NICENESS, niceness);
	setpriority(PRIO_PROCESS, 0, -20); /* without privilege: refused, and nothing is lost */
}

/* What can be done on a host where no Python fits.  Returns the exit status, unless it becomes the recorder. */
static int do_without_python(const struct paths *paths, int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version"))
		return puts("perfdiag " PERFDIAG_VERSION) < 0 || fflush(stdout);
	if (argc > 2 && !strcmp(argv[1], "record") && needs_recorder(argc, argv))
		return record_without_python(paths->recorder, argv + 2, paths->python);
	explain_no_python(argc > 1 ? argv[1] : NULL, paths->python);
	return 1;
}

int main(int argc, char **argv)
{
	static struct paths paths; /* not on a stack that may be small */
	char **arguments;
	sigset_t interrupt;
	int ended, err;

	signal(SIGXFSZ, SIG_IGN); /* then a file at its limit is an error of its writer: Python ignores it, too */
	if (is_set_user_id()) {
		explain_set_user_id("perfdiag");
		return EXIT_NOT_PERMITTED;
	}
	/* What cannot be printed is not done; a recording has a file of its own. */
	if (!is_writable(STDOUT_FILENO) && argc > 1 && strcmp(argv[1], "record")) {
		explain_closed_output();
		return 1;
	}
	err = open_standard_descriptors() ?: check_descriptors();
	if (err)
		return fail_without_null(-err);
	if (check_resource_limits(needs_recorder(argc, argv)))
		return 1;
	err = keep_from_python();
	if (err)
		return fail(-err, "cannot start");
	err = find_paths(&paths);
	if (err)
		return fail_to_find(-err, paths.package);

	unsetenv(CONTROL);
	unsetenv(RECORDING);
	unsetenv(MESSAGES);
	unsetenv(RECORDER);
	unsetenv(ENDED);
	setenv(PROGRAM, paths.program, true);
	if (needs_recorder(argc, argv) && !has_room()) {
		fprintf(stderr,
			"error: memory is short: perfdiag needs %d MiB, and its target could be killed for them\n"
			"HINT: make room, or start perfdiag outside the control group that is full\n",
			NEEDED_MEBIBYTES);
		return 1;
	}
	if (paths.no_python) {
		hurry();
		return do_without_python(&paths, argc, argv);
	}
	ended = start_watcher();
	hurry();
	if (needs_recorder(argc, argv)) {
		err = start_recorder(&paths, argv);
		if (err)
			return fail(-err, "cannot start the recorder");
	}

	go_first();
	if (ended >= 0)
		pass_on(ENDED, ended);
	arguments = calloc(argc + 4, sizeof(*arguments));
	if (!arguments)
		return fail(ENOMEM, "cannot start");
	arguments[0] = paths.python;
	arguments[1] = (char *)paths.options; /* -I: isolated, -B: leaves no compiled files of root's behind */
	arguments[2] = paths.package;
	memcpy(&arguments[3], &argv[1], argc * sizeof(*argv)); /* with the NULL at its end */
	/* Ctrl-C while Python starts would show its insides; __main__.py takes the block away. */
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	execv(paths.python, arguments);
	return fail_without_python(errno, &paths);
}
